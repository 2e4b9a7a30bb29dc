cimport cython
from dtrbandit.kernels cimport constants as c
from dtrbandit.policies.state cimport PolicyState

cdef class FixedRegimeState(PolicyState):
    cdef readonly long long[::1] settled
    cdef readonly double[:, :, ::1] scores

    @cython.locals(feasible=cython.longlong, arm=cython.longlong, a=cython.longlong, j=cython.longlong, total=cython.double)
    cdef long long decide(self, long long unit, long long m, long long node, double u) noexcept nogil
