// Messages and receives in shared memory.
#pragma once

#include "online/datatypes/datatypes.h"
#include "online/objects/communicators.h"

struct request;

int wide_tag(const struct communicator *communicator, int tag);  // as the simulator knows it
void post_message(struct communicator *communicator, int dest, int tag, const void *buffer, MPI_Count count,
                  const struct datatype *type, uint64_t receipt);
void post_receive(struct request *request, int source, int tag);
bool has_message(struct request *request);
void expect_message(const struct request *request);
uint64_t first_message(int source, int tag);  // 0 where there is none
uint64_t take_message(int source, int tag);
int unreceived_messages(const struct communicator *communicator);  // 0 where a receive may still get one
void take_reports(void);
void forget_receive(struct request *request);
