cimport cython
from libc cimport math
from dtrbandit.kernels cimport constants as c
from dtrbandit.estimators.labels cimport Labels

cdef class Levels(Labels):
    cdef readonly double[::1] gap
    cdef public long long[:, ::1] head, tail, fill, old_head, old_fill
    cdef public double[:, ::1] radius, slack
    cdef public double[:, :, :, ::1] references
    cdef public double[:, :, ::1] cells
    cdef public double[::1] path, steps
    cdef public long long[::1] free, used, held, depth, limit
    cdef public int[:, ::1] units, nodes, follows
    cdef public signed char[:, ::1] labels
    cdef public long long rechecks

    @cython.locals(j=cython.longlong, slot=cython.longlong, length=cython.double)
    cdef void insert(self, long long m, long long unit, long long node, long long label, double lead) noexcept nogil
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
