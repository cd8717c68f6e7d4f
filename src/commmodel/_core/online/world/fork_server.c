// Ranks as forks of a program that has come to MPI_Init, so that it is loaded once for many runs.
//
// The environment names the descriptor of a socket. The words on it, and on the socket of each run, are those of
// commmodel.simulate.online.fork_server, which serves programs of Python.
#define _GNU_SOURCE
#include "online/world/fork_server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "online/online.h"
#include "online/runtime/copies.h"

#define MOST_WORDS 65536
enum { SOCKET, MEMORY, DESCRIPTORS };  // that come with a run; more of them are refused

struct forked_rank {
    pid_t process;  // 0: it has ended
    int number;
};

static struct forked_rank *forked_ranks;
static int forked_count, forked_room;
static int wake_pipe[2];

static void note_end(int signal_number) {
    (void)signal_number;
    const int number = errno;
    if (write(wake_pipe[1], "", 1) < 0) errno = 0;  // full: the other side looks anyhow
    errno = number;
}

static bool has_threads(void) {
    DIR *const folder = opendir("/proc/self/task");
    int count = 0;
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    if (folder != NULL) closedir(folder);
    return count > 1;
}

// The descriptors and words of the next run; false where there is none.
static bool receive_run(int commands, int *descriptors, char *words) {
    struct iovec content = {words, MOST_WORDS - 1};
    union {
        char bytes[CMSG_SPACE(DESCRIPTORS * sizeof(int))];
        struct cmsghdr aligned;
    } control;
    struct msghdr message = {
        .msg_iov = &content, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    const ssize_t length = recvmsg(commands, &message, 0);
    if (length <= 0) return false;
    words[length] = '\0';
    const struct cmsghdr *const header = CMSG_FIRSTHDR(&message);
    if (header == NULL || header->cmsg_len != CMSG_LEN(DESCRIPTORS * sizeof(int))) return false;
    memcpy(descriptors, CMSG_DATA(header), DESCRIPTORS * sizeof(int));
    return true;
}

static void run_on(const char *words) {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    char *end;
    for (const char *at = strchr(words, ' '); at != NULL && *at != '\0'; at = end) {
        const long number = strtol(at, &end, 10);
        if (end == at) break;
        if (number >= 0 && number < CPU_SETSIZE) CPU_SET((size_t)number, &processors);
    }
    if (CPU_COUNT(&processors) > 0) sched_setaffinity(0, sizeof processors, &processors);
}

static void tell_ends(int run) {
    char words[32];
    for (int i = 0, status; i < forked_count; i++) {
        struct forked_rank *const rank = &forked_ranks[i];
        if (rank->process == 0 || waitpid(rank->process, &status, WNOHANG) != rank->process) continue;
        rank->process = 0;
        const int code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
        const int length = snprintf(words, sizeof words, "%d %d", rank->number, code);
        send(run, words, (size_t)length, MSG_NOSIGNAL);  // nobody may wait for it any more
    }
}

static void end_ranks(void) {
    for (int i = 0; i < forked_count; i++)
        if (forked_ranks[i].process != 0) kill(forked_ranks[i].process, SIGKILL);
    for (int i = 0; i < forked_count; i++)
        if (forked_ranks[i].process != 0) waitpid(forked_ranks[i].process, NULL, 0);
    forked_count = 0;
}

static void add_rank(pid_t process, int number) {
    if (forked_count == forked_room) {
        forked_room = forked_room ? 2 * forked_room : 16;
        forked_ranks = realloc(forked_ranks, sizeof *forked_ranks * (size_t)forked_room);
        if (forked_ranks == NULL) _exit(3);
    }
    forked_ranks[forked_count++] = (struct forked_rank){process, number};
}

// Start the ranks of a run until it is over, as children of ours or, to be copied, of our parent; true in a rank.
static bool serve_run(int run, int memory, bool are_copied) {
    struct pollfd ready[] = {{run, POLLIN, 0}, {wake_pipe[0], POLLIN, 0}};
    char word[64];
    for (;;) {
        if (poll(ready, 2, -1) < 0) ready[0].revents = 0;  // a rank has ended
        while (read(wake_pipe[0], word, sizeof word) > 0) {
        }
        tell_ends(run);
        if (!(ready[0].revents & (POLLIN | POLLHUP | POLLERR))) continue;
        const ssize_t length = recv(run, word, sizeof word - 1, 0);
        if (length <= 0) {
            end_ranks();
            return false;
        }
        word[length] = '\0';
        const int number = atoi(word);
        const pid_t process = are_copied ? copy_process() : fork();
        if (process != 0 && are_copied) {
            const int size = snprintf(word, sizeof word, "%d", process);
            send(run, word, (size_t)size, MSG_NOSIGNAL);
            continue;
        }
        if (process < 0) _exit(3);
        if (process > 0) {
            add_rank(process, number);
            continue;
        }
        snprintf(word, sizeof word, "%d:%d", memory, number);
        setenv("COMMMODEL_ONLINE", word, 1);
        return true;
    }
}

// One run after the other; true in a rank.
static bool serve(int commands) {
    static char words[MOST_WORDS];
    int descriptors[DESCRIPTORS];
    if (send(commands, "ready", 5, MSG_NOSIGNAL) < 0) return false;
    while (receive_run(commands, descriptors, words)) {
        run_on(words);
        if (serve_run(descriptors[SOCKET], descriptors[MEMORY], strncmp(words, "copies", 6) == 0)) {
            close(descriptors[SOCKET]);
            return true;
        }
        close(descriptors[SOCKET]);
        close(descriptors[MEMORY]);
    }
    return false;
}

void become_rank(void) {
    const char *const setting = getenv("COMMMODEL_FORK_SERVER");
    if (setting == NULL) return;
    const int commands = atoi(setting);
    unsetenv("COMMMODEL_FORK_SERVER");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct sigaction before, noting = {.sa_handler = note_end, .sa_flags = SA_RESTART};
    if (has_threads() || pipe2(wake_pipe, O_NONBLOCK | O_CLOEXEC) != 0) _exit(3);
    sigaction(SIGCHLD, &noting, &before);
    if (!serve(commands)) _exit(0);
    sigaction(SIGCHLD, &before, NULL);
    close(commands);
    close(wake_pipe[0]);
    close(wake_pipe[1]);
    free(forked_ranks);
    forked_ranks = NULL;
    forked_count = forked_room = 0;
}
