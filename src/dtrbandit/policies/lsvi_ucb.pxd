cimport cython
from dtrbandit.kernels cimport constants as c
from dtrbandit.estimators.optimistic cimport OptimisticLearner
from dtrbandit.policies.state cimport PolicyState

cdef class LSVIUCBState(PolicyState):
    cdef readonly OptimisticLearner learner

    @cython.locals(feasible=cython.longlong, arm=cython.longlong, a=cython.longlong)
    cdef long long decide(self, long long unit, long long m, long long node, double u) noexcept nogil
    cdef void learn(self, long long fact, long long unit, long long m) noexcept nogil
