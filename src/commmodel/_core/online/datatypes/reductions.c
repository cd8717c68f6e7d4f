// Reduction operations.
#include "online/datatypes/reductions.h"

#include <complex.h>
#include <math.h>

#include "online/objects/errors.h"
#include "online/objects/handles.h"
#include "online/runtime/allocation.h"

typedef int combine(const void *left, void *right, MPI_Count count, const struct datatype *type);

// Passed by the Fortran bindings of MPICH 5 and newer: a function with a state, and the destructor of that.
typedef void function_with_state(void *, void *, MPI_Count, MPI_Datatype, void *);
typedef void destructor(void *);

struct operation {
    MPI_Op handle;
    int references;
    bool commutes;
    combine *built_in;
    MPI_User_function *function;  // one of these three
    MPI_User_function_c *large_function;
    function_with_state *function_with_state;
    destructor *destructor;
    void *state;
};

struct operation *operation_of(MPI_Op handle) { return object_of(OPERATION, handle); }
struct operation *keep_operation(MPI_Op handle) {
    struct operation *operation = operation_of(handle);
    if (operation != NULL) operation->references++;
    return operation;
}

// Freed numbers are reused only once nothing refers to them.
void drop_operation(struct operation *operation) {
    if (operation->built_in != NULL || --operation->references > 0) return;
    drop_handle(OPERATION, operation->handle);
    if (operation->destructor != NULL) operation->destructor(operation->state);
    free(operation);
}

bool is_built_in(MPI_Op handle) {
    const struct operation *operation = operation_of(handle);
    return operation != NULL && operation->built_in != NULL;
}
bool is_commutative(const struct operation *operation) { return operation->commutes; }

// ---- built-in ones: kinds of elements

enum element {
    NO_ELEMENT,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    FLOAT,
    DOUBLE,
    LONG_DOUBLE,
    FLOAT_COMPLEX,
    DOUBLE_COMPLEX,
    LONG_DOUBLE_COMPLEX,
    BOOLEAN,
    BYTES,
    FLOAT_PLACE,
    DOUBLE_PLACE,
    LONG_PLACE,
    SHORT_PLACE,
    INT_PLACE,
    LONG_DOUBLE_PLACE,
    FLOAT_PAIR,
    DOUBLE_PAIR,
};

static enum element integer(int size, bool is_signed) {
    switch (size) {
        case 1: return is_signed ? INT8 : UINT8;
        case 2: return is_signed ? INT16 : UINT16;
        case 4: return is_signed ? INT32 : UINT32;
        case 8: return is_signed ? INT64 : UINT64;
        default: return NO_ELEMENT;
    }
}

static enum element element_of(const struct datatype *type) {
    const int size = (int)type->size;
    switch (type->basic) {
        case MPI_CHAR:
        case MPI_SIGNED_CHAR:
        case MPI_SHORT:
        case MPI_INT:
        case MPI_LONG:
        case MPI_LONG_LONG_INT:
        case MPI_INT8_T:
        case MPI_INT16_T:
        case MPI_INT32_T:
        case MPI_INT64_T:
        case MPI_INTEGER:
        case MPI_INTEGER1:
        case MPI_INTEGER2:
        case MPI_INTEGER4:
        case MPI_INTEGER8:
        case MPI_AINT:
        case MPI_OFFSET:
        case MPI_COUNT: return integer(size, true);
        case MPI_UNSIGNED_CHAR:
        case MPI_UNSIGNED_SHORT:
        case MPI_UNSIGNED:
        case MPI_UNSIGNED_LONG:
        case MPI_UNSIGNED_LONG_LONG:
        case MPI_UINT8_T:
        case MPI_UINT16_T:
        case MPI_UINT32_T:
        case MPI_UINT64_T: return integer(size, false);
        case MPI_FLOAT:
        case MPI_REAL:
        case MPI_REAL4: return FLOAT;
        case MPI_DOUBLE:
        case MPI_DOUBLE_PRECISION:
        case MPI_REAL8: return DOUBLE;
        case MPI_LONG_DOUBLE: return LONG_DOUBLE;
        case MPI_C_FLOAT_COMPLEX:
        case MPI_CXX_FLOAT_COMPLEX:
        case MPI_COMPLEX:
        case MPI_COMPLEX8: return FLOAT_COMPLEX;
        case MPI_C_DOUBLE_COMPLEX:
        case MPI_CXX_DOUBLE_COMPLEX:
        case MPI_DOUBLE_COMPLEX:
        case MPI_COMPLEX16: return DOUBLE_COMPLEX;
        case MPI_C_LONG_DOUBLE_COMPLEX:
        case MPI_CXX_LONG_DOUBLE_COMPLEX: return LONG_DOUBLE_COMPLEX;
        case MPI_C_BOOL:
        case MPI_CXX_BOOL:
        case MPI_LOGICAL:
        case MPI_LOGICAL1:
        case MPI_LOGICAL2:
        case MPI_LOGICAL4:
        case MPI_LOGICAL8: return BOOLEAN;
        case MPI_BYTE: return BYTES;
        case MPI_FLOAT_INT: return FLOAT_PLACE;
        case MPI_DOUBLE_INT: return DOUBLE_PLACE;
        case MPI_LONG_INT: return LONG_PLACE;
        case MPI_SHORT_INT: return SHORT_PLACE;
        case MPI_2INT:
        case MPI_2INTEGER: return INT_PLACE;
        case MPI_LONG_DOUBLE_INT: return LONG_DOUBLE_PLACE;
        case MPI_2REAL: return FLOAT_PAIR;
        case MPI_2DOUBLE_PRECISION: return DOUBLE_PAIR;
        default: return NO_ELEMENT;
    }
}

