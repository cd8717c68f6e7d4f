// Copies of ranks that wait, for other orders of messages.
#define _GNU_SOURCE
#include "online/runtime/copies.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "online/runtime/allocation.h"
#include "online/runtime/threads.h"
#include "online/runtime/turns.h"

struct open_file {
    int descriptor, flags;
    off_t position;
};

static struct open_file *files;  // that each copy opens again, as it reads and writes where the rank has been
static int file_count;

// As fork, but for the parent; and a handler of pthread_atfork is not called.
EXPORT pid_t commmodel_copy_process(void) {
    uint64_t own_number = 0;  // address of the thread's number, which the C library keeps
    struct clone_args arguments = {.flags = CLONE_PARENT};
    if (prctl(PR_GET_TID_ADDRESS, &own_number) == 0 && own_number != 0) {
        arguments.flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
        arguments.child_tid = own_number;
    }
    return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

pid_t copy_process(void) { return commmodel_copy_process(); }

static bool has_others(void) {
    siginfo_t unused;
    if (waitid(P_ALL, 0, &unused, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD) return true;
    DIR *const folder = opendir("/proc/self/task");
    int count = 0;
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    if (folder != NULL) closedir(folder);
    return count != 1;
}

// Whether a process shares memory with others, but for that of its rank.
static bool has_other_memory(void) {
    FILE *const maps = fopen("/proc/self/maps", "r");
    if (maps == NULL) return true;
    char line[4096];
    bool has_other = false;
    while (fgets(line, sizeof line, maps) != NULL) {
        char rights[8] = "";
        unsigned long begin = 0;
        if (sscanf(line, "%lx-%*x %7s", &begin, rights) != 2 || strlen(rights) != 4) continue;
        has_other |= rights[3] == 's' && rights[1] == 'w' && begin != (uintptr_t)world;
    }
    fclose(maps);
    return has_other;
}

// Note what a file is; false where a copy cannot have its own.
static bool note_file(int descriptor) {
    struct stat status;
    if (descriptor <= STDERR_FILENO || descriptor == world_descriptor) return true;
    if (fstat(descriptor, &status) != 0) return false;
    if (S_ISDIR(status.st_mode) || S_ISCHR(status.st_mode)) return true;
    if (!S_ISREG(status.st_mode)) return false;
    files = reallocate(files, sizeof *files * (size_t)(file_count + 1));
    files[file_count++] = (struct open_file){descriptor, fcntl(descriptor, F_GETFL), lseek(descriptor, 0, SEEK_CUR)};
    return true;
}

// Whether copies of this process do what it would do, each for itself.
static bool may_be_copied(void) {
    if (has_threads() || has_others() || has_other_memory()) return false;
    DIR *const folder = opendir("/proc/self/fd");
    if (folder == NULL) return false;
    bool may = true;
    file_count = 0;
    for (const struct dirent *entry; may && (entry = readdir(folder)) != NULL;) {
        const int descriptor = entry->d_name[0] == '.' ? dirfd(folder) : atoi(entry->d_name);
        may = descriptor == dirfd(folder) || note_file(descriptor);
    }
    closedir(folder);
    return may;
}

static void open_again(const struct open_file *file) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file->descriptor);
    const int descriptor_flags = fcntl(file->descriptor, F_GETFD);
    const int opened = open(path, file->flags & (O_ACCMODE | O_APPEND | O_NONBLOCK | O_SYNC));
    if (opened < 0) return;  // it is shared then, as with a fork
    lseek(opened, file->position, SEEK_SET);
    dup3(opened, file->descriptor, descriptor_flags & FD_CLOEXEC ? O_CLOEXEC : 0);
    close(opened);
}

static void make_copy(void) {
    const pid_t process = copy_process();
    if (process != 0) {
        __atomic_store_n(&this_rank->copy, process, __ATOMIC_RELEASE);
        return;
    }
    const size_t size = world->size;
    const int simulator = world->simulator;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != simulator || mmap(world, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
                                       world_descriptor, (off_t)size) == MAP_FAILED)
        _exit(3);
    this_rank->process = getpid();
    for (int i = 0; i < file_count; i++) open_again(&files[i]);
}

void await_orders(void) {
    if (world->beginning == ONLINE_BEGINS) yield();
}

bool serve_orders(void) {
    if (world->beginning == ONLINE_COPIES) {
        make_copy();
        return true;
    }
    if (world->beginning != ONLINE_LOOKS) return false;
    this_rank->copy = may_be_copied() ? 0 : -1;
    online_wake(&world->simulator_turn);
    return true;
}
