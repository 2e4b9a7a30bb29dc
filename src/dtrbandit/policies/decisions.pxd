cimport cython
from dtrbandit.kernels cimport constants as c

cdef object _values(object labels, object packed)

@cython.final
cdef class DecisionReader:
    cdef object _stage, _rows
    cdef tuple _labels
    cdef dict _cache
    cdef long long _width

    cpdef object read(self, object sheet, object unit, long long t, long long arm, long long reason)
    cdef tuple _learn(self, object chances)
