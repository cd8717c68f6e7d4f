// Findings: wrong uses of MPI that do not end the run, noted where the run is checked.
#pragma once

#include "online/online.h"

bool is_checked(void);
uint64_t site_here(void);  // of the call that the program is in
// At the call that the program is in. `kind` is short words of the glossary, the rest a sentence without rank and site.
// Findings of the same kind at the same sites are one, with the ranks and the number of times.
void accuse(const char *kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
// At other sites, as of `call_site`; 0 where there is no second one.
void accuse_at(const char *kind, uint64_t site, uint64_t other_site, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void accuse_on(int rank, const char *kind, uint64_t site, uint64_t other_site, const char *format, ...)
    __attribute__((format(printf, 5, 6)));  // of another rank
// What a call does with memory, for what is known of the program's variables afterwards.
void note_use(const char *verb, const char *format, ...) __attribute__((format(printf, 2, 3)));
// The kind of the error that is about to end the run.
void name_error(const char *kind);
