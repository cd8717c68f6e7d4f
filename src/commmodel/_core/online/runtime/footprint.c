// Memory use of a rank: measured on the first ranks, and extrapolated to all.
#include "online/runtime/notes.h"
#include "online/runtime/turns.h"

// Sum of a field of a file of /proc in bytes, without the memory that ranks share.
static uint64_t sum_of(const char *path, const char *field) {
    FILE *file = fopen(path, "r");
    if (file == NULL) return 0;
    char line[4096];
    uint64_t sum = 0, kibibytes;
    bool is_shared = false;
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) is_shared = strstr(line, "/memfd:commmodel-online") != NULL;
        if (!is_shared && strncmp(line, field, strlen(field)) == 0 && sscanf(line, "%*s %lu", &kibibytes) == 1)
            sum += 1024 * kibibytes;
    }
    fclose(file);
    return sum;
}

void note_memory(void) {
    if (my_rank >= ONLINE_MEASURED || world->is_repeated) return;
    const uint64_t bytes = sum_of("/proc/self/smaps", "Private_Dirty:") + sum_of("/proc/self/status", "VmPTE:");
    if (bytes > this_rank->memory) this_rank->memory = bytes;
}
