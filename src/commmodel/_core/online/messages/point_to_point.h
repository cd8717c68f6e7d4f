// Messages from one rank to another.
#pragma once

#include "online/messages/requests.h"

int check_message(const struct communicator *communicator, int peer, int tag, const void *buffer, MPI_Count count,
                  const struct datatype *type, bool receives);
int start_send(struct request *request);
int start_receive(struct request *request);
void watch_message(struct request *request);
void receive_now(struct request *request);   // a message that is awaited at once
void note_message(struct request *request);  // which one it got, where other orders are asked for
// Of receives.
bool expect_data(struct request *request);
int take_data(struct request *request, MPI_Status *status);
void show_data(struct request *request);
int cancel_receive(struct request *request);
void tell_message(const struct request *request, MPI_Status *status);
