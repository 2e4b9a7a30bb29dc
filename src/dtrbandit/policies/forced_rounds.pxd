cimport cython
from dtrbandit.kernels cimport constants as c
from dtrbandit.design.schedule cimport place
from dtrbandit.policies.plans cimport PlanState

cdef class ForcedRoundsState(PlanState):
    cdef readonly long long q
    cdef readonly bint permuted
    cdef public long long[:, :, ::1] drawn
    cdef public int[::1] planned

    @cython.locals(plan=cython.longlong, arm=cython.longlong)
    cdef long long scheduled_arm(self, long long latest, long long offset, long long unit, long long m, long long node, double u) noexcept nogil
    @cython.locals(plan=cython.longlong, slot=cython.longlong, other=cython.longlong)
    cdef long long plan_of_slot(self, long long offset) noexcept nogil
    @cython.locals(plan=cython.longlong, count=cython.longlong)
    cdef long long open_plans(self) noexcept nogil
    @cython.locals(a=cython.longlong, remaining=cython.double, slots=cython.double)
    cdef long long drawn_arm(self, long long latest, long long unit, long long m, long long node, double u) noexcept nogil
    @cython.locals(arm=cython.longlong, a=cython.longlong, below=cython.double, weight=cython.double)
    cdef long long draw(self, double u, double total) noexcept nogil

    @cython.locals(plan=cython.longlong, each=cython.double, slots=cython.double, left=cython.double)
    cdef double slots_left(self, long long latest, long long unit, long long m, long long a) noexcept nogil
    @cython.locals(plan=cython.longlong)
    cdef bint can_take(self, long long unit, long long m, long long node, long long a) noexcept nogil
    cdef bint has_slot(self, long long plan, long long unit, long long m, long long a) noexcept nogil
    @cython.locals(k=cython.longlong, same=cython.bint)
    cdef bint agrees(self, long long plan, long long unit, long long m, long long a) noexcept nogil
    @cython.locals(node=cython.longlong, k=cython.longlong)
    cdef long long slot_node(self, long long unit, long long m) noexcept nogil

    @cython.locals(latest=cython.longlong, offset=cython.longlong)
    cdef void keep_plan(self, long long unit, long long m, long long arm, bint forced) noexcept nogil
    cdef void use_slot(self, long long latest, long long unit, long long m) noexcept nogil
    @cython.locals(plan=cython.longlong)
    cdef long long plan_with(self, long long unit, long long m, long long slot) noexcept nogil
    @cython.locals(plan=cython.longlong, a=cython.longlong, slot=cython.longlong)
    cdef long long missed_slot(self, long long latest, long long unit, long long m, long long given) noexcept nogil
