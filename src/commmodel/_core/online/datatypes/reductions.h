// Reduction operations.
#pragma once

#include "online/datatypes/datatypes.h"

struct operation;
struct operation *operation_of(MPI_Op handle);
struct operation *keep_operation(MPI_Op handle);
void drop_operation(struct operation *operation);
void make_basic_operations(void);
bool has_type(const struct operation *operation, const struct datatype *type);
bool is_commutative(const struct operation *operation);
bool is_built_in(MPI_Op handle);
// right := left op right, for packed elements; MPI_ERR_OP if the operation does not support the type.
int reduce(struct operation *operation, const void *left, void *right, MPI_Count count, struct datatype *type);
