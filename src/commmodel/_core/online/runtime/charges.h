// What is charged for computation, and the rank's clock.
#pragma once

#include "online/runtime/turns.h"

static inline bool is_measured(void) { return world->compute_factor > 0.0 && world->recorded_names == 0; }
double processor_seconds(void);
void start_clock(void);                  // of the rank's computation
void charge(void);                       // computation since the last call
void charge_seconds(double seconds);     // of this machine
void charge_recorded(const char *call);  // the computation before a call, from a recording
void restart_clock(void);                // computation so far is charged already
void check_outside_sample(const char *call);
bool is_in_sample(void);
void pay_clock_lead(void);  // of readings.c: pass the time by which clocks are ahead of the simulation
double now(void);
