// MPI_Init, MPI_Finalize, MPI_Wtime, and queries of host, version and threads.
#include "online/world/environment.h"

#include "online/collectives/exchange.h"
#include "online/datatypes/reductions.h"
#include "online/messages/buffers.h"
#include "online/messages/messages.h"
#include "online/messages/requests.h"
#include "online/objects/attributes.h"
#include "online/objects/info.h"
#include "online/one_sided/windows.h"
#include "online/runtime/calls.h"
#include "online/runtime/charges.h"
#include "online/runtime/findings.h"
#include "online/messages/watches.h"
#include "online/runtime/notes.h"
#include "online/runtime/threads.h"
#include "online/world/fork_server.h"

static bool is_initialized, is_finalized;
static bool is_over;  // all sessions are, without MPI_Init: unless another one begins
static int thread_level = MPI_THREAD_SINGLE;
static double epoch;

static void finish(void) {
    note_memory();
    this_rank->state = ONLINE_FINALIZED;
    pass_turn();  // to the simulator in the end, which waits for the end of this process
}

void prepare_library(void) {
    is_over = false;
    if (is_attached()) {
        if (this_rank->state == ONLINE_FINALIZED)
            abort_all(1, "rank %d initialises MPI again after MPI_Finalize", my_rank);
        return;
    }
    make_basic_datatypes();
    make_basic_operations();
    become_rank();
    turn_hooks = (struct turn_hooks){take_reports, serve};
    attach();
    refuse_other_libraries();
    make_first_communicators();
    go_outside();
}

void end_without_world(void) { is_over = !is_initialized; }

// An interpreter that ends without `exit` calls it.
EXPORT void commmodel_end_sessions(void) {
    if (!is_over || is_copy()) return;
    is_over = false;
    come_inside();
    finish();
}

__attribute__((destructor)) static void end_with_process(void) { commmodel_end_sessions(); }

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    (void)argc;
    (void)argv;
    if (is_initialized) abort_all(1, "rank %d calls MPI_Init twice", my_rank);
    prepare_library();
    is_initialized = true;
    thread_level = required;
    allow_threads(required);
    if (provided != NULL) *provided = required;
    epoch = 0.0;
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Init(int *argc, char ***argv) { return MPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, NULL); }

EXPORT int MPI_Initialized(int *flag) {
    *flag = is_initialized;
    return MPI_SUCCESS;
}

EXPORT int MPI_Finalized(int *flag) {
    *flag = is_finalized;
    return MPI_SUCCESS;
}

static bool is_last(void) {
    for (int rank = 0; rank < world->ranks; rank++)
        if (rank != my_rank && world->rank[rank].state != ONLINE_FINALIZED) return false;
    return true;
}

// What the attributes of a communicator hold that was never freed, as mpi4py's do a duplicate of it, is no leak of its own.
static void delete_leaked_attributes(void) {
    struct communicator *communicator;
    for (int index = 0; is_checked() && (communicator = next_object(COMMUNICATOR, &index)) != NULL;)
        delete_attributes(communicator->handle, &communicator->attributes);
}

EXPORT int MPI_Finalize(void) {
    enter("MPI_Finalize");
    if (is_any_waiting()) abort_all(1, "rank %d calls MPI_Finalize while another thread of it waits in MPI", my_rank);
    if (!is_main_thread())
        accuse("wrong thread", "MPI_Finalize is called by another thread than the one that has initialised MPI");
    delete_attributes(MPI_COMM_SELF, &communicator_of(MPI_COMM_SELF)->attributes);
    flush_buffers();
    end_watches();
    delete_leaked_attributes();
    note_open_requests();
    if (is_last()) accuse_missing_collectives();
    is_finalized = true;
    if (my_rank == 0) look_for_blas();
    finish();
    forget_first_communicators();
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Query_thread(int *provided) {
    note_early_call("MPI_Query_thread");
    *provided = thread_level;
    return MPI_SUCCESS;
}

EXPORT int MPI_Is_thread_main(int *flag) {
    note_early_call("MPI_Is_thread_main");
    *flag = is_main_thread();
    return MPI_SUCCESS;
}

EXPORT int MPI_Abort(MPI_Comm comm, int errorcode) {
    (void)comm;
    if (!is_attached()) exit(errorcode);
    abort_all(errorcode, "rank %d called MPI_Abort with code %d", my_rank, errorcode);
}

EXPORT double MPI_Wtime(void) {
    if (!is_initialized || is_finalized) return 0.0;
    enter("MPI_Wtime");
    const double time = now();
    leave();
    return time - epoch;
}

EXPORT double MPI_Wtick(void) { return 1e-9; }

EXPORT int MPI_Get_processor_name(char *name, int *length) {
    if (!is_attached()) check_process("MPI_Get_processor_name");
    *length = snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s", this_rank->host);
    return MPI_SUCCESS;
}

EXPORT int MPI_Get_version(int *version, int *subversion) {
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

EXPORT int MPI_Get_library_version(char *version, int *length) {
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "commmodel, a simulation with the ABI of MPICH");
    return MPI_SUCCESS;
}

EXPORT int MPI_Pcontrol(const int level, ...) {
    (void)level;
    return MPI_SUCCESS;
}
EXPORT int PMPI_Pcontrol(const int level, ...) {
    (void)level;
    return MPI_SUCCESS;
}

EXPORT int MPI_Get_hw_resource_info(MPI_Info *info) {
    *info = new_info();
    return MPI_SUCCESS;
}
