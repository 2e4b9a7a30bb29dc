cimport cython
from dtrbandit.kernels cimport constants as c
from dtrbandit.policies.state cimport PolicyState

cdef class FixedRegimeState(PolicyState):
    cdef public long long[::1] settled
    cdef public double[:, :, ::1] scores

    @cython.locals(feasible=cython.longlong, arm=cython.longlong, a=cython.longlong, j=cython.longlong, total=cython.double)
    cdef long long decide(self, long long unit, long long m, long long node, double u) noexcept nogil
