// Buffers of a checked run beside what the compiler says of the program's variables (simulate/online/variables.py): where
// in the frame of the calling function, or in the data of its file, a buffer lies, and what is read or written there.
#define _GNU_SOURCE
#include "online/messages/variables.h"

#include <dlfcn.h>

#include "online/datatypes/signatures.h"
#include "online/runtime/call_sites.h"
#include "online/runtime/calls.h"
#include "online/runtime/findings.h"
#include "online/runtime/protection.h"
#include "online/runtime/turns.h"

#if defined(__x86_64__)

enum {
    KNOWN = 256,          // uses that were told last
    MOST_POINTERS = 4,    // to the buffer, in the frame
    MOST_WORDS = 1 << 9,  // of the frame that are looked at
    LARGEST = 1 << 20     // bytes below which a distance is one of a frame
};

struct use_of_variable {
    const void *code, *at;
    const struct datatype *type;
    MPI_Count count;
};

static bool is_known(struct use_of_variable use) {
    static struct use_of_variable uses[KNOWN];
    const uint64_t hash = ((uintptr_t)use.code ^ (uintptr_t)use.at * 31 ^ (uintptr_t)use.type ^ (uint64_t)use.count) *
                          0x9e3779b97f4a7c15u;
    struct use_of_variable *const slot = &uses[hash >> 56];
    if (memcmp(slot, &use, sizeof use) == 0) return true;
    *slot = use;
    return false;
}

// Distances from the stack's end at the call to words that point to the buffer.
static void list_pointers(const struct caller *caller, const void *at, char *words, size_t size) {
    void *const *end = caller->stack + MOST_WORDS < caller->stack_end ? caller->stack + MOST_WORDS : caller->stack_end;
    size_t length = 0;
    int count = 0;
    words[0] = 0;
    end = first_closed(caller->stack, end);
    for (void *const *word = caller->stack; word + 1 <= end && count < MOST_POINTERS; word++) {
        if (*word != at) continue;
        length += (size_t)snprintf(words + length, size - length, "%d ", (int)(8 * (word - caller->stack)));
        count++;
    }
}

static bool is_of_c(void) {
    const char *language = current_site() == 0 ? NULL : strrchr(online_at(world, current_site()), '\n');
    return language != NULL && strcmp(language, "\n2") == 0;
}

void note_variable(const char *verb, const struct block *block) {
    if (!is_of_c()) return;
    const struct caller caller = last_caller();
    if (caller.code == NULL || is_known((struct use_of_variable){caller.code, block->at, block->type, block->count}))
        return;
    Dl_info code, data;
    char elements[400], pointers[64];
    if (dladdr(caller.code, &code) == 0 || !describe_elements(block->type, elements, sizeof elements)) return;
    const bool is_data = dladdr(block->at, &data) != 0 && data.dli_fbase == code.dli_fbase;
    const unsigned char *elf = code.dli_fbase;
    const uintptr_t base = elf[16] == 2 /* ET_EXEC */ ? 0 : (uintptr_t)code.dli_fbase;
    const int64_t distance = block->at - (const char *)caller.stack;
    const bool is_near = distance > -LARGEST && distance < LARGEST;
    list_pointers(&caller, block->at, pointers, sizeof pointers);
    if (!is_data && !is_near && pointers[0] == 0) return;
    const MPI_Aint span = (block->count - 1) * block->type->extent;
    const MPI_Aint begin = block->type->true_lower + (span < 0 ? span : 0);
    const MPI_Aint end = block->type->true_lower + block->type->true_extent + (span > 0 ? span : 0);
    note_use(verb, "%s\n%lld\n%lld\n%lld\n%s\n%lld %lld\n%s",
             is_data   ? "data"
             : is_near ? "stack"
                       : "elsewhere",
             is_data ? (long long)((uintptr_t)block->at - base) : (long long)distance,
             (long long)((const char *)caller.frame - (const char *)caller.stack), (long long)block->count, pointers,
             (long long)begin, (long long)end, elements);
}

#else

void note_variable(const char *verb, const struct block *block) { (void)verb, (void)block; }

#endif
