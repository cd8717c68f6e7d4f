// A table from handles to numbers. A handle may stand in it several times (MPICH gives one to all sends that are
// complete at once); the last that came is found first.
#pragma once

#include <stdint.h>
#include <stdlib.h>

struct node {
    uintptr_t handle;
    uint64_t number;
    uint32_t next;  // in its bucket or in the list of free nodes; 0: none
    unsigned flags;
};

struct table {
    struct node *nodes;  // from 1
    uint32_t *buckets;
    uint32_t mask, used, unused;  // nodes used ever; first of the list of free ones
};

static inline uint32_t *bucket_of(const struct table *table, uintptr_t handle) {
    return &table->buckets[(uint32_t)(handle * 0x9e3779b97f4a7c15u >> 32) & table->mask];
}

static inline int grow(struct table *table) {
    uint32_t size = table->nodes == NULL ? 256 : 2 * (table->mask + 1);
    struct node *nodes = realloc(table->nodes, (size + 1) * sizeof *nodes);
    uint32_t *buckets = nodes == NULL ? NULL : calloc(size, sizeof *buckets);
    if (nodes != NULL) table->nodes = nodes;
    if (buckets == NULL) return 0;
    free(table->buckets);
    table->buckets = buckets;
    table->mask = size - 1;
    for (uint32_t i = 1; i <= table->used; i++) {  // grown when no node is free: all are in use
        uint32_t *bucket = bucket_of(table, nodes[i].handle);
        nodes[i].next = *bucket;
        *bucket = i;
    }
    return 1;
}

static inline void put(struct table *table, uintptr_t handle, uint64_t number, unsigned flags) {
    uint32_t i = table->unused;
    if (i != 0) {
        table->unused = table->nodes[i].next;
    } else {
        if ((table->nodes == NULL || table->used > table->mask) && !grow(table)) return;
        i = ++table->used;
    }
    uint32_t *bucket = bucket_of(table, handle);
    struct node node = {handle, number, *bucket, flags};
    table->nodes[i] = node;
    *bucket = i;
}

static inline struct node *look_up(const struct table *table, uintptr_t handle) {
    if (table->nodes != NULL) {
        for (uint32_t i = *bucket_of(table, handle); i != 0; i = table->nodes[i].next)
            if (table->nodes[i].handle == handle) return &table->nodes[i];
    }
    return NULL;
}

// Take a handle out; its number is 0 where it is not there.
static inline struct node take(struct table *table, uintptr_t handle) {
    struct node empty = {0, 0, 0, 0};
    if (table->nodes != NULL) {
        for (uint32_t *i = bucket_of(table, handle); *i != 0; i = &table->nodes[*i].next) {
            struct node *node = &table->nodes[*i];
            if (node->handle == handle) {
                struct node result = *node;
                uint32_t freed = *i;
                *i = node->next;
                node->next = table->unused;
                table->unused = freed;
                return result;
            }
        }
    }
    return empty;
}
