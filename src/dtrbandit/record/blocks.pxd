cimport cython
from dtrbandit.kernels cimport constants as c

@cython.final
cdef class Blocks:
    cdef object _last
    cdef list _joined
    cdef tuple _held

    @cython.locals(count=cython.longlong, rest=list, last=object)
    cpdef object append(self, long long kind, long long t, bytes own)
    cdef tuple _join(self)
