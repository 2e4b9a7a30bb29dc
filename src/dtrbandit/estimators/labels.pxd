cimport cython
from libc cimport math
from dtrbandit.kernels cimport constants as c
from dtrbandit.kernels.triangular cimport LeastSquares
from dtrbandit.estimators.observed cimport Observed

cdef class Labels:
    cdef readonly Observed observed
    cdef readonly LeastSquares fits
    cdef readonly long long[:, ::1] problem
    cdef readonly double[::1] psi, whitened
    cdef public long long[:, ::1] rows
    cdef public double[:, :, :, ::1] cross
    cdef public double[:, :, ::1] whitener
    cdef public double[:, ::1] white
    cdef public long long flips

    cdef void forget_labels(self) noexcept nogil
    @cython.locals(a=cython.longlong, j=cython.longlong, p=cython.longlong, label=cython.longlong, contenders=cython.longlong, best=cython.double, second=cython.double, value=cython.double)
    cdef (long long, double, long long) label_of(self, long long m, long long node) noexcept nogil
    @cython.locals(a=cython.longlong, j=cython.longlong, k=cython.longlong, p=cython.longlong, weight=cython.double)
    cdef void add_cross(self, long long unit, long long m, long long label) noexcept nogil
    @cython.locals(a=cython.longlong, j=cython.longlong, k=cython.longlong, p=cython.longlong, weight=cython.double, product=cython.double)
    cdef void flip(self, long long m, long long unit, long long old, long long label) noexcept nogil
    @cython.locals(a=cython.longlong, j=cython.longlong, k=cython.longlong, p=cython.longlong, label=cython.longlong)
    cdef void clear_cross(self, long long m) noexcept nogil

    @cython.locals(j=cython.longlong, k=cython.longlong, d=cython.longlong, seen=cython.longlong, unit=cython.longlong, value=cython.double)
    cdef void measure(self, long long m) noexcept nogil
    @cython.locals(i=cython.longlong, j=cython.longlong, k=cython.longlong, root=cython.double)
    cdef void factorise(self, long long m, long long d) noexcept nogil
    @cython.locals(j=cython.longlong, k=cython.longlong, p=cython.longlong, d=cython.longlong, total=cython.double)
    cdef void whiten(self, long long m, long long a) noexcept nogil
    @cython.locals(j=cython.longlong, k=cython.longlong, length=cython.double, value=cython.double)
    cdef double whitened_length(self, long long m) noexcept nogil
