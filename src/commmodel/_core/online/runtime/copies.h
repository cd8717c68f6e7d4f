// The beginning that all orders of messages have in common: ranks run once until something is to be decided, and wait
// there. Copies of them go on, for each order anew, in a memory of their own behind that of the beginning.
#pragma once

#include <sys/types.h>

#include "online/online.h"

void await_orders(void);   // before a decision: a rank of the beginning waits here, and its copies go on
bool serve_orders(void);   // whether a rank of the beginning, or its new copy, goes on waiting though it has the turn
pid_t copy_process(void);  // a copy of this process as a child of its parent: 0 in the copy, -1 where there is none
