// Where in the program a call of MPI stands: kept in shared memory, so that it can be named when the rank has gone on.
#define _GNU_SOURCE
#include "online/runtime/call_sites.h"

#include <elf.h>
#include <pthread.h>

#include "record/sites.h"
#include "online/runtime/allocation.h"
#include "online/runtime/turns.h"

extern const char __ehdr_start[] __attribute__((visibility("hidden")));  // of this library, by the linker

static uintptr_t code_begin, code_end;
static char **texts;  // of sites, by number
static uint64_t text_room;

static struct site_text {
    uint64_t site;
    const char *call;
    uint64_t text;  // 0: unused
} *sites;
static size_t site_mask, site_count;

void lock_sites(void) {}
void unlock_sites(void) {}
void no_sites(const char *reason) { (void)reason; }

int keep_site(uint64_t id, const char *file, uint64_t line, const char *function, unsigned language) {
    if (id >= text_room) {
        text_room = id < 64 ? 64 : 2 * id;
        texts = reallocate(texts, sizeof(char *) * text_room);
    }
    texts[id] = format_text("%s\n%lu\n%s\n%u", file, (unsigned long)line, function, language);
    return 1;
}

void prepare_call_sites(void) {
    const Elf64_Ehdr *header = (const void *)__ehdr_start;
    const Elf64_Phdr *segment = (const void *)(__ehdr_start + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++) {
        if (segment[i].p_type != PT_LOAD || !(segment[i].p_flags & PF_X)) continue;
        code_begin = (uintptr_t)__ehdr_start + segment[i].p_vaddr;
        code_end = code_begin + segment[i].p_memsz;
    }
    sites_prepare();
}

// The last frame of the library, whose functions all have frame pointers: where those of the program begin.
static void *const *last_frame(void) {
    void *const *frame = __builtin_frame_address(0);
    while ((uintptr_t)frame[1] >= code_begin && (uintptr_t)frame[1] < code_end) frame = frame[0];
    return frame;
}

// The address in the program to which the library returns.
static const void *caller(void) { return last_frame()[1]; }

struct range {
    uintptr_t begin, end;
};

static struct range own_stack(void) {
    static _Thread_local struct range range;
    pthread_attr_t attributes;
    if (range.end == 0 && pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void *stack;
        size_t size;
        pthread_attr_getstack(&attributes, &stack, &size);
        pthread_attr_destroy(&attributes);
        range = (struct range){(uintptr_t)stack, (uintptr_t)stack + size};
    }
    return range;
}

bool is_left_stack(const void *at) {
    const struct range stack = own_stack();
    const uintptr_t present = (uintptr_t)(last_frame() + 2);
    return present >= stack.begin && present < stack.end && (uintptr_t)at >= stack.begin && (uintptr_t)at < present;
}

struct caller last_caller(void) {
    void *const *const frame = last_frame();
    const struct range stack = own_stack();
    const bool is_here = (uintptr_t)frame >= stack.begin && (uintptr_t)frame < stack.end;
    return (struct caller){is_here ? frame[1] : NULL, frame + 2, (void *const *)stack.end, frame[0]};
}

static struct site_text *find(uint64_t site, const char *call) {
    size_t i = (size_t)((site * 31u + (uintptr_t)call) * 0x9e3779b97f4a7c15u >> 32) & site_mask;
    while (sites[i].text != 0 && (sites[i].site != site || sites[i].call != call)) i = (i + 1) & site_mask;
    return &sites[i];
}

static void widen(void) {
    struct site_text *const old = sites;
    const size_t before = old == NULL ? 0 : site_mask + 1;
    site_mask = before == 0 ? 63 : 2 * before - 1;
    sites = allocate_zeroed(site_mask + 1, sizeof *sites);
    for (size_t i = 0; i < before; i++)
        if (old[i].text != 0) *find(old[i].site, old[i].call) = old[i];
    free(old);
}

static uint64_t text_of(const char *call, uint64_t site) {
    if (2 * site_count >= site_mask) widen();
    struct site_text *entry = find(site, call);
    if (entry->text == 0) {
        char *text = format_text("%s\n%s", call, site == 0 ? "\n0\n\n0" : texts[site]);
        const uint64_t shared = allocate_shared(strlen(text) + 1, "a call site");
        strcpy(online_at(world, shared), text);
        free(text);
        *entry = (struct site_text){site, call, shared};
        site_count++;
    }
    return entry->text;
}

uint64_t call_site(const char *call) { return text_of(call, site_of(caller())); }

uint64_t access_site(const char *access, const void *code) {
    const uintptr_t at = (uintptr_t)code;
    if (code == NULL || (at >= code_begin && at < code_end)) return 0;
    const uint64_t site = site_of((const char *)code + 1);  // as of a call that returns there
    const char *language = site == 0 ? NULL : strrchr(texts[site], '\n');
    return language == NULL || strcmp(language, "\n2") != 0 ? 0 : text_of(access, site);
}
