cimport cython
from dtrbandit.kernels cimport constants as c
from dtrbandit.policies.state cimport PolicyState
from dtrbandit.record.entries cimport Entries

@cython.final
cdef class FastPath:
    cdef object _belief, _log, _histories, _design, _tree, _drawn
    cdef list _layouts
    cdef Entries _entries
    cdef long long _stages, _first, _completion

    cpdef object take(self, object command)
    @cython.locals(t=cython.longlong, arm=cython.longlong)
    cdef object _enroll(self, object unit, object context)
    @cython.locals(m=cython.longlong, t=cython.longlong, arm=cython.longlong, before=cython.longlong)
    cdef object _respond(self, object unit, object context)
    @cython.locals(t=cython.longlong)
    cdef object _complete(self, object unit, object outcome)
    cdef object _accepted(self, long long m, object context)
    @cython.locals(state=PolicyState, arm=cython.longlong)
    cdef long long _ask(self, long long t, long long m, long long node, object psi) except *
    cdef double _uniform(self, long long t, long long m) except *
    @cython.locals(state=PolicyState)
    cdef double _forced(self) except *
    cdef bint _record(self, long long t, long long m, long long arm, object context, object decision) except *
    @cython.locals(state=PolicyState, taught=cython.longlong)
    cdef object _learn(self, long long fact, long long t, long long m, long long node, long long arm, double value, long long facts)
