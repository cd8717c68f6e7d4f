// Findings: a list in the memory that ranks share.
#include "online/runtime/findings.h"

#include <stdarg.h>

#include "online/runtime/allocation.h"
#include "online/runtime/call_sites.h"
#include "online/runtime/calls.h"
#include "online/runtime/turns.h"

bool is_checked(void) { return is_attached() && world->is_checked; }

uint64_t site_here(void) { return call_site(program_call); }

static const char *text_at(uint64_t offset) { return offset == 0 ? "" : online_at(world, offset); }

// Each rank has its own texts of sites.
static bool is_same_site(uint64_t left, uint64_t right) {
    return left == right || strcmp(text_at(left), text_at(right)) == 0;
}

static uint64_t share_text(const char *text) {
    const uint64_t offset = allocate_shared(strlen(text) + 1, "a finding");
    strcpy(online_at(world, offset), text);
    return offset;
}

static struct online_finding *same_finding(const char *kind, uint64_t site, uint64_t other_site) {
    struct online_finding *finding;
    for (uint64_t at = world->first_finding; at != 0; at = finding->next) {
        finding = online_at(world, at);
        if (strcmp(text_at(finding->kind), kind) == 0 && is_same_site(finding->site, site) &&
            is_same_site(finding->other_site, other_site))
            return finding;
    }
    return NULL;
}

static struct online_finding *new_finding(const char *kind, uint64_t site, uint64_t other_site, const char *sentence) {
    const uint64_t bytes = ((uint64_t)world->ranks + 7) / 8;
    const uint64_t offset = allocate_shared(sizeof(struct online_finding) + bytes, "a finding");
    struct online_finding *finding = online_at(world, offset);
    memset(finding, 0, sizeof *finding + bytes);
    finding->kind = share_text(kind);
    finding->sentence = share_text(sentence);
    finding->site = site;
    finding->other_site = other_site;
    return finding;
}

static void note(int rank, const char *kind, uint64_t site, uint64_t other_site, const char *format, va_list list) {
    if (!is_checked() || is_copy()) return;
    const bool is_outside = !is_inside();
    if (is_outside) come_inside();  // nobody else writes meanwhile
    struct online_finding *finding = same_finding(kind, site, other_site);
    if (finding == NULL && world->finding_count < ONLINE_FINDINGS) {
        char sentence[512];
        vsnprintf(sentence, sizeof sentence, format, list);
        finding = new_finding(kind, site, other_site, sentence);
        const uint64_t offset = online_offset(world, finding);
        *(world->last_finding ? &((struct online_finding *)online_at(world, world->last_finding))->next
                              : &world->first_finding) = offset;
        world->last_finding = offset;
        world->finding_count++;
    }
    if (finding != NULL) {
        finding->times++;
        finding->ranks[rank / 8] |= (uint8_t)(1 << rank % 8);
    }
    if (is_outside) go_outside();
}

void accuse(const char *kind, const char *format, ...) {
    if (!is_checked()) return;
    va_list list;
    va_start(list, format);
    note(my_rank, kind, site_here(), 0, format, list);
    va_end(list);
}

void accuse_at(const char *kind, uint64_t site, uint64_t other_site, const char *format, ...) {
    va_list list;
    va_start(list, format);
    note(my_rank, kind, site, other_site, format, list);
    va_end(list);
}

void accuse_on(int rank, const char *kind, uint64_t site, uint64_t other_site, const char *format, ...) {
    va_list list;
    va_start(list, format);
    note(rank, kind, site, other_site, format, list);
    va_end(list);
}

void note_use(const char *verb, const char *format, ...) {
    if (!is_checked() || is_copy() || world->use_count >= ONLINE_USES) return;
    char sentence[512];
    va_list list;
    va_start(list, format);
    vsnprintf(sentence, sizeof sentence, format, list);
    va_end(list);
    const bool is_outside = !is_inside();
    if (is_outside) come_inside();
    const uint64_t site = site_here();
    struct online_finding *use = NULL;
    for (uint64_t at = world->first_use; at != 0 && use == NULL;) {
        struct online_finding *other = online_at(world, at);
        at = other->next;
        if (strcmp(text_at(other->sentence), sentence) == 0 && strcmp(text_at(other->kind), verb) == 0 &&
            is_same_site(other->site, site))
            use = other;
    }
    if (use == NULL) {
        use = new_finding(verb, site, 0, sentence);
        use->next = world->first_use;
        world->first_use = online_offset(world, use);
        world->use_count++;
    }
    use->ranks[my_rank / 8] |= (uint8_t)(1 << my_rank % 8);
    if (is_outside) go_outside();
}

void name_error(const char *kind) {
    if (is_attached()) snprintf(world->error_kind, sizeof world->error_kind, "%s", kind);
}

// For the program itself: a finding, counted from 0, in lines: kind, sentence, times, ranks, each a 0 or a 1, and the five
// lines of one or two sites. Returns how many characters it has, 0 where there is none.
EXPORT int commmodel_finding(int number, char *text, int room) {
    if (!is_checked()) return 0;
    uint64_t at = world->first_finding;
    const struct online_finding *finding = NULL;
    for (int i = 0; at != 0 && i <= number; i++, at = finding->next) {
        finding = online_at(world, at);
        if (i < number) continue;
        char *ranks = allocate((size_t)world->ranks + 1);
        for (int rank = 0; rank < world->ranks; rank++) ranks[rank] = '0' + (finding->ranks[rank / 8] >> rank % 8 & 1);
        ranks[world->ranks] = 0;
        const int length =
            snprintf(text, (size_t)room, "%s\n%s\n%llu\n%s\n%s\n%s", text_at(finding->kind), text_at(finding->sentence),
                     (unsigned long long)finding->times, ranks, text_at(finding->site), text_at(finding->other_site));
        free(ranks);
        return length;
    }
    return 0;
}
