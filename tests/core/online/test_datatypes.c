// Datatypes and packing: links the files of datatypes/ that make and pack types, and handles.
#include "check.h"
#include "online/datatypes/datatypes.h"

struct communicator *communicator_of(MPI_Comm handle) {
    (void)handle;
    return NULL;
}
int fail_world(int error) { return error; }
void explain_error(const char *format, ...) { (void)format; }
int copy_attributes(int object, struct attribute *attributes, struct attribute **copies) {
    (void)object, (void)attributes;
    *copies = NULL;
    return MPI_SUCCESS;
}
int delete_attributes(int object, struct attribute **attributes) {
    (void)object, (void)attributes;
    return MPI_SUCCESS;
}

static MPI_Datatype commit(MPI_Datatype type) {
    CHECK(MPI_Type_commit(&type) == MPI_SUCCESS);
    return type;
}

int main(void) {
    make_basic_datatypes();
    int grid[12], packed[12], copy[12];
    for (int i = 0; i < 12; i++) grid[i] = i;
    // A column of a matrix of 3 rows and 4 columns.
    MPI_Datatype column;
    CHECK(MPI_Type_vector_c(3, 1, 4, MPI_INT, &column) == MPI_SUCCESS);
    const struct datatype *type = datatype_of(commit(column));
    CHECK(type->size == 12 && type->extent == 9 * (MPI_Count)sizeof(int) && type->elements == 3);
    CHECK(type->run_count == 1 && !is_dense(type));
    CHECK(pack(grid + 1, 1, type, packed) == 12);
    CHECK(packed[0] == 1 && packed[1] == 5 && packed[2] == 9);
    memset(copy, 0, sizeof copy);
    CHECK(unpack(copy + 1, 1, type, packed, 12) == 12);
    CHECK(copy[1] == 1 && copy[5] == 5 && copy[9] == 9 && copy[0] == 0 && copy[2] == 0);
    // A message that is too short fills what it can.
    memset(copy, 0, sizeof copy);
    CHECK(unpack(copy + 1, 1, type, packed, 8) == 8);
    CHECK(copy[5] == 5 && copy[9] == 0);
    CHECK(elements_in(type, 8) == 2);
    // Contiguous elements are one dense run.
    MPI_Datatype row;
    CHECK(MPI_Type_contiguous_c(4, MPI_INT, &row) == MPI_SUCCESS);
    CHECK(is_dense(datatype_of(row)) && datatype_of(row)->basic == MPI_INT);
    // A subarray: rows 1 and 2, columns 2 and 3.
    MPI_Datatype corner;
    const MPI_Count sizes[] = {3, 4}, lengths[] = {2, 2}, starts[] = {1, 2};
    CHECK(MPI_Type_create_subarray_c(2, sizes, lengths, starts, MPI_ORDER_C, MPI_INT, &corner) == MPI_SUCCESS);
    CHECK(pack(grid, 1, datatype_of(corner), packed) == 16);
    CHECK(packed[0] == 6 && packed[1] == 7 && packed[2] == 10 && packed[3] == 11);
    CHECK(datatype_of(corner)->extent == 12 * (MPI_Count)sizeof(int));
    // Errors.
    CHECK(MPI_Type_contiguous_c(-1, MPI_INT, &row) != MPI_SUCCESS);
    CHECK(datatype_of(MPI_DATATYPE_NULL) == NULL);
    // A type outlives its handle as long as it is used.
    keep_datatype(datatype_of(corner));
    struct datatype *kept = datatype_of(corner);
    CHECK(MPI_Type_free(&corner) == MPI_SUCCESS && corner == MPI_DATATYPE_NULL);
    CHECK(kept->size == 16);
    drop_datatype(kept);
    return 0;
}
