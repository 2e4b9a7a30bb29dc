cimport cython
from dtrbandit.kernels cimport constants as c
from dtrbandit.design.schedule cimport place
from dtrbandit.estimators.forced cimport ForcedLearner
from dtrbandit.policies.forced_rounds cimport ForcedRoundsState

cdef class DTRBanditState(ForcedRoundsState):
    cdef readonly double floor
    cdef readonly double[::1] delta
    cdef readonly ForcedLearner forced
    cdef public long long stale
    cdef public unsigned char[::1] frozen
    cdef public double[:, :, :, ::1] tilde

    @cython.locals(forced=cython.bint, latest=cython.longlong, offset=cython.longlong, feasible=cython.longlong, contenders=cython.longlong, reason=cython.longlong, arm=cython.longlong)
    cdef long long decide(self, long long unit, long long m, long long node, double u) noexcept nogil
    @cython.locals(latest=cython.longlong, a=cython.longlong, j=cython.longlong, total=cython.double, beta=cython.double)
    cdef void explain(self, long long unit, long long m) noexcept nogil
    @cython.locals(a=cython.longlong, contenders=cython.longlong, top=cython.double)
    cdef long long keep_contenders(self, double delta) noexcept nogil

    cdef void note(self, long long fact, long long unit, long long m, double value) noexcept nogil
    @cython.locals(in_block=cython.bint, latest=cython.longlong, block=cython.longlong)
    cdef void note_assignment(self, long long unit, long long m, bint forced) noexcept nogil
    @cython.locals(k=cython.longlong, a=cython.longlong, j=cython.longlong)
    cdef void freeze(self, long long latest) noexcept nogil
    cdef void refit_forced(self, long long first) noexcept nogil
    cdef void assume(self, long long unit, long long m, long long arm, bint forced) noexcept nogil
    cdef void undo(self, long long unit, long long m) noexcept nogil
