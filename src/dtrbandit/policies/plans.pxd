cimport cython
from dtrbandit.kernels cimport constants as c
from dtrbandit.estimators.exact cimport ExactLearner
from dtrbandit.policies.state cimport PolicyState

cdef class PlanState(PolicyState):
    cdef readonly ExactLearner learner
    cdef readonly long long[:, ::1] plans
    cdef readonly long long plan_count

    cdef void learn(self, long long fact, long long unit, long long m) noexcept nogil
    @cython.locals(a=cython.longlong)
    cdef void write_hat(self, long long m) noexcept nogil
    @cython.locals(k=cython.longlong)
    cdef bint leads_on(self, long long plan, long long node, long long m) noexcept nogil
    @cython.locals(given=cython.longlong, node=cython.longlong, k=cython.longlong, arm=cython.longlong, prescribed=cython.longlong)
    cdef long long next_of_plan(self, long long plan, long long unit, long long m) noexcept nogil
