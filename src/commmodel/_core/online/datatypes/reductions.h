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
// Kinds of basic types: those that are represented alike are one.
int class_of(MPI_Datatype basic);
int class_of_value(const struct datatype *pair);  // of a value and its place
const char *class_name(int class);
const char *operation_name(MPI_Op op);
// right := left op right, for packed elements; MPI_ERR_OP if the operation does not support the type.
int reduce(struct operation *operation, const void *left, void *right, MPI_Count count, struct datatype *type);
// How far two packed results are apart, as a share of the larger number; 0 where they hold no floating-point numbers.
double difference_of(const void *left, const void *right, MPI_Count count, const struct datatype *type);