int class_of(MPI_Datatype basic) {
    if (basic == MPI_BYTE || basic == MPI_PACKED) return basic;
    if (basic == MPI_CHARACTER) return INT8;
    const struct datatype *type = datatype_of(basic);
    const enum element element = type == NULL ? NO_ELEMENT : element_of(type);
    return element == NO_ELEMENT ? basic : (int)element;
}

int class_of_value(const struct datatype *pair) {
    switch (element_of(pair)) {
        case FLOAT_PLACE: return FLOAT;
        case DOUBLE_PLACE: return DOUBLE;
        case LONG_PLACE: return INT64;
        case SHORT_PLACE: return INT16;
        case LONG_DOUBLE_PLACE: return LONG_DOUBLE;
        default: return pair->basic;
    }
}

const char *class_name(int class) {
    static const char *const NAMES[] = {
        [INT8] = "int8",
        [INT16] = "int16",
        [INT32] = "int32",
        [INT64] = "int64",
        [UINT8] = "uint8",
        [UINT16] = "uint16",
        [UINT32] = "uint32",
        [UINT64] = "uint64",
        [FLOAT] = "float",
        [DOUBLE] = "double",
        [LONG_DOUBLE] = "long double",
        [FLOAT_COMPLEX] = "complex float",
        [DOUBLE_COMPLEX] = "complex double",
        [LONG_DOUBLE_COMPLEX] = "complex long double",
        [BOOLEAN] = "bool",
        [BYTES] = NULL,
        [DOUBLE_PAIR] = NULL,
    };
    if (class > 0 && class <= DOUBLE_PAIR && NAMES[class] != NULL) return NAMES[class];
    const struct datatype *type = datatype_of(class);
    return type == NULL ? "elements" : type->name;
}

const char *operation_name(MPI_Op op) {
    static const struct {
        MPI_Op op;
        const char *name;
    } NAMES[] = {{MPI_MAX, "MPI_MAX"},   {MPI_MIN, "MPI_MIN"},       {MPI_SUM, "MPI_SUM"},
                 {MPI_PROD, "MPI_PROD"}, {MPI_LAND, "MPI_LAND"},     {MPI_BAND, "MPI_BAND"},
                 {MPI_LOR, "MPI_LOR"},   {MPI_BOR, "MPI_BOR"},       {MPI_LXOR, "MPI_LXOR"},
                 {MPI_BXOR, "MPI_BXOR"}, {MPI_MINLOC, "MPI_MINLOC"}, {MPI_MAXLOC, "MPI_MAXLOC"}};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (NAMES[i].op == op) return NAMES[i].name;
    return "an operation of the program";
}

#define LOOP(type, expression)                                           \
    {                                                                    \
        const type *l = left;                                            \
        type *r = right;                                                 \
        for (MPI_Count i = 0; i < count; i++) r[i] = (type)(expression); \
        return MPI_SUCCESS;                                              \
    }
#define INTEGERS(expression)                \
    case INT8: LOOP(int8_t, expression)     \
    case INT16: LOOP(int16_t, expression)   \
    case INT32: LOOP(int32_t, expression)   \
    case INT64: LOOP(int64_t, expression)   \
    case UINT8: LOOP(uint8_t, expression)   \
    case UINT16: LOOP(uint16_t, expression) \
    case UINT32: LOOP(uint32_t, expression) \
    case UINT64: LOOP(uint64_t, expression)
#define REALS(expression)                 \
    case FLOAT: LOOP(float, expression)   \
    case DOUBLE: LOOP(double, expression) \
    case LONG_DOUBLE: LOOP(long double, expression)
#define COMPLEXES(expression)                             \
    case FLOAT_COMPLEX: LOOP(float complex, expression)   \
    case DOUBLE_COMPLEX: LOOP(double complex, expression) \
    case LONG_DOUBLE_COMPLEX: LOOP(long double complex, expression)
