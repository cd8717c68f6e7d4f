// Attributes: values that a program keeps with communicators, datatypes and windows.
#pragma once

#include "online/objects/handles.h"

struct attribute;
typedef int attribute_copier(int, int, void *, void *, void *, int *);
typedef int attribute_deleter(int, int, void *, void *);

enum value_type { POINTER = 0, ADDRESS_SIZED = 1, INTEGER = 3 };  // MPICH's; the last two are numbers of Fortran
int create_keyval(enum kind kind, attribute_copier *copy, attribute_deleter *delete, int *handle, void *state);
int free_keyval(enum kind kind, int *handle);
int copy_attributes(int object, struct attribute *attributes, struct attribute **copies);
int delete_attributes(int object, struct attribute **attributes);
int set_attribute(enum kind kind, int object, struct attribute **attributes, int keyval, void *value,
                  enum value_type type);
int get_attribute(enum kind kind, struct attribute **attributes, int keyval, void *value, int *flag,
                  enum value_type type);
int delete_attribute(enum kind kind, int object, struct attribute **attributes, int keyval);
