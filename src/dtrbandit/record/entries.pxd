cimport cython
from dtrbandit.kernels cimport constants as c

@cython.final
cdef class Entries:
    cdef bytearray _bytes
    cdef object _ends, _last

    @cython.locals(last=object, ends=object, place=cython.longlong, end=object, entry=bytes)
    cpdef object append(self, long long kind, long long t, bytes own)
