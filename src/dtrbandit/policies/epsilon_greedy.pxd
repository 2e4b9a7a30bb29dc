cimport cython
from dtrbandit.kernels cimport constants as c
from dtrbandit.policies.plans cimport PlanState

cdef class EpsilonGreedyState(PlanState):
    cdef readonly double epsilon, floor
    cdef readonly long long initial
    cdef public int[::1] pulls, pulled
    cdef public long long owed, made

    @cython.locals(feasible=cython.longlong, plan=cython.longlong, arm=cython.longlong)
    cdef long long decide(self, long long unit, long long m, long long node, double u) noexcept nogil
    cdef void explain(self, long long unit, long long m) noexcept nogil
    @cython.locals(greedy=cython.longlong, pick=cython.longlong, arm=cython.longlong, passed=cython.longlong, a=cython.longlong)
    cdef long long explore(self, long long others, double u) noexcept nogil

    @cython.locals(index=cython.longlong)
    cdef long long next_pull(self) noexcept nogil
    @cython.locals(plan=cython.longlong)
    cdef long long plan_of_pull(self, long long index) noexcept nogil
    cdef void note(self, long long fact, long long unit, long long m, double value) noexcept nogil
    @cython.locals(index=cython.longlong)
    cdef void pull_if_possible(self, long long unit) noexcept nogil
    @cython.locals(plan=cython.longlong, node=cython.longlong)
    cdef bint ends(self, long long fact, long long unit, long long m) noexcept nogil
    cdef void assume(self, long long unit, long long m, long long arm, bint forced) noexcept nogil
    cdef void undo(self, long long unit, long long m) noexcept nogil
