// The heap in shared memory.
#include "check.h"

int main(void) {
    struct online_world *memory = new_world(2);
    enum { COUNT = 2000 };
    static uint64_t blocks[COUNT], sizes[COUNT];
    for (int i = 0; i < COUNT; i++) {
        sizes[i] = 1 + (uint64_t)(i * 7919 % 5000);
        blocks[i] = online_allocate(memory, sizes[i]);
        CHECK(blocks[i] != 0);
        memset(online_at(memory, blocks[i]), i % 251, sizes[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        const unsigned char *bytes = online_at(memory, blocks[i]);
        CHECK(bytes[0] == i % 251 && bytes[sizes[i] - 1] == i % 251);
    }
    // What is freed is used again.
    const uint64_t heap = memory->heap;
    for (int i = 0; i < COUNT; i++) online_free(memory, blocks[i]);
    for (int i = 0; i < COUNT; i++) CHECK(online_allocate(memory, sizes[i]) != 0);
    CHECK(memory->heap == heap);
    online_free(memory, 0);
    // Too large, in every way.
    for (int bits = 38; bits < 64; bits++) {
        CHECK(online_allocate(memory, 1ull << bits) == 0);
        CHECK(online_allocate(memory, (1ull << bits) - 1) == 0);
        CHECK(online_allocate_pages(memory, 1ull << bits) == 0);
    }
    CHECK(online_allocate(memory, UINT64_MAX) == 0);
    // Full: never the offset of the header.
    uint64_t offset;
    do offset = online_allocate(memory, (1ull << 36) - 64);
    while (offset != 0);
    CHECK(online_allocate(memory, (1ull << 35) - 64) != 0);
    CHECK(online_allocate(memory, 100) != 0);
    // A large block whose memory goes back is zero afterwards, a small amount is kept.
    const uint64_t large = online_allocate(memory, 3 << 20);
    online_free(memory, large);
    CHECK(memory->kept_bytes == 4 << 20);
    CHECK(online_allocate(memory, 3 << 20) == large);
    CHECK(memory->kept_bytes == 0);
    return 0;
}
