/* Pairs of network devices, of which what enters one leaves the other after a while: for kernels that lack netem.
   Arguments are names of devices, two for each pair. Says `ready` on standard output once they are there; each line of
   standard input has the microseconds that hold from then on. Ends, with its devices, where standard input ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST = 1600, SLOTS = 1 << 14, MOST = 64 };

struct frame {
    int64_t due;
    int size;
    char bytes[LONGEST];
};

/* What entered one device, the oldest first. */
struct line {
    struct frame *frames;
    unsigned begin, end;
};

static int devices[MOST];
static struct line lines[MOST];
static int64_t delay;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static int opened(const char *name) {
    struct ifreq request = {0};
    int file = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
    if (file < 0 || ioctl(file, TUNSETIFF, &request) < 0) {
        perror(name);
        exit(1);
    }
    return file;
}

/* Read all that has come to a device; what is longer than a frame or finds no room is lost, as on a real line. */
static void take(int number) {
    struct line *line = &lines[number];
    for (;;) {
        struct frame *frame = &line->frames[line->end % SLOTS];
        int size = (int)read(devices[number], frame->bytes, LONGEST);
        if (size <= 0) return;
        if (line->end - line->begin == SLOTS - 1) {
            fprintf(stderr, "delay: %d frames are on their way: one is lost\n", SLOTS);
            continue;
        }
        frame->size = size;
        frame->due = now() + delay;
        line->end++;
    }
}

/* Send what is due; return when the next frame is. */
static int64_t give(int number) {
    struct line *line = &lines[number];
    for (; line->begin != line->end; line->begin++) {
        struct frame *frame = &line->frames[line->begin % SLOTS];
        if (frame->due > now()) return frame->due;
        if (write(devices[number ^ 1], frame->bytes, (size_t)frame->size) < 0 && errno != EIO) /* EIO: not up yet */
            perror("delay: a frame is lost");
    }
    return INT64_MAX;
}

int main(int count, char **names) {
    struct pollfd wanted[MOST + 1];
    count--;
    if (count < 2 || count % 2 || count > MOST) {
        fprintf(stderr, "delay: give 1 to %d pairs of names\n", MOST / 2);
        return 2;
    }
    for (int number = 0; number < count; number++) {
        devices[number] = opened(names[number + 1]);
        lines[number].frames = calloc(SLOTS, sizeof(struct frame));
        wanted[number] = (struct pollfd){devices[number], POLLIN, 0};
    }
    wanted[count] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
    puts("ready");
    fflush(stdout);
    for (;;) {
        int64_t next = INT64_MAX;
        for (int number = 0; number < count; number++) {
            int64_t due = give(number);
            next = due < next ? due : next;
        }
        struct timespec rest = {0, 0}, *limit = NULL;
        if (next != INT64_MAX) {
            int64_t left = next - now();
            left = left > 0 ? left : 0;
            rest.tv_sec = left / 1000000000;
            rest.tv_nsec = left % 1000000000;
            limit = &rest;
        }
        if (ppoll(wanted, (nfds_t)count + 1, limit, NULL) < 0) continue;
        for (int number = 0; number < count; number++)
            if (wanted[number].revents & POLLIN) take(number);
        if (wanted[count].revents) {
            char text[64];
            ssize_t size = read(STDIN_FILENO, text, sizeof text - 1);
            if (size <= 0) return 0;
            text[size] = '\0';
            delay = atoll(text) * 1000;
            puts("set");
            fflush(stdout);
        }
    }
}
