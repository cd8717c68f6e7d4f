// Attributes: values that a program keeps with communicators, datatypes and windows.
#include "online/objects/attributes.h"

#include "online/objects/communicators.h"
#include "online/objects/families.h"
#include "online/runtime/allocation.h"
#include "online/runtime/turns.h"

struct attribute {
    struct attribute *next;
    int keyval;
    enum value_type type;
    void *value;
};

// Functions of MPICH's Fortran bindings, which call the program's function in their language.
typedef int copy_proxy(attribute_copier *, int, int, void *, enum value_type, void *, void **, int *);
typedef int delete_proxy(attribute_deleter *, int, int, enum value_type, void *, void *);

struct keyval {
    enum kind kind;
    attribute_copier *copy;
    attribute_deleter *delete;
    copy_proxy *copy_proxy;
    delete_proxy *delete_proxy;
    void *state;
    int references;
    bool is_freed;
};

static int duplicate_value(int object, int keyval, void *state, void *value, void *copy, int *flag) {
    (void)object, (void)keyval, (void)state;
    *(void **)copy = value;
    *flag = 1;
    return MPI_SUCCESS;
}
EXPORT int MPIR_Dup_fn(MPI_Comm comm, int keyval, void *state, void *value, void *copy, int *flag) {
    return duplicate_value(comm, keyval, state, value, copy, flag);
}

static void drop(int handle, struct keyval *keyval) {
    if (--keyval->references > 0) return;
    drop_handle(KEYVAL, handle);
    free(keyval);
}

int create_keyval(enum kind kind, attribute_copier *copy, attribute_deleter *delete, int *handle, void *state) {
    struct keyval *keyval = allocate(sizeof *keyval);
    *keyval = (struct keyval){kind, copy, delete, NULL, NULL, state, 1, false};
    *handle = new_handle(KEYVAL, keyval);
    return MPI_SUCCESS;
}

// Called by MPICH's Fortran bindings when they have made a keyval.
EXPORT void MPII_Keyval_set_proxy(int handle, copy_proxy *copy, delete_proxy *delete) {
    struct keyval *keyval = object_of(KEYVAL, handle);
    if (keyval == NULL) return;
    keyval->copy_proxy = copy;
    keyval->delete_proxy = delete;
}

// NULL where it is not of that kind of objects.
static struct keyval *keyval_of(enum kind kind, int handle) {
    struct keyval *keyval = object_of(KEYVAL, handle);
    return keyval != NULL && keyval->kind == kind ? keyval : NULL;
}

