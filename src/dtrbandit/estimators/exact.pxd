cimport cython
from dtrbandit.kernels cimport constants as c
from dtrbandit.estimators.levels cimport Levels

@cython.final
cdef class ExactLearner(Levels):
    cdef public long long[:, ::1] mode
    cdef public double[:, ::1] moment
    cdef public unsigned char[:, ::1] counted

    @cython.locals(counted=cython.bint, first=cython.bint)
    cpdef void learn(self, long long fact, long long unit, long long m) noexcept nogil
    @cython.locals(m=cython.longlong, unit=cython.longlong)
    cpdef void relearn(self) noexcept nogil
    cdef void clear(self) noexcept nogil

    @cython.locals(a=cython.longlong, j=cython.longlong, p=cython.longlong, d=cython.longlong, value=cython.double, first=cython.bint)
    cdef bint add_row(self, long long unit, long long m, double target) noexcept nogil
    @cython.locals(a=cython.longlong, j=cython.longlong, p=cython.longlong, outcome=cython.double)
    cdef bint count_fixed(self, long long unit, long long m) noexcept nogil
    @cython.locals(j=cython.longlong, node=cython.longlong, label=cython.longlong, contenders=cython.longlong, lead=cython.double, first=cython.bint)
    cdef (bint, bint) count_imputed(self, long long unit, long long m) noexcept nogil
    @cython.locals(a=cython.longlong, unit=cython.longlong, first=cython.bint, any_first=cython.bint)
    cdef bint relabel(self, long long m) noexcept nogil

    @cython.locals(renewed=cython.bint)
    cdef void propagate(self, long long m, long long a, bint first) noexcept nogil
    @cython.locals(a=cython.longlong)
    cdef void refresh(self, long long m, bint renewed) noexcept nogil
    @cython.locals(last=cython.bint, d=cython.longlong, p=cython.longlong, mode=cython.longlong, quality=cython.double, rank=cython.longlong)
    cdef void judge(self, long long m, long long a) noexcept nogil
    @cython.locals(last=cython.bint, d=cython.longlong, p=cython.longlong, mode=cython.longlong)
    cdef void solve(self, long long m, long long a) noexcept nogil
    @cython.locals(j=cython.longlong, k=cython.longlong, p=cython.longlong, q=cython.longlong, d=cython.longlong, label=cython.longlong, weight=cython.double)
    cdef void collect(self, long long m, long long a) noexcept nogil
    @cython.locals(j=cython.longlong, p=cython.longlong, d=cython.longlong, unit=cython.longlong)
    cdef void refit(self, long long m, long long a) noexcept nogil
    @cython.locals(j=cython.longlong, p=cython.longlong, label=cython.longlong, known=cython.double, total=cython.double)
    cdef double target_of(self, long long unit, long long m) noexcept nogil
    @cython.locals(j=cython.longlong, p=cython.longlong, total=cython.double)
    cpdef double q_hat(self, long long m, long long a) noexcept nogil
