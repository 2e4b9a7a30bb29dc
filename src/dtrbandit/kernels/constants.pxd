cdef extern from "<math.h>" nogil:
    double INFINITY
    double NAN

cdef enum:
    ARRIVED = 0
    GIVEN = 1
    COMPLETED = 2
    LEFT = 3
    LOST = 4
    AMENDED = 5
    VOIDED = 6
    CLOSED = 7
    NO_FACT = -1
    STAYED = -1
    UNKNOWN = -2
    VOID = -3
    UNDER_WAY = 0
    GONE = 1
    ENDED = 2

    FORCED = 0
    CLEAR = 1
    CLOSE = 2
    GREEDY = 3
    EXPLORE = 4
    OPTIMISTIC = 5
    UNIFORM = 6
    RULE = 7
    ONLY_FEASIBLE = 8
    Q_TILDE = 0
    Q_HAT = 1
    PROPENSITY = 2
    CONTENDER = 3

    FULL = 0
    SHORT = 1
    ILL = 2
    SWEEPS = 40

    LEVELS = 64
    BLOCK = 32
    FIRST_LIMIT = 16

    ROWS = 128
    ALL = -1

    FORCED_BLOCKS = 64

cdef extern from *:
    """
    #define DTR_RANK_TOLERANCE 1e-10
    #define DTR_NORMAL_TOLERANCE 1e-4
    #define DTR_RIDGE 1e-6
    #define DTR_ROUNDING 1e-14
    #define DTR_SHRINK 2.0
    #define DTR_NARROWEST 0.5
    #define DTR_TWICE (2.0 * (1.0 - 1e-12))
    """
    double RANK_TOLERANCE "DTR_RANK_TOLERANCE"
    double NORMAL_TOLERANCE "DTR_NORMAL_TOLERANCE"
    double RIDGE "DTR_RIDGE"
    double ROUNDING "DTR_ROUNDING"
    double SHRINK "DTR_SHRINK"
    double NARROWEST "DTR_NARROWEST"
    double TWICE "DTR_TWICE"
    const char* BUILT_FROM "DTR_BUILT_FROM"
