// Ranks that others spawn: spare ones of the run, which begin when they are called.
#include <limits.h>
#include <unistd.h>

#include "online/collectives/exchange.h"
#include "online/objects/communicators.h"
#include "online/objects/handles.h"
#include "online/runtime/allocation.h"
#include "online/runtime/calls.h"
#include "online/runtime/turns.h"

struct program {  // that spawned ranks run
    const char *command;
    char **arguments;
    int most;
    MPI_Info info;
};

struct birth {  // what the root tells the others
    int error, first, count, context, total;
};

static bool is_executable(const char *command) {
    if (strchr(command, '/') != NULL) return access(command, X_OK) == 0;
    char *const folders = copy_text(getenv("PATH") != NULL ? getenv("PATH") : "");
    bool is_there = false;
    char *rest = folders;
    for (char *folder; !is_there && (folder = strsep(&rest, ":")) != NULL;) {
        char *const path = format_text("%s/%s", *folder ? folder : ".", command);
        is_there = access(path, X_OK) == 0;
        free(path);
    }
    free(folders);
    return is_there;
}

// Whether fewer ranks than asked for will do.
static bool is_soft(MPI_Info info) {
    char value[8];
    int is_there = 0;
    if (info != MPI_INFO_NULL) MPI_Info_get(info, "soft", sizeof value - 1, value, &is_there);
    return is_there;
}

static uint64_t command_of(const struct program *program) {
    char folder[PATH_MAX] = "";
    int is_there = 0;
    if (program->info != MPI_INFO_NULL) MPI_Info_get(program->info, "wdir", PATH_MAX - 1, folder, &is_there);
    size_t length = strlen(folder) + strlen(program->command) + 2;
    for (char **word = program->arguments; word != NULL && *word != NULL; word++) length += strlen(*word) + 1;
    const uint64_t offset = allocate_shared(sizeof(struct online_command) + length, "a command");
    struct online_command *command = online_at(world, offset);
    command->length = (int64_t)length;
    char *to = command->words;
    to = stpcpy(to, folder) + 1;
    to = stpcpy(to, program->command) + 1;
    for (char **word = program->arguments; word != NULL && *word != NULL; word++) to = stpcpy(to, *word) + 1;
    return offset;
}

// Reserve spare ranks, one after the other, for all programs.
static struct birth reserve(int count, const struct program *programs) {
    struct birth birth = {.error = MPI_SUCCESS, .first = world->first_ranks};
    bool has_soft = false;
    for (int i = 0; i < count; i++) {
        if (programs[i].most < 0) birth.error = MPI_ERR_ARG;
        if (birth.error == MPI_SUCCESS && !is_executable(programs[i].command)) {
            birth.error = MPI_ERR_SPAWN;
            explain_error(": %s: no such program", programs[i].command);
        }
        has_soft |= is_soft(programs[i].info);
        birth.total += programs[i].most;
    }
    if (birth.error != MPI_SUCCESS) return birth;
    while (birth.first < world->ranks && world->rank[birth.first].state != ONLINE_SPARE) birth.first++;
    const int room = world->ranks - birth.first;
    birth.count = birth.total;
    if (room < birth.total && has_soft && count == 1 && room > 0) birth.count = room;
    if (room < birth.count) {
        birth.error = MPI_ERR_SPAWN;
        explain_error(": %d ranks are to be spawned, %d are left: give --universe %d", birth.total, room,
                      birth.first + birth.total);
        return birth;
    }
    birth.context = new_context(birth.count);
    if (birth.context == NONE) birth.error = MPI_ERR_OTHER;
    for (int i = 0; birth.error == MPI_SUCCESS && i < birth.count; i++)
        world->rank[birth.first + i].state = ONLINE_ABORTED;  // until it begins, that of nobody else
    return birth;
}

