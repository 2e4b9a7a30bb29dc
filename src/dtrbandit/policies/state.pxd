cimport cython
from libc cimport math
from dtrbandit.kernels cimport constants as c
from dtrbandit.estimators.observed cimport Observed
from dtrbandit.policies.decisions cimport DecisionReader

cdef class PolicyState:
    cdef readonly object policy, design, psi_bytes, sheet_bytes, dimensions, parents, arms_to
    cdef readonly Observed observed
    cdef readonly list readers
    cdef readonly double[:, ::1] sheet
    cdef readonly long long width, reason
    cdef readonly bint knows_units
    cdef public object closed, copies, at_hand
    cdef public bint learning

    cdef long long decide(self, long long unit, long long m, long long node, double u) noexcept nogil
    cdef void explain(self, long long unit, long long m) noexcept nogil
    cdef void note(self, long long fact, long long unit, long long m, double value) noexcept nogil
    cdef void learn(self, long long fact, long long unit, long long m) noexcept nogil
    cdef void assume(self, long long unit, long long m, long long arm, bint forced) noexcept nogil
    cdef void undo(self, long long unit, long long m) noexcept nogil

    cdef void take(self, long long fact, long long unit, long long m, long long index, double value) noexcept nogil
    cpdef bint take_if_it_fits(self, long long fact, long long unit, long long m, long long index, long long arm, double value) noexcept
    @cython.locals(i=cython.longlong, j=cython.longlong)
    cpdef long long take_all(self, long long[:, ::1] facts, double[::1] values, double[:, ::1] features) noexcept
    @cython.locals(a=cython.longlong, arm=cython.longlong)
    cpdef long long ask(self, long long unit, long long m, long long node, double u) noexcept
    @cython.locals(reader=DecisionReader)
    cpdef object decision(self, object unit, long long t, long long m, long long arm)
    cpdef void amend(self, long long fact, long long unit) noexcept

    @cython.locals(a=cython.longlong, feasible=cython.longlong)
    cdef long long clear_sheet(self, long long node) noexcept nogil
    @cython.locals(a=cython.longlong, chosen=cython.longlong, top=cython.double, value=cython.double)
    cdef long long best(self, long long row) noexcept nogil
    @cython.locals(a=cython.longlong)
    cdef void prescribe(self, long long arm) noexcept nogil
    @cython.locals(a=cython.longlong)
    cdef void keep_floor(self, double floor) noexcept nogil
    @cython.locals(a=cython.longlong, arm=cython.longlong, below=cython.double)
    cdef long long take_or_explore(self, long long favourite, long long reason, double u) noexcept nogil