#define COMBINE(name, cases)                                                                       \
    static int name(const void *left, void *right, MPI_Count count, const struct datatype *type) { \
        switch (element_of(type)) { cases default : return MPI_ERR_OP; }                           \
    }

COMBINE(maximum, INTEGERS(l[i] > r[i] ? l[i] : r[i]) REALS(l[i] > r[i] ? l[i] : r[i]))
COMBINE(minimum, INTEGERS(l[i] < r[i] ? l[i] : r[i]) REALS(l[i] < r[i] ? l[i] : r[i]))
COMBINE(sum, INTEGERS(l[i] + r[i]) REALS(l[i] + r[i]) COMPLEXES(l[i] + r[i]))
COMBINE(product, INTEGERS(l[i] * r[i]) REALS(l[i] * r[i]) COMPLEXES(l[i] * r[i]))
COMBINE(logical_and, INTEGERS(l[i] && r[i]) case BOOLEAN : LOOP(uint8_t, l[i] && r[i]))
COMBINE(logical_or, INTEGERS(l[i] || r[i]) case BOOLEAN : LOOP(uint8_t, l[i] || r[i]))
COMBINE(logical_xor, INTEGERS(!l[i] != !r[i]) case BOOLEAN : LOOP(uint8_t, !l[i] != !r[i]))
COMBINE(bitwise_and, INTEGERS(l[i] & r[i]) case BYTES : LOOP(uint8_t, l[i] & r[i]))
COMBINE(bitwise_or, INTEGERS(l[i] | r[i]) case BYTES : LOOP(uint8_t, l[i] | r[i]))
COMBINE(bitwise_xor, INTEGERS(l[i] ^ r[i]) case BYTES : LOOP(uint8_t, l[i] ^ r[i]))

// Packed pairs of a value and a place.
#define PLACES(value, place_type, better)                              \
    {                                                                  \
        const char *l = left;                                          \
        char *r = right;                                               \
        const size_t step = sizeof(value) + sizeof(place_type);        \
        for (MPI_Count i = 0; i < count; i++, l += step, r += step) {  \
            value a, b;                                                \
            place_type at, bt;                                         \
            memcpy(&a, l, sizeof a);                                   \
            memcpy(&b, r, sizeof b);                                   \
            memcpy(&at, l + sizeof a, sizeof at);                      \
            memcpy(&bt, r + sizeof b, sizeof bt);                      \
            if (a better b || (a == b && at < bt)) memcpy(r, l, step); \
        }                                                              \
        return MPI_SUCCESS;                                            \
    }
#define LOCATIONS(better)                                    \
    case FLOAT_PLACE: PLACES(float, int, better)             \
    case DOUBLE_PLACE: PLACES(double, int, better)           \
    case LONG_PLACE: PLACES(long, int, better)               \
    case SHORT_PLACE: PLACES(short, int, better)             \
    case INT_PLACE: PLACES(int, int, better)                 \
    case LONG_DOUBLE_PLACE: PLACES(long double, int, better) \
    case FLOAT_PAIR: PLACES(float, float, better)            \
    case DOUBLE_PAIR: PLACES(double, double, better)
COMBINE(maximum_place, LOCATIONS(>))
COMBINE(minimum_place, LOCATIONS(<))

static int replace(const void *left, void *right, MPI_Count count, const struct datatype *type) {
    memcpy(right, left, (size_t)volume(count, type));
    return MPI_SUCCESS;
}
static int no_op(const void *left, void *right, MPI_Count count, const struct datatype *type) {
    (void)left, (void)right, (void)count, (void)type;
    return MPI_SUCCESS;
}

void make_basic_operations(void) {
    static struct operation operations[14];
    combine *const functions[] = {
        maximum,    minimum,     sum,         product,       logical_and,   bitwise_and, logical_or,
        bitwise_or, logical_xor, bitwise_xor, minimum_place, maximum_place, replace,     no_op,
    };
    for (int i = 0; i < 14; i++) {
        operations[i] =
            (struct operation){.handle = MPI_MAX + i, .references = 1, .commutes = i != 12, .built_in = functions[i]};
        set_handle(OPERATION, MPI_MAX + i, &operations[i]);
    }
}

bool has_type(const struct operation *operation, const struct datatype *type) {
    char element[64] = {0};
    return operation->built_in == NULL || operation->built_in(element, element, 0, type) == MPI_SUCCESS;
}

