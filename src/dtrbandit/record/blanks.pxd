cimport cython
from dtrbandit.kernels cimport constants as c

@cython.final
cdef class Finder:
    cdef public const unsigned char[::1] texts
    cdef public const long long[::1] ends
    cdef public unsigned char[::1] forms, numbers
    cdef public long long[:, ::1] found
    cdef public long long count, form_end, size

    @cython.locals(begin=cython.longlong, end=cython.longlong, t=cython.longlong)
    cpdef void find(self) noexcept nogil
    @cython.locals(place=cython.longlong, stop=cython.longlong, letter=cython.longlong)
    cdef void read(self, long long t, long long begin, long long end) noexcept nogil
    @cython.locals(before=cython.longlong, i=cython.longlong)
    cdef void read_string(self, long long t, long long begin, long long place, long long stop) noexcept nogil
    @cython.locals(kind=cython.longlong, i=cython.longlong, letter=cython.longlong)
    cdef void read_number(self, long long t, long long start, long long stop) noexcept nogil
    cdef long long end_of_string(self, long long place, long long end) noexcept nogil
    cdef long long end_of_number(self, long long place, long long end) noexcept nogil
    @cython.locals(sign=cython.bint)
    cdef bint is_of_number(self, long long letter) noexcept nogil
    @cython.locals(word=cython.longlong, i=cython.longlong)
    cdef long long seven_before(self, long long begin, long long place) noexcept nogil
    @cython.locals(inside=cython.bint, i=cython.longlong, letter=cython.longlong)
    cdef bint is_plain(self, long long start, long long stop) noexcept nogil
