cimport cython
from dtrbandit.kernels cimport constants as c

@cython.final
cdef class Observed:
    cdef readonly long long stages, most, width, nodes_of_tree, capacity
    cdef readonly long long[::1] arm_count, widest
    cdef readonly long long[:, ::1] dimension
    cdef readonly int[:, ::1] following
    cdef readonly double[::1] psi
    cdef public long long units, taught
    cdef public int[:, ::1] child, nodes
    cdef public double[:, :, ::1] features
    cdef public signed char[:, ::1] arms
    cdef public int[::1] left
    cdef public signed char[::1] last
    cdef public double[::1] outcome

    @cython.locals(j=cython.longlong)
    cpdef void observe(self, long long fact, long long unit, long long m, long long index, double value) noexcept nogil
    @cython.locals(m=cython.longlong, j=cython.longlong)
    cpdef void erase(self, long long unit) noexcept nogil
    cpdef long long stands_at(self, long long unit, long long m) noexcept nogil
    @cython.locals(bare=cython.longlong, following=cython.longlong)
    cpdef long long walk(self, long long node, long long arm) noexcept nogil
    cpdef bint same_place(self, long long node, long long other) noexcept nogil
    @cython.locals(node=cython.longlong, feasible=cython.bint)
    cpdef bint fits(self, long long fact, long long unit, long long m, long long index, long long arm) noexcept nogil
