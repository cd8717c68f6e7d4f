// Decisions that time takes and another run may take otherwise: which message a receive or a probe from any source gets,
// and which of several requests a call completes. Where they are noted, each has a number among those of its rank.
//
// Vector clocks count the decisions of each rank that an event follows: a message was possible for a decision unless
// its send follows that.
#pragma once

#include "online/online.h"
#include "online/runtime/shared.h"

// A test finds what it looks for, or nothing, of requests or of messages; a spin is one that is made again at once.
enum decision_kind { A_RECEIVE, A_PROBE, A_COMPLETION, A_TEST, A_LOOK, A_SPIN };

bool notes_decisions(void);
int next_choice(void);  // what the next decision of this rank is to be: a rank, or the place of a request; NONE: free
int new_decision(enum decision_kind kind, int tag);  // its number
// What a test is to find: 1 or 0, or NONE: what there is. Those of a loop that only tests are alike, and no decisions but
// for the first.
int new_test(enum decision_kind kind, int source, int tag);
void decide_test(bool is_found);  // of the last new one, once
int last_test_decision(void);     // NONE where it is none
int next_posting(void);           // number of a receive among those of this rank
void decide(int decision, int choice, const struct online_message *message);
void note_arrival(int posting, const struct online_message *message);  // a receive is complete
// A request that another choice would have completed, at a place in the call's list: a receive, by its number, or one
// that is complete already.
void note_candidate(int decision, int index, int posting, bool is_complete);
uint64_t current_clock(void);  // 0: nothing has been decided before
void merge_clock(uint64_t clock);
