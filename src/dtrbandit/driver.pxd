cimport cython
from libc cimport math
from dtrbandit.kernels cimport constants as c
from dtrbandit.policies.state cimport PolicyState

cdef long long read_event(long long what, long long stages, long long standing, long long m, bint enters) noexcept nogil

@cython.final
cdef class Driver:
    cdef readonly PolicyState state
    cdef readonly const double[:, ::1] drawn, outcome
    cdef readonly signed char[:, ::1] arms, reasons
    cdef readonly long long[::1] nodes
    cdef readonly signed char[::1] standing
    cdef readonly const long long[::1] column, leaf
    cdef readonly const double[:, :, ::1] features
    cdef readonly const unsigned char[:, ::1] enters

    @cython.locals(e=cython.longlong)
    cpdef void play(self, const int[:, ::1] events, const long long[::1] column, const double[:, :, ::1] features, const unsigned char[:, ::1] enters, const long long[::1] leaf, const double[:, ::1] outcome) noexcept nogil
    @cython.locals(node=cython.longlong, m=cython.longlong, stages=cython.longlong, place=cython.longlong, column=cython.longlong, fact=cython.longlong, j=cython.longlong, number=cython.longlong)
    cdef void step(self, long long what, long long unit) noexcept nogil
    @cython.locals(arm=cython.longlong, forced=cython.double)
    cdef void arrive(self, long long unit, long long number, long long m, long long node) noexcept nogil
