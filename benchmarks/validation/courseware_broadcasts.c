/* The broadcasts of SMPI CourseWare as its text describes them; included in the middle of its `main`. */
const char *name = bcast_implementation_name;
const int last = num_procs - 1, tag = 0;
const int is_naive = !strcmp(name, "naive_bcast"), is_ring = !strcmp(name, "ring_bcast");
const int is_pipeline = !strcmp(name, "pipelined_ring_bcast");
const int is_tree = !strcmp(name, "asynchronous_pipelined_bintree_bcast");

if (!strcmp(name, "default_bcast")) {
    MPI_Bcast(buffer, NUM_BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
} else if (is_naive && rank == 0) {
    for (int to = 1; to < num_procs; to++) MPI_Send(buffer, NUM_BYTES, MPI_CHAR, to, tag, MPI_COMM_WORLD);
} else if (is_naive) {
    MPI_Recv(buffer, NUM_BYTES, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
} else {
    const int piece = is_ring ? NUM_BYTES : chunk_size;
    const int parent = is_tree ? (rank - 1) / 2 : rank - 1;
    const int first = is_tree ? 2 * rank + 1 : rank + 1, width = is_tree ? 2 : 1;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (int start = 0; start < NUM_BYTES; start += piece) {
        const int count = NUM_BYTES - start < piece ? NUM_BYTES - start : piece;
        if (rank != 0) MPI_Recv(buffer + start, count, MPI_CHAR, parent, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int child = first; child < first + width && child <= last; child++) {
            MPI_Request *request = &requests[child - first];
            if (is_ring || is_pipeline) {
                MPI_Send(buffer + start, count, MPI_CHAR, child, tag, MPI_COMM_WORLD);
                continue;
            }
            MPI_Wait(request, MPI_STATUS_IGNORE);
            MPI_Isend(buffer + start, count, MPI_CHAR, child, tag, MPI_COMM_WORLD, request);
        }
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
