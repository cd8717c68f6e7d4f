// Codes of operations, for C and C++: those of `commmodel.simulate.operations.Code`.
#pragma once

#define OPERATION_CODES \
    COMPUTE, SLEEP, SEND, ISEND, RECV, IRECV, WAIT, WAITALL, TEST, MARK, AWAIT, SSEND, ISSEND, PUT, GET, WITHDRAW
