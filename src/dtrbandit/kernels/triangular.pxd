cimport cython
from libc cimport math
from dtrbandit.kernels cimport constants as c

@cython.locals(ratio=cython.double, root=cython.double, cosine=cython.double, sine=cython.double)
cpdef (double, double, double) rotation(double upper, double lower) noexcept nogil

@cython.final
cdef class LeastSquares:
    cdef public double[:, ::1] beta, carried, length, proof
    cdef public double[:, :, ::1] factor, operator
    cdef readonly double[:, ::1] work, turned, basis, triangle
    cdef readonly double[::1] singular, lengths

    @cython.locals(j=cython.longlong, k=cython.longlong)
    cpdef void clear(self, long long p, long long d) noexcept nogil
    cpdef void forget(self) noexcept nogil
    @cython.locals(j=cython.longlong, k=cython.longlong, carried=cython.double, cosine=cython.double, sine=cython.double, length=cython.double, upper=cython.double, lower=cython.double)
    cpdef void rotate_in(self, long long p, long long d, double value) noexcept nogil
    @cython.locals(j=cython.longlong, smallest=cython.double)
    cpdef bint proven(self, long long p, long long d, double tolerance) noexcept nogil
    @cython.locals(j=cython.longlong, k=cython.longlong, total=cython.double)
    cpdef void solve_carried(self, long long p, long long d) noexcept nogil
    @cython.locals(j=cython.longlong, k=cython.longlong, value=cython.double, total=cython.double)
    cpdef void solve_normal(self, long long p, long long d) noexcept nogil
    @cython.locals(j=cython.longlong, k=cython.longlong, total=cython.double)
    cpdef void apply_operator(self, long long p, long long d, bint carried) noexcept nogil
    @cython.locals(j=cython.longlong, largest=cython.double, smallest=cython.double, rank=cython.longlong)
    cpdef (double, long long) examine_rank(self, long long p, long long d, bint carried) noexcept nogil
    @cython.locals(j=cython.longlong, k=cython.longlong, total=cython.double)
    cdef void decompose(self, long long p, long long d) noexcept nogil
    @cython.locals(i=cython.longlong, j=cython.longlong, settled=cython.bint)
    cdef void jacobi(self, long long d) noexcept nogil
    @cython.locals(j=cython.longlong, zeta=cython.double, tangent=cython.double, cosine=cython.double, sine=cython.double, length_p=cython.double, length_q=cython.double, product=cython.double, first=cython.double, second=cython.double)
    cdef bint orthogonalise(self, long long d, long long p, long long q) noexcept nogil
    @cython.locals(k=cython.longlong)
    cdef void keep(self, long long d, long long rank, long long j) noexcept nogil
    @cython.locals(i=cython.longlong, j=cython.longlong, numerator=cython.double)
    cdef void project(self, long long d, long long rank, bint carried) noexcept nogil
    @cython.locals(i=cython.longlong, j=cython.longlong, k=cython.longlong, total=cython.double)
    cdef void write_operator(self, long long p, long long d, long long rank) noexcept nogil
    @cython.locals(j=cython.longlong, k=cython.longlong, total=cython.double, product=cython.double)
    cdef void orthonormalise(self, long long d, long long i) noexcept nogil
