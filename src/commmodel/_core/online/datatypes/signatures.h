// Type signatures: the basic types of a datatype's elements in their order, for checked runs.
#pragma once

#include "online/datatypes/datatypes.h"

struct content {         // of a message, or of what a rank gives to a collective
    uint64_t signature;  // in shared memory; 0: not known
    MPI_Count repeats;
};

struct content content_of(MPI_Count count, const struct datatype *type);
// Whether what is sent may be received as something; it may be less where `may_be_less`. Bytes are of any type.
bool is_alike(struct content sent, struct content received, bool may_be_less);
// Offset, class and size of the first basic elements of a datatype; false where they are not known.
bool describe_elements(const struct datatype *type, char *words, size_t size);
void describe_content(struct content content, char *words, size_t size);
void add_signature(struct datatype *type, MPI_Count count, const struct datatype *element);  // behind its others
