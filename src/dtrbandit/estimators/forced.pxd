cimport cython
from libc cimport math
from dtrbandit.kernels cimport constants as c
from dtrbandit.kernels.triangular cimport LeastSquares
from dtrbandit.estimators.observed cimport Observed

@cython.final
cdef class ForcedLearner:
    cdef readonly Observed observed
    cdef readonly LeastSquares fit
    cdef public long long count
    cdef public int[::1] units
    cdef public signed char[:, ::1] scheduled
    cdef public double[:, :, ::1] beta

    cpdef void schedule(self, long long unit, long long m, long long arm) noexcept nogil
    @cython.locals(m=cython.longlong, a=cython.longlong)
    cpdef void refit(self, long long first, long long last) noexcept nogil
    @cython.locals(i=cython.longlong, j=cython.longlong, d=cython.longlong, rows=cython.longlong, unit=cython.longlong, target=cython.double, value=cython.double)
    cdef long long gather(self, long long m, long long a) noexcept nogil
    @cython.locals(node=cython.longlong, k=cython.longlong, j=cython.longlong, known=cython.double, target=cython.double, value=cython.double)
    cdef double known_target(self, long long unit, long long m) noexcept nogil
    @cython.locals(j=cython.longlong, d=cython.longlong, rank=cython.longlong)
    cdef void solve(self, long long m, long long a, long long rows) noexcept nogil
