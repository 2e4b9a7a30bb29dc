cimport cython
from dtrbandit.kernels cimport constants as c
from dtrbandit.policies.state cimport PolicyState

cdef class UniformRandomState(PolicyState):
    @cython.locals(feasible=cython.longlong, arm=cython.longlong, pick=cython.longlong, passed=cython.longlong, a=cython.longlong)
    cdef long long decide(self, long long unit, long long m, long long node, double u) noexcept nogil