int free_keyval(enum kind kind, int *handle) {
    struct keyval *keyval = keyval_of(kind, *handle);
    if (keyval == NULL) return fail_world(MPI_ERR_KEYVAL);
    if (!keyval->is_freed) {  // a callback may free it, too; attributes still hold it
        keyval->is_freed = true;
        drop(*handle, keyval);
    }
    *handle = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

static int call_copy(int from, const struct keyval *keyval, const struct attribute *attribute, void **copy, int *flag) {
    if (keyval->copy_proxy != NULL)
        return keyval->copy_proxy(keyval->copy, from, attribute->keyval, keyval->state, attribute->type,
                                  attribute->value, copy, flag);
    return keyval->copy(from, attribute->keyval, keyval->state, attribute->value, copy, flag);
}

static int call_delete(int from, const struct keyval *keyval, const struct attribute *attribute) {
    if (keyval->delete == NULL) return MPI_SUCCESS;
    if (keyval->delete_proxy != NULL)
        return keyval->delete_proxy(keyval->delete, from, attribute->keyval, attribute->type, attribute->value,
                                    keyval->state);
    return keyval->delete(from, attribute->keyval, attribute->value, keyval->state);
}

int copy_attributes(int from, struct attribute *attributes, struct attribute **copies) {
    *copies = NULL;
    struct attribute **end = copies;
    for (; attributes != NULL; attributes = attributes->next) {
        struct keyval *keyval = object_of(KEYVAL, attributes->keyval);
        if (keyval->copy == NULL) continue;
        void *copy = NULL;
        int flag = 0;
        const int error = call_copy(from, keyval, attributes, &copy, &flag);
        if (error != MPI_SUCCESS) return error;
        if (!flag) continue;
        *end = allocate(sizeof **end);
        **end = (struct attribute){NULL, attributes->keyval, attributes->type, copy};
        keyval->references++;
        end = &(*end)->next;
    }
    return MPI_SUCCESS;
}

static int delete_first(int from, struct attribute **link) {
    struct attribute *attribute = *link;
    struct keyval *keyval = object_of(KEYVAL, attribute->keyval);
    const int error = call_delete(from, keyval, attribute);
    if (error != MPI_SUCCESS) return error;
    *link = attribute->next;
    drop(attribute->keyval, keyval);
    free(attribute);
    return MPI_SUCCESS;
}

int delete_attributes(int from, struct attribute **attributes) {
    while (*attributes != NULL) {
        const int error = delete_first(from, attributes);
        if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
}

static struct attribute **find(struct attribute **attributes, int keyval) {
    while (*attributes != NULL && (*attributes)->keyval != keyval) attributes = &(*attributes)->next;
    return attributes;
}

int set_attribute(enum kind kind, int object, struct attribute **attributes, int handle, void *value,
                  enum value_type type) {
    struct keyval *keyval = keyval_of(kind, handle);
    if (keyval == NULL) return MPI_ERR_KEYVAL;
    struct attribute **link = find(attributes, handle);
    if (*link != NULL) {
        const int error = call_delete(object, keyval, *link);
        if (error != MPI_SUCCESS) return error;
        (*link)->value = value;
        (*link)->type = type;
        return MPI_SUCCESS;
    }
    struct attribute *attribute = allocate(sizeof *attribute);
    *attribute = (struct attribute){*attributes, handle, type, value};
    *attributes = attribute;
    keyval->references++;
    return MPI_SUCCESS;
}

// C gets the address of an integer that Fortran has set; Fortran gets the value of a pointer that C has set.
int get_attribute(enum kind kind, struct attribute **attributes, int handle, void *value, int *flag,
                  enum value_type type) {
    if (keyval_of(kind, handle) == NULL) return MPI_ERR_KEYVAL;
    struct attribute *attribute = *find(attributes, handle);
    *flag = attribute != NULL;
    if (attribute == NULL) return MPI_SUCCESS;
    *(void **)value = type == POINTER && attribute->type != POINTER ? &attribute->value : attribute->value;
    return MPI_SUCCESS;
}

int delete_attribute(enum kind kind, int object, struct attribute **attributes, int handle) {
    if (keyval_of(kind, handle) == NULL) return MPI_ERR_KEYVAL;
    struct attribute **link = find(attributes, handle);
    return *link == NULL ? MPI_ERR_KEYVAL : delete_first(object, link);
}

// ---- of communicators

static bool find_predefined(const struct communicator *communicator, int keyval, void *value, int *flag,
                            enum value_type type) {
    (void)communicator;
    static int tag_limit = LARGEST_TAG, host = MPI_PROC_NULL, input = MPI_ANY_SOURCE, global = 1;
    static int universe, program_number, last;
    int *number = NULL;
    *flag = 1;
    switch (type == POINTER ? keyval : keyval - 1) {  // Fortran's numbers are the next ones
        case MPI_TAG_UB: number = &tag_limit; break;
        case MPI_HOST: number = &host; break;
        case MPI_IO: number = &input; break;
        case MPI_WTIME_IS_GLOBAL: number = &global; break;
        case MPI_UNIVERSE_SIZE: universe = world->ranks, number = &universe; break;
        case MPI_APPNUM: program_number = this_rank->program_number, number = &program_number; break;
        case MPI_LASTUSEDCODE: last = last_used_code(), number = &last; break;
        default: return false;
    }
    *(void **)value = type == POINTER ? (void *)number : (void *)(intptr_t)*number;
    return true;
}

ATTRIBUTE_FUNCTIONS(Comm, MPI_Comm, COMMUNICATOR, communicator, communicator_of, fail_world(MPI_ERR_COMM),
                    find_predefined, fail)
