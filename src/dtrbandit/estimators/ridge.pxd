cimport cython
from libc cimport math
from dtrbandit.kernels cimport constants as c
from dtrbandit.kernels.triangular cimport rotation
from dtrbandit.estimators.observed cimport Observed

@cython.final
cdef class RidgeRegression:
    cdef readonly Observed observed
    cdef readonly double penalty
    cdef public double[:, :, :, ::1] factor, newest
    cdef public double[:, :, ::1] reciprocal, moment, weights
    cdef readonly double[:, :, ::1] inverse
    cdef readonly double[::1] work

    @cython.locals(m=cython.longlong, a=cython.longlong, j=cython.longlong)
    cpdef void start(self) noexcept nogil
    @cython.locals(d=cython.longlong, j=cython.longlong, k=cython.longlong, cosine=cython.double, sine=cython.double, length=cython.double, upper=cython.double, lower=cython.double)
    cpdef void rotate_in(self, long long m, long long a) noexcept nogil
    @cython.locals(d=cython.longlong, j=cython.longlong, k=cython.longlong)
    cpdef void publish(self, long long m, long long a) noexcept nogil
    @cython.locals(d=cython.longlong, j=cython.longlong, k=cython.longlong, value=cython.double)
    cpdef void solve(self, long long m, long long a) noexcept nogil
    @cython.locals(i=cython.longlong, j=cython.longlong, k=cython.longlong, total=cython.double)
    cpdef void invert(self, long long m, long long a) noexcept nogil
    @cython.locals(m=cython.longlong, a=cython.longlong, j=cython.longlong, gain=cython.double, ratio=cython.double)
    cpdef bint doubled(self) noexcept nogil
