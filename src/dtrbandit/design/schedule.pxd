cimport cython
from dtrbandit.kernels cimport constants as c

@cython.locals(size=cython.longlong, block=cython.longlong, offset=cython.longlong, latest=cython.longlong, power=cython.longlong)
cpdef (bint, long long, long long) place(long long t, long long plans, long long q) noexcept nogil
