// An MPI library whose calls are simulated: what its parts share. The data of calls really move, by shared memory; their
// times are those of operations that each call adds to its rank's ring (turns.c).
#pragma once

#include <mpi.h>  // of MPICH 4.0 or newer
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "additions.h"
#include "common/codes.h"
#include "shared.h"

#define EXPORT __attribute__((visibility("protected")))      // functions: our own calls of them stay within
#define WEAK __attribute__((weak, visibility("protected")))  // another definition replaces it
#define EXPORT_DATA __attribute__((visibility("default")))   // its address is that of a program's copy
#define NONE (-1)

// ---- turns.c: this process as a rank

enum code { OPERATION_CODES };

extern struct online_world *world;
extern struct online_rank *me;
extern int my_rank;
extern const char *call_name;  // current or last MPI function

void attach(void);
bool is_attached(void);
_Noreturn void missing(const char *name);
_Noreturn void abort_all(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void enter(const char *name);  // a call that takes simulated time begins
void leave(void);
void act(int code, int peer, int tag, int request, double value);
void act_collective(int tag, uint64_t call);
void define_communicator(uint64_t call);
void begin_batch(void);    // following operations belong to one non-blocking collective
uint64_t end_batch(void);  // its operations, 0 where there are none
bool is_batch_over(uint64_t batch);
void wait_for_batch(uint64_t batch);
void progress(void);  // begin what is pending
void yield(void);     // until the simulator has carried out all operations so far, or what is awaited has come
void pass_turn(void);
void make_ready(int rank);  // a rank gets what it waits for
bool is_ahead(void);        // of the simulator, which has yet to carry out operations
void serve(void);           // memory.c: do another rank's task
double processor_seconds(void);
static inline bool is_measured(void) { return world->compute_factor > 0.0 && world->recorded_names == 0; }
void charge(void);                    // computation since the last call
void charge_seconds(double seconds);  // of this machine
void restart_clock(void);             // what has been computed so far is charged already
void before_poll(void);               // a question whether something has happened
void after_poll(bool found);
double now(void);
void ask_done(int count, const int *names, bool *done);  // which requests are complete now
struct call {                                            // of MPI, that a thread is in
    const char *name;
    uint64_t place;
};
struct call current_call(void);
void set_call(struct call call);

// ---- threads.c

void allow_threads(bool are_allowed);  // to call MPI at once
void note_thread(void);
bool has_threads(void);  // that may call MPI at once
void note_change(void);  // in the rank's operations, for which a thread may wait
void take_turn(void);    // of the threads of a rank
void leave_turn(void);
void await_change(double seconds);  // until something has happened for which this rank may wait; then ask again

// ---- places.c

void prepare_places(void);
uint64_t call_place(const char *call);  // of the call of MPI that the program is in

// ---- clocks.c

void look_for_blas(void);

// ---- footprint.c

void note_memory(void);

// ---- recorded.c

void charge_recorded(const char *call);  // the computation before a call

// ---- samples.c

void check_outside_sample(const char *call);

// ---- handles.c: objects by the numbers that programs have of them

enum kind {
    COMMUNICATOR,
    GROUP,
    DATATYPE,
    OPERATION,
    ERRHANDLER,
    REQUEST,
    INFO,
    KEYVAL,
    MESSAGE,
    WINDOW,
    SESSION,
    FILES,
    KINDS
};

int new_handle(enum kind kind, void *object);
void *object_of(enum kind kind, int handle);  // NULL where there is none
void drop_handle(enum kind kind, int handle);
void set_handle(enum kind kind, int handle, void *object);  // of an object that exists from the beginning
void *next_object(enum kind kind, int *index);              // from index 0 on; NULL behind the last one

// ---- errors.c

struct communicator;
int fail(struct communicator *communicator, int error);  // calls the error handler; returns the error
int fail_world(int error);
int handle_error(int object, MPI_Errhandler handler, int error);  // of a communicator, window or session
int call_file_errhandler(MPI_File *file, MPI_Errhandler handler, int error);
int last_used_code(void);
void free_errhandler(MPI_Errhandler handler);
void keep_errhandler(MPI_Errhandler handler);

// ---- groups.c

struct group {
    int size, references;
    int ranks[];  // of the whole program
};

struct group *new_group(int size);
struct group *keep_group(struct group *group);
void drop_group(struct group *group);
int rank_in(const struct group *group, int rank);  // NONE where it is no member
MPI_Group group_handle(struct group *group);
struct group *group_of(MPI_Group handle);

// ---- communicators.c

struct topology;
struct attribute;
struct buffer;

struct communicator {
    MPI_Comm handle;
    int context, number, rank, references;
    struct group *group, *remote;  // remote: of an intercommunicator
    uint32_t collectives;          // calls so far, blocking ones
    uint32_t requested;            // the others
    bool defined;                  // whether the simulator knows its ranks
    bool is_of_session;            // made of a group
    struct topology *topology;
    struct attribute *attributes;
    struct buffer *buffer;  // attached, NULL where there is none
    MPI_Errhandler errhandler;
    MPI_Info info;
    char name[MPI_MAX_OBJECT_NAME];
};

struct communicator *communicator_of(MPI_Comm handle);
struct communicator *new_communicator(struct group *group, struct group *remote, int context, int number);
void keep_communicator(struct communicator *communicator);
void drop_communicator(struct communicator *communicator);
void make_first_communicators(void);
static inline int size_of(const struct communicator *communicator) { return communicator->group->size; }
static inline const struct group *peers(const struct communicator *communicator) {
    return communicator->remote ? communicator->remote : communicator->group;
}
int peers_of(MPI_Comm comm);
int size_of_communicator(MPI_Comm comm);
int peers_at_root(MPI_Comm comm, int root);
int in_degree_of(MPI_Comm comm);
int out_degree_of(MPI_Comm comm);
MPI_Count *widened_counts(const int *narrow, int length);
MPI_Aint *widened_displacements(const int *narrow, int length);
int narrowed(MPI_Count wide);

// ---- datatypes.c, constructors.c, packing.c

enum form { SAME, PAIR_OF_SAME, SIGNED_LONG, UNSIGNED_LONG, WIDE_CHARACTER, QUADRUPLE };  // in external32

struct run {  // bytes that lie together, once or several times
    MPI_Aint offset;
    MPI_Count length, repeats;
    MPI_Aint stride;  // from one to the next
    int unit;         // bytes of a basic element
    enum form form;
};

struct datatype {
    MPI_Datatype handle;
    int references;
    int alignment;
    bool is_basic, is_committed, marks_lower, marks_upper;  // marks: the bounds hold whatever lies beyond them
    MPI_Count size, extent, lower, true_lower, true_extent, elements;  // elements: basic ones in it
    MPI_Count run_count;
    struct run *runs;
    MPI_Datatype basic;  // of all elements, MPI_DATATYPE_NULL where they differ
    struct contents *contents;
    struct attribute *attributes;
    char name[MPI_MAX_OBJECT_NAME];
};

struct contents *new_contents(int combiner, MPI_Count numbers, const MPI_Count *number, MPI_Count places,
                              const MPI_Count *place, MPI_Count types, const MPI_Datatype *type);
void free_contents(struct contents *contents);
struct datatype *datatype_of(MPI_Datatype handle);
void keep_datatype(struct datatype *type);
void drop_datatype(struct datatype *type);
void make_basic_datatypes(void);
static inline MPI_Count volume(MPI_Count count, const struct datatype *type) { return count * type->size; }
// Copy at most `most` bytes of elements in `buffer`; returns how many were copied.
MPI_Count pack(const void *buffer, MPI_Count count, const struct datatype *type, void *packed);
MPI_Count elements_in(const struct datatype *type, MPI_Count bytes);
MPI_Count bytes_in_elements(const struct datatype *type, MPI_Count elements);
static inline bool is_dense(const struct datatype *type) {
    return type->run_count == 1 && type->runs[0].repeats == 1 && type->runs[0].length == type->extent;
}
MPI_Count unpack(void *buffer, MPI_Count count, const struct datatype *type, const void *packed, MPI_Count bytes);

// ---- reductions.c

struct operation;
struct operation *operation_of(MPI_Op handle);
struct operation *keep_operation(MPI_Op handle);
void drop_operation(struct operation *operation);
void make_basic_operations(void);
bool has_type(const struct operation *operation, const struct datatype *type);
bool is_commutative(const struct operation *operation);
bool is_built_in(MPI_Op handle);
// right := left op right, for packed elements; an error where the operation has not that type.
int reduce(struct operation *operation, const void *left, void *right, MPI_Count count, struct datatype *type);

// ---- requests.c

enum request_kind {
    IS_SEND,
    IS_RECEIVE,
    IS_COLLECTIVE,
    IS_DONE,
    IS_GENERALIZED,
    IS_EXCHANGE,
};

struct collective;
struct request {
    MPI_Request handle;
    enum request_kind kind;
    bool is_persistent, is_active, is_cancelled, is_freed;
    bool is_blocking;  // a receive whose call waits for it: the rank posts no other one meanwhile
    int name;          // to the simulator; NONE where it is not concerned
    struct communicator *communicator;
    struct datatype *type;
    void *buffer;
    MPI_Count count;
    uint64_t receive;  // in shared memory, of a receive whose message is found by ourselves
    uint64_t message;  // got by a receive
    uint64_t taken;    // of a synchronous send: a number in shared memory, not 0 once it is received
    bool is_synchronous, is_buffered;
    int peer, tag;  // as the program gave them
    int error;
    MPI_Status status;
    struct collective *collective;
    struct request **parts;  // of an exchange; the status is the first one's
    int part_count;
    struct generalized *generalized;
    bool is_partitioned, is_shown;  // shown: the data have been taken before the wait
    int partitions, ready_count, program_tag;
    char *ready;           // of each partition
    struct request *next;  // among those that wait for a report
};

struct request *new_request(enum request_kind kind, struct communicator *communicator);
struct request *request_of(MPI_Request handle);
void free_request(struct request *request);
int next_name(void);
int finish_request(struct request *request, MPI_Status *status);  // that is complete
int wait_for(struct request *request, MPI_Status *status);
void show_data(struct request *request);  // of a receive that is complete
bool is_generalized_done(const struct request *request);
int finish_generalized(struct request *request, MPI_Status *status);
int cancel_generalized(struct request *request);
void empty_status(MPI_Status *status);
void set_status(MPI_Status *status, int source, int tag, MPI_Count bytes);

// ---- messages.c: messages and receives in shared memory

struct message {
    uint64_t next;
    MPI_Count bytes;
    int source, tag;  // source: rank of the whole program; tag: with the context
    uint64_t taken;   // as of the request
    uint64_t number;  // among those of its source
    char data[];
};

int wide_tag(const struct communicator *communicator, int tag);  // as the simulator knows it
int world_rank(const struct communicator *communicator, int peer);
void post_message(struct communicator *communicator, int dest, int tag, const void *buffer, MPI_Count count,
                  const struct datatype *type, uint64_t taken);
void post_receive(struct request *request, int source, int tag);
bool has_message(struct request *request);
void expect_message(const struct request *request);
uint64_t first_message(int source, int tag);  // 0 where there is none
uint64_t take_message(int source, int tag);
void take_reports(void);
void forget_receive(struct request *request);

// ---- point_to_point.c

int check_message(struct communicator *communicator, int peer, int tag, MPI_Count count, struct datatype *type,
                  bool receives);
int start_send(struct request *request);
int start_receive(struct request *request);
bool withdraw_receive(struct request *request);

int start_partitioned(struct request *request);

// ---- buffers.c

int take_room(struct communicator *communicator, MPI_Count bytes,
              int name);  // for a send; an error where there is none
void flush_buffers(void);
void drop_buffer(struct communicator *communicator);

// ---- environment.c

void prepare_library(void);    // before any other call
void end_without_world(void);  // after the last session, where MPI_Init has not been called

// ---- collectives

struct call;  // exchange.c: of one collective
int begin_persistent(struct request *request);
int start_neighbors(struct request *request);
int finish_collective(struct request *request);
void act_collectives(int count, const MPI_Request handles[]);  // in an order that ranks share, before they complete
bool is_collective_over(const struct request *request);        // in simulated time
bool is_collective_ready(const struct request *request);       // and its data are there
void free_collective(struct collective *collective);

// ---- attributes.c

int copy_attributes(enum kind kind, int from, struct attribute *attributes, struct attribute **copies);
int delete_attributes(enum kind kind, int from, struct attribute **attributes);
enum value_type { POINTER = 0, ADDRESS_SIZED = 1, INTEGER = 3 };  // MPICH's; the last two are numbers of Fortran
int set_attribute(int of, struct attribute **attributes, int keyval, void *value, enum value_type type);
int get_attribute(struct attribute **attributes, int keyval, void *value, int *flag, enum value_type type);
int delete_attribute(int of, struct attribute **attributes, int keyval);

// ---- info.c, topologies.c

MPI_Info new_info(void);
MPI_Info copy_info(MPI_Info info);
MPI_Info copy_hints(MPI_Info info);
void free_info(MPI_Info *info);
struct topology *keep_topology(struct topology *topology);
void drop_topology(struct topology *topology);
