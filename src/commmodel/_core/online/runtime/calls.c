// Where a call of MPI enters and leaves. `enter` takes the turn among the rank's threads, notes the call's name and its
// site in the program, and charges the computation before it.
#include "online/runtime/calls.h"

#include "online/runtime/call_sites.h"
#include "online/runtime/charges.h"
#include "online/runtime/findings.h"
#include "online/runtime/threads.h"

const char *call_name = "MPI";
_Thread_local const char *program_call = "MPI";
static uint64_t site;            // of the call that the program is in
static _Thread_local int depth;  // of calls within calls

void enter(const char *name) {
    if (depth++ > 0) return;
    check_process(name);
    take_turn();
    come_inside();
    call_name = name;
    this_rank->call_site = site = call_site(name);
    this_rank->calls++;
    check_outside_sample(name);
    pay_clock_lead();
    world->recorded_names != 0 ? charge_recorded(name) : charge();
    if (is_checked()) check_level();
    if (turn_hooks.check_call != NULL) turn_hooks.check_call();
    if (turn_hooks.check_windows != NULL) turn_hooks.check_windows();
}

void leave(void) {
    if (depth > 0 && --depth > 0) return;
    restart_clock();
    leave_turn();
}

bool is_in_call(void) { return depth > 0; }

static void begin_in_turn(void) {
    depth++;
    come_inside();
    this_rank->calls++;
    pay_clock_lead();
    if (world->recorded_names == 0) charge();
}

void begin_call(void) {
    take_turn();
    begin_in_turn();
}

bool try_call(void) {
    if (!try_turn()) return false;
    begin_in_turn();
    return true;
}

void end_call(void) { leave(); }

_Noreturn void missing(const char *name) {
    if (is_attached()) this_rank->call_site = call_site(name);
    abort_all(2, "%s is not simulated yet", name);
}

uint64_t current_site(void) { return site; }

struct thread_call current_call(void) { return (struct thread_call){call_name, site}; }

void set_call(struct thread_call call) {
    call_name = call.name;
    this_rank->call_site = site = call.site;
}
