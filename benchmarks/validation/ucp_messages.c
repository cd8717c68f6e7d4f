/* A library to preload: counts the messages that MPICH hands to UCX, and their bytes but for those of derived datatypes. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

/* The beginning of UCX's ucp_request_param_t. */
typedef struct {
    uint32_t op_attr_mask, flags;
    void *request;
    void *callback;
    uint64_t datatype;
} Parameters;

enum { HAS_DATATYPE = 8, CLASS = 7, SHIFT = 3 };

long ucp_messages_count, ucp_messages_bytes;

typedef void *Send(void *endpoint, const void *buffer, size_t count, uint64_t tag, const Parameters *parameters);

void *ucp_tag_send_nbx(void *endpoint, const void *buffer, size_t count, uint64_t tag, const Parameters *parameters) {
    static Send *real;
    if (real == NULL) {
        real = (Send *)dlsym(dlopen("libucp.so.0", RTLD_NOLOAD | RTLD_LAZY), "ucp_tag_send_nbx");
    }
    uint64_t datatype = parameters->op_attr_mask & HAS_DATATYPE ? parameters->datatype : 1 << SHIFT;
    ucp_messages_count++;
    ucp_messages_bytes += datatype & CLASS ? 0 : (long)(count * (datatype >> SHIFT));
    return real(endpoint, buffer, count, tag, parameters);
}
