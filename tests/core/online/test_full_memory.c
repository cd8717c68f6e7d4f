// What a rank says where there is no memory left: links runtime/allocation.c.
#include "check.h"
#include "online/runtime/allocation.h"

int main(int count, char **arguments) {
    world = new_world(1);
    this_rank = &world->rank[0];
    CHECK(count == 2);
    char *text = format_text("%s of %d", arguments[1], 3);
    CHECK(strstr(text, " of 3") != NULL);
    text = reallocate(text, 100);
    free(text);
    free(copy_text(arguments[1]));
    int *numbers = allocate_zeroed(10, sizeof(int));
    CHECK(numbers[9] == 0);
    free(numbers);
    if (strcmp(arguments[1], "own") == 0) allocate((size_t)1 << 62);
    for (;;) allocate_shared(1ull << 33, "a test");
}
