cimport cython
from libc cimport math
from dtrbandit.kernels cimport constants as c
from dtrbandit.policies.state cimport PolicyState

@cython.final
cdef class Rows:
    cdef readonly PolicyState state
    cdef readonly const double[:, :, ::1] features
    cdef readonly const signed char[:, ::1] arms
    cdef readonly const double[::1] outcome
    cdef readonly const long long[::1] roots
    cdef readonly const double[:, ::1] drawn
    cdef readonly double[::1] forced
    cdef readonly long long stages, offered

    @cython.locals(row=cython.longlong)
    cpdef long long play(self, const long long[::1] order, long long unit, int[::1] accepted) noexcept nogil
    @cython.locals(row=cython.longlong)
    cpdef void fill_agreeing(self, long long unit, unsigned char[::1] agreeing) noexcept nogil
    @cython.locals(row=cython.longlong, node=cython.longlong, m=cython.longlong, a=cython.longlong)
    cpdef void fill_propensities(self, long long unit, double[:, :, ::1] propensities) noexcept nogil
    @cython.locals(node=cython.longlong, m=cython.longlong, number=cython.longlong, agreed=cython.bint)
    cdef bint agrees(self, long long row, long long unit) noexcept nogil
    @cython.locals(j=cython.longlong)
    cdef void lay_out(self, long long row, long long m) noexcept nogil
    @cython.locals(arm=cython.longlong)
    cdef long long assume(self, long long row, long long number, long long m, long long node, bint forced) noexcept nogil
    @cython.locals(k=cython.longlong)
    cdef void undo(self, long long number, long long treated) noexcept nogil
    @cython.locals(node=cython.longlong, m=cython.longlong, number=cython.longlong)
    cdef void accept(self, long long row, long long unit) noexcept nogil
