cimport cython
from libc cimport math
from dtrbandit.kernels cimport constants as c
from dtrbandit.kernels.triangular cimport LeastSquares
from dtrbandit.estimators.observed cimport Observed

cdef class Levels:
    cdef readonly Observed observed
    cdef readonly LeastSquares fits
    cdef readonly long long[:, ::1] problem
    cdef readonly double[::1] psi, gap, whitened
    cdef public long long[:, ::1] rows, head, tail, fill, old_head, old_fill
    cdef public double[:, ::1] white, radius, slack
    cdef public double[:, :, :, ::1] cross, references
    cdef public double[:, :, ::1] whitener, cells
    cdef public double[::1] path, steps
    cdef public long long[::1] free, used, held, depth, limit
    cdef public int[:, ::1] units, nodes, follows
    cdef public signed char[:, ::1] labels
    cdef public long long rechecks, flips

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

    @cython.locals(j=cython.longlong, slot=cython.longlong, length=cython.double)
    cdef void place(self, long long m, long long unit, long long node, long long label, double lead) noexcept nogil
    @cython.locals(level=cython.longlong)
    cdef long long find_level(self, long long m, long long start, double lead) noexcept nogil
    @cython.locals(fill=cython.longlong, slot=cython.longlong)
    cdef long long next_slot(self, long long m, long long level) noexcept nogil
    @cython.locals(block=cython.longlong)
    cdef void open_block(self, long long m, long long level) noexcept nogil
    @cython.locals(a=cython.longlong, j=cython.longlong, p=cython.longlong)
    cdef void refer(self, long long m, long long level) noexcept nogil
    @cython.locals(a=cython.longlong, b=cython.longlong, j=cython.longlong, p=cython.longlong, q=cython.longlong, most=cython.double, total=cython.double, moved_a=cython.double, moved_b=cython.double)
    cdef double displacement(self, long long m, long long level) noexcept nogil

    @cython.locals(level=cython.longlong, step=cython.double, expired=cython.bint)
    cdef void scan(self, long long m) noexcept nogil
    @cython.locals(moved=cython.double)
    cdef bint expire(self, long long m, long long level) noexcept nogil
    @cython.locals(j=cython.longlong, p=cython.longlong, q=cython.longlong)
    cdef void set_gap(self, long long m) noexcept nogil
    @cython.locals(block=cython.longlong, left=cython.longlong, following=cython.longlong)
    cdef void recheck(self, long long m, long long level) noexcept nogil
    @cython.locals(slot=cython.longlong, j=cython.longlong, pair=cython.bint, d=cython.longlong, goal=cython.longlong, label=cython.longlong, unit=cython.longlong, old=cython.longlong, lead=cython.double)
    cdef void recheck_block(self, long long m, long long level, long long first, long long count) noexcept nogil

    cdef void forget(self) noexcept nogil
    @cython.locals(depth=cython.longlong, radius=cython.double, length=cython.double, usual_step=cython.double)
    cdef void clear_levels(self, long long m) noexcept nogil
    cdef void set_radius(self, long long m, long long level, double radius) noexcept nogil
    @cython.locals(a=cython.longlong, b=cython.longlong, j=cython.longlong, p=cython.longlong, q=cython.longlong, apart=cython.double, longest=cython.double, distance=cython.double, length=cython.double, value=cython.double, gap=cython.double)
    cdef (double, double) spread(self, long long m) noexcept nogil
