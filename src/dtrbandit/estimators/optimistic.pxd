cimport cython
from libc cimport math
from dtrbandit.kernels cimport constants as c
from dtrbandit.estimators.observed cimport Observed
from dtrbandit.estimators.ridge cimport RidgeRegression

@cython.final
cdef class OptimisticLearner:
    cdef readonly Observed observed
    cdef readonly double bonus
    cdef readonly RidgeRegression fits
    cdef readonly bint leavers_observed, rare
    cdef readonly double[::1] clip
    cdef readonly double[:, ::1] divisors
    cdef readonly long long[::1] arm_before
    cdef public double[:, :, ::1] fixed
    cdef public long long[:, ::1] latest, node, fill
    cdef public long long[::1] used
    cdef public double[:, :, :, ::1] own, later, values
    cdef public long long[:, :, ::1] valued
    cdef readonly double[::1] phi, row, work
    cdef readonly double[:, :, ::1] sums
    cdef readonly double[::1] target, mean, square, entry

    @cython.locals(j=cython.longlong)
    cpdef void divide(self, long long m) noexcept nogil
    @cython.locals(j=cython.longlong, k=cython.longlong, mean=cython.double, square=cython.double, value=cython.double, clipped=cython.double)
    cpdef double optimistic(self, long long m, long long a) noexcept nogil

    cpdef void learn(self, long long fact, long long unit, long long m) noexcept nogil
    @cython.locals(a=cython.longlong, node=cython.longlong, changed=cython.longlong, j=cython.longlong, k=cython.longlong, target=cython.double)
    cdef void count(self, long long unit, long long m) noexcept nogil
    @cython.locals(a=cython.longlong, node=cython.longlong, j=cython.longlong)
    cdef long long add_row(self, long long unit, long long m) noexcept nogil
    @cython.locals(node=cython.longlong)
    cpdef long long next_node(self, long long unit, long long m) noexcept nogil
    @cython.locals(k=cython.longlong, highest=cython.double)
    cdef double imputed(self, long long m, long long node) noexcept nogil
    @cython.locals(block=cython.longlong, slot=cython.longlong, j=cython.longlong)
    cdef void store(self, long long m, long long a, long long node) noexcept nogil

    @cython.locals(a=cython.longlong, j=cython.longlong)
    cdef void sweep(self, long long m, long long changed) noexcept nogil
    @cython.locals(a=cython.longlong, i=cython.longlong, j=cython.longlong, k=cython.longlong, block=cython.longlong, total=cython.double)
    cdef void add_imputed(self, long long m, long long changed) noexcept nogil
    @cython.locals(i=cython.longlong, k=cython.longlong, fill=cython.longlong, value=cython.double)
    cpdef void find_targets(self, long long m, long long block, long long changed) noexcept nogil
    @cython.locals(i=cython.longlong, j=cython.longlong, fill=cython.longlong, bonus=cython.double, clip=cython.double)
    cpdef void value_rows(self, long long m, long long block, long long a) noexcept nogil
    @cython.locals(i=cython.longlong, fill=cython.longlong, weight=cython.double, other=cython.double, corner=cython.double, first=cython.double, second=cython.double, upper=cython.double, lower=cython.double)
    cdef void begin_rows(self, long long m, long long block, long long a) noexcept nogil
    @cython.locals(i=cython.longlong, k=cython.longlong, fill=cython.longlong, weight=cython.double, first=cython.double, second=cython.double, value=cython.double)
    cdef void add_feature(self, long long m, long long block, long long a, long long j) noexcept nogil
    @cython.locals(a=cython.longlong, i=cython.longlong, j=cython.longlong)
    cdef void add_products(self, long long m, long long block) noexcept nogil

    cdef void start(self) noexcept nogil
    @cython.locals(m=cython.longlong, a=cython.longlong)
    cdef void refit(self) noexcept nogil
    @cython.locals(m=cython.longlong, unit=cython.longlong, went_on=cython.bint)
    cpdef void relearn(self) noexcept nogil
