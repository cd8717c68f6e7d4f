// Info objects: lists of keys and values.
#include "online/objects/info.h"

#include "online/objects/errors.h"
#include "online/objects/handles.h"
#include "online/runtime/allocation.h"

struct entry {
    struct entry *next;
    char key[MPI_MAX_INFO_KEY + 1], *value;
};
struct info {
    struct entry *first;
};

static struct info environment;

static struct info *info_of(MPI_Info handle) { return handle == MPI_INFO_ENV ? &environment : object_of(INFO, handle); }

MPI_Info new_info(void) { return new_handle(INFO, allocate_zeroed(1, sizeof(struct info))); }

static struct entry **find(struct info *info, const char *key) {
    struct entry **link = &info->first;
    while (*link != NULL && strcmp((*link)->key, key) != 0) link = &(*link)->next;
    return link;
}

static void set(struct info *info, const char *key, const char *value) {
    struct entry **link = find(info, key);
    if (*link == NULL) {
        *link = allocate_zeroed(1, sizeof **link);
        snprintf((*link)->key, sizeof(*link)->key, "%s", key);
    }
    free((*link)->value);
    (*link)->value = copy_text(value);
}

static void remove_entry(struct entry **link) {
    struct entry *entry = *link;
    *link = entry->next;
    free(entry->value);
    free(entry);
}

static MPI_Info copy_entries(MPI_Info handle, const char *prefix) {
    const struct info *info = handle == MPI_INFO_NULL ? NULL : info_of(handle);
    if (info == NULL) return MPI_INFO_NULL;
    const MPI_Info copy = new_info();
    for (const struct entry *entry = info->first; entry != NULL; entry = entry->next)
        if (strncmp(entry->key, prefix, strlen(prefix)) == 0) set(info_of(copy), entry->key, entry->value);
    return copy;
}

MPI_Info copy_info(MPI_Info handle) { return copy_entries(handle, ""); }

// Hints for communicators; unknown keys are dropped.
MPI_Info copy_hints(MPI_Info handle) { return copy_entries(handle, "mpi_"); }

void free_info(MPI_Info *handle) {
    struct info *info = *handle == MPI_INFO_NULL ? NULL : object_of(INFO, *handle);
    if (info != NULL) {
        while (info->first != NULL) remove_entry(&info->first);
        drop_handle(INFO, *handle);
        free(info);
    }
    *handle = MPI_INFO_NULL;
}

#define INFO_OR_FAIL(name, handle)       \
    struct info *name = info_of(handle); \
    if (name == NULL) return fail_world(MPI_ERR_INFO)

static int wrong_key(const char *key) {
    const size_t length = key == NULL ? 0 : strlen(key);
    return length == 0 || length > MPI_MAX_INFO_KEY ? MPI_ERR_INFO_KEY : MPI_SUCCESS;
}

EXPORT int MPI_Info_create(MPI_Info *info) {
    *info = new_info();
    return MPI_SUCCESS;
}

EXPORT int MPI_Info_create_env(int argc, char *argv[], MPI_Info *info) {
    (void)argc, (void)argv;
    return MPI_Info_create(info);
}

EXPORT int MPI_Info_dup(MPI_Info handle, MPI_Info *copy) {
    INFO_OR_FAIL(info, handle);
    (void)info;
    *copy = copy_info(handle);
    return MPI_SUCCESS;
}

EXPORT int MPI_Info_free(MPI_Info *handle) {
    INFO_OR_FAIL(info, *handle);
    (void)info;
    free_info(handle);
    return MPI_SUCCESS;
}

EXPORT int MPI_Info_set(MPI_Info handle, const char *key, const char *value) {
    INFO_OR_FAIL(info, handle);
    if (wrong_key(key)) return fail_world(MPI_ERR_INFO_KEY);
    if (value == NULL || strlen(value) > MPI_MAX_INFO_VAL) return fail_world(MPI_ERR_INFO_VALUE);
    set(info, key, value);
    return MPI_SUCCESS;
}

EXPORT int MPI_Info_delete(MPI_Info handle, const char *key) {
    INFO_OR_FAIL(info, handle);
    if (wrong_key(key)) return fail_world(MPI_ERR_INFO_KEY);
    struct entry **link = find(info, key);
    if (*link == NULL) return fail_world(MPI_ERR_INFO_NOKEY);
    remove_entry(link);
    return MPI_SUCCESS;
}

EXPORT int MPI_Info_get_nkeys(MPI_Info handle, int *number) {
    INFO_OR_FAIL(info, handle);
    *number = 0;
    for (const struct entry *entry = info->first; entry != NULL; entry = entry->next) ++*number;
    return MPI_SUCCESS;
}

EXPORT int MPI_Info_get_nthkey(MPI_Info handle, int n, char *key) {
    INFO_OR_FAIL(info, handle);
    const struct entry *entry = info->first;
    while (entry != NULL && n-- > 0) entry = entry->next;
    if (entry == NULL) return fail_world(MPI_ERR_ARG);
    strcpy(key, entry->key);
    return MPI_SUCCESS;
}

EXPORT int MPI_Info_get(MPI_Info handle, const char *key, int valuelen, char *value, int *flag) {
    INFO_OR_FAIL(info, handle);
    if (wrong_key(key)) return fail_world(MPI_ERR_INFO_KEY);
    const struct entry *entry = *find(info, key);
    *flag = entry != NULL;
    if (entry != NULL) snprintf(value, (size_t)valuelen + 1, "%s", entry->value);
    return MPI_SUCCESS;
}

EXPORT int MPI_Info_get_valuelen(MPI_Info handle, const char *key, int *valuelen, int *flag) {
    INFO_OR_FAIL(info, handle);
    if (wrong_key(key)) return fail_world(MPI_ERR_INFO_KEY);
    const struct entry *entry = *find(info, key);
    *flag = entry != NULL;
    if (entry != NULL) *valuelen = (int)strlen(entry->value);
    return MPI_SUCCESS;
}

EXPORT int MPI_Info_get_string(MPI_Info handle, const char *key, int *buflen, char *value, int *flag) {
    INFO_OR_FAIL(info, handle);
    if (wrong_key(key)) return fail_world(MPI_ERR_INFO_KEY);
    const struct entry *entry = *find(info, key);
    *flag = entry != NULL;
    if (entry == NULL) return MPI_SUCCESS;
    if (*buflen > 0) snprintf(value, (size_t)*buflen, "%s", entry->value);
    *buflen = (int)strlen(entry->value) + 1;
    return MPI_SUCCESS;
}