static void begin(const struct birth *birth, const struct program *programs, const struct communicator *parents,
                  const int numbers[2]) {
    const size_t group_size = sizeof(int) * (size_t)size_of(parents);
    const uint64_t offset = allocate_shared(sizeof(struct online_family) + group_size, "a spawned rank");
    struct online_family *family = online_at(world, offset);
    *family = (struct online_family){birth->first, birth->count, birth->context,  numbers[1] + 1,
                                     numbers[0],   numbers[1],   size_of(parents)};
    memcpy(family->parents, parents->group->ranks, group_size);
    world->contexts[numbers[0]] += birth->count;
    int number = 0, left = birth->count == birth->total ? programs[0].most : birth->count;
    uint64_t command = command_of(&programs[0]);
    for (int i = 0; i < birth->count; i++) {
        while (left == 0) {
            left = programs[++number].most;
            command = command_of(&programs[number]);
        }
        left--;
        struct online_rank *rank = &world->rank[birth->first + i];
        rank->family = offset;
        rank->command = command;
        rank->program_number = number;
        rank->state = ONLINE_UNBORN;
    }
    world->births += birth->count;
}

static int spawn(const char *name, int count, const struct program *programs, int root, MPI_Comm comm,
                 MPI_Comm *intercomm, int errors[]) {
    COMMUNICATOR_OR_FAIL(parents, comm);
    if (parents->remote != NULL) return fail(parents, MPI_ERR_COMM);
    if (root < 0 || root >= size_of(parents)) return fail(parents, MPI_ERR_ROOT);
    enter(name);
    const bool is_root = parents->rank == root;
    if (is_root && is_ahead()) yield();
    struct birth birth = {.error = MPI_SUCCESS}, *const births = allocate(sizeof birth * (size_t)size_of(parents));
    if (is_root) birth = reserve(count, programs);
    int numbers[2];
    gather_all(parents, name, &birth, sizeof birth, births, numbers, 2);
    birth = births[root];
    free(births);
    if (birth.error == MPI_SUCCESS && numbers[0] == NONE) birth.error = MPI_ERR_OTHER;
    if (errors != MPI_ERRCODES_IGNORE)
        for (int i = 0; i < birth.total; i++) errors[i] = i < birth.count ? birth.error : MPI_ERR_SPAWN;
    *intercomm = MPI_COMM_NULL;
    if (birth.error != MPI_SUCCESS) {
        if (numbers[0] != NONE) --world->contexts[numbers[0]];
        return leave_with(fail(parents, birth.error));
    }
    if (is_root) begin(&birth, programs, parents, numbers);
    struct group *children = new_group(birth.count);
    for (int i = 0; i < birth.count; i++) children->ranks[i] = birth.first + i;
    struct communicator *communicator = new_communicator(keep_group(parents->group), children, numbers[0], numbers[1]);
    communicator->errhandler = parents->errhandler;
    keep_errhandler(communicator->errhandler);
    *intercomm = communicator->handle = new_handle(COMMUNICATOR, communicator);
    return leave_with(MPI_SUCCESS);
}

EXPORT int MPI_Comm_spawn(const char *command, char *argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm,
                          MPI_Comm *intercomm, int array_of_errcodes[]) {
    const struct program program = {command, argv, maxprocs, info};
    return spawn("MPI_Comm_spawn", 1, &program, root, comm, intercomm, array_of_errcodes);
}

EXPORT int MPI_Comm_spawn_multiple(int count, char *array_of_commands[], char **array_of_argv[],
                                   const int array_of_maxprocs[], const MPI_Info array_of_info[], int root,
                                   MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[]) {
    struct program *const programs = allocate_zeroed((size_t)(count > 0 ? count : 1), sizeof *programs);
    const struct communicator *parents = communicator_of(comm);
    for (int i = 0; parents != NULL && parents->rank == root && i < count; i++)
        programs[i] = (struct program){array_of_commands[i], array_of_argv != MPI_ARGVS_NULL ? array_of_argv[i] : NULL,
                                       array_of_maxprocs[i], array_of_info[i]};
    const int error = spawn("MPI_Comm_spawn_multiple", count, programs, root, comm, intercomm, array_of_errcodes);
    free(programs);
    return error;
}