int reduce(struct operation *operation, const void *left, void *right, MPI_Count count, struct datatype *type) {
    if (operation->built_in != NULL) {
        const MPI_Count elements = type->is_basic ? 1 : type->elements / datatype_of(type->basic)->elements;
        return operation->built_in(left, right, count * elements, type->is_basic ? type : datatype_of(type->basic));
    }
    // The program's function sees elements as they lie in memory.
    const size_t size = (size_t)(count * type->extent + type->true_extent + 64);
    char *from = allocate_zeroed(2, size), *to = from + size;
    const MPI_Aint shift = type->true_lower < 0 ? -type->true_lower : 0;
    unpack(from + shift, count, type, left, volume(count, type));
    unpack(to + shift, count, type, right, volume(count, type));
    MPI_Datatype handle = type->handle;
    if (operation->function_with_state != NULL) {
        operation->function_with_state(from + shift, to + shift, count, handle, operation->state);
    } else if (operation->large_function != NULL) {
        MPI_Count number = count;
        operation->large_function(from + shift, to + shift, &number, &handle);
    } else {
        int number = (int)count;
        operation->function(from + shift, to + shift, &number, &handle);
    }
    pack(to + shift, count, type, right);
    free(from);
    return MPI_SUCCESS;
}

// ---- those of the program

static int create_operation(struct operation content, MPI_Op *op) {
    struct operation *operation = allocate(sizeof *operation);
    *operation = content;
    *op = operation->handle = new_handle(OPERATION, operation);
    return MPI_SUCCESS;
}

EXPORT int MPI_Op_create(MPI_User_function *user_fn, int commute, MPI_Op *op) {
    return create_operation((struct operation){.references = 1, .commutes = commute != 0, .function = user_fn}, op);
}

EXPORT int MPI_Op_create_c(MPI_User_function_c *user_fn, int commute, MPI_Op *op) {
    return create_operation((struct operation){.references = 1, .commutes = commute != 0, .large_function = user_fn},
                            op);
}

EXPORT int MPIX_Op_create_x(function_with_state *function, destructor *destructor, int commute, void *state,
                            MPI_Op *op) {
    return create_operation((struct operation){.references = 1,
                                               .commutes = commute != 0,
                                               .function_with_state = function,
                                               .destructor = destructor,
                                               .state = state},
                            op);
}

EXPORT int MPI_Op_free(MPI_Op *op) {
    struct operation *operation = operation_of(*op);
    if (operation == NULL || operation->built_in != NULL) return fail_world(MPI_ERR_OP);
    drop_operation(operation);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

EXPORT int MPI_Op_commutative(MPI_Op op, int *commute) {
    const struct operation *operation = operation_of(op);
    if (operation == NULL) return fail_world(MPI_ERR_OP);
    *commute = operation->commutes;
    return MPI_SUCCESS;
}

EXPORT int MPI_Reduce_local_c(const void *inbuf, void *inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op) {
    struct operation *operation = operation_of(op);
    struct datatype *type = datatype_of(datatype);
    if (operation == NULL) return fail_world(MPI_ERR_OP);
    if (type == NULL) return fail_world(MPI_ERR_TYPE);
    if (count < 0) return fail_world(MPI_ERR_COUNT);
    if (!has_type(operation, type)) return fail_world(MPI_ERR_OP);
    if (inbuf == MPI_IN_PLACE || inoutbuf == MPI_IN_PLACE || (inbuf == inoutbuf && count > 0))
        return fail_world(MPI_ERR_BUFFER);
    const size_t bytes = (size_t)volume(count, type) + 1;
    char *left = allocate(2 * bytes), *right = left + bytes;
    pack(inbuf, count, type, left);
    pack(inoutbuf, count, type, right);
    const int error = reduce(operation, left, right, count, type);
    unpack(inoutbuf, count, type, right, volume(count, type));
    free(left);
    return error;
}

// ---- how far results are apart

#define LARGEST_DIFFERENCE(number)                                                                            \
    do {                                                                                                      \
        const number *left_numbers = left, *right_numbers = right;                                            \
        for (MPI_Count i = 0; i < bytes / (MPI_Count)sizeof(number); i++) {                                   \
            const double first = (double)left_numbers[i], second = (double)right_numbers[i];                  \
            const double size = fmax(fabs(first), fabs(second));                                              \
            const double apart = (double)fabsl((long double)left_numbers[i] - (long double)right_numbers[i]); \
            if (size > 0 && apart / size > difference) difference = apart / size;                             \
        }                                                                                                     \
    } while (0)

double difference_of(const void *left, const void *right, MPI_Count count, const struct datatype *type) {
    const MPI_Count bytes = volume(count, type);
    double difference = 0;
    switch (class_of(type->basic)) {
        case FLOAT:
        case FLOAT_COMPLEX: LARGEST_DIFFERENCE(float); break;
        case DOUBLE:
        case DOUBLE_COMPLEX: LARGEST_DIFFERENCE(double); break;
        case LONG_DOUBLE:
        case LONG_DOUBLE_COMPLEX: LARGEST_DIFFERENCE(long double); break;
        default: break;
    }
    return difference;
}
