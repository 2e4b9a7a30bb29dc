cimport cython
from libc cimport math
from dtrbandit.kernels cimport constants as c
from dtrbandit.policies.state cimport PolicyState

@cython.final
cdef class Rows:
    cdef public PolicyState state
    cdef public const double[:, :, ::1] features
    cdef public const signed char[:, ::1] arms
    cdef public const double[::1] outcome
    cdef public const long long[::1] roots
    cdef public const double[:, ::1] drawn
    cdef public double[::1] forced
    cdef public long long stages, offered

    @cython.locals(row=cython.longlong)
    cpdef long long play(self, const long long[::1] order, long long unit, int[::1] accepted) noexcept nogil
    @cython.locals(row=cython.longlong)
    cpdef void ask_all(self, long long unit, unsigned char[::1] agreeing) noexcept nogil
    @cython.locals(row=cython.longlong, node=cython.longlong, m=cython.longlong, a=cython.longlong)
    cpdef void ask_chances(self, long long unit, double[:, :, ::1] chances) noexcept nogil
    @cython.locals(node=cython.longlong, m=cython.longlong, number=cython.longlong, agreed=cython.bint)
    cdef bint agrees(self, long long row, long long unit) noexcept nogil
    @cython.locals(j=cython.longlong)
    cdef void lay_out(self, long long row, long long m) noexcept nogil
    @cython.locals(arm=cython.longlong)
    cdef long long suppose(self, long long row, long long number, long long m, long long node, bint forced) noexcept nogil
    @cython.locals(k=cython.longlong)
    cdef void retract(self, long long number, long long treated) noexcept nogil
    @cython.locals(node=cython.longlong, m=cython.longlong, number=cython.longlong)
    cdef void accept(self, long long row, long long unit) noexcept nogil
