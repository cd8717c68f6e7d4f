"""What MPICH's Fortran bindings ask of the library: the same answers from the simulated and from the real one."""

import pytest
from support.launching import launch
from support.simulated_runs import simulable_program, simulate

pytestmark = [pytest.mark.mpi, pytest.mark.simulated]

BINDINGS = r"""
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
enum { POINTER = 0, ADDRESS_SIZED = 1, INTEGER = 3 };
typedef int copier(int, int, void *, void *, void *, int *);
typedef int deleter(int, int, void *, void *);
typedef int copy_proxy(copier *, int, int, void *, int, void *, void **, int *);
typedef int delete_proxy(deleter *, int, int, int, void *, void *);
void MPII_Keyval_set_proxy(int, copy_proxy *, delete_proxy *);
void MPII_Grequest_set_lang_f77(MPI_Request);
int MPII_Comm_get_attr(MPI_Comm, int, void *, int *, int), MPII_Comm_set_attr(MPI_Comm, int, void *, int);
int MPII_Type_get_attr(MPI_Datatype, int, void *, int *, int), MPII_Type_set_attr(MPI_Datatype, int, void *, int);
int MPII_Win_get_attr(MPI_Win, int, void *, int *, int), MPII_Win_set_attr(MPI_Win, int, void *, int);

/* As a program of Fortran has them: all by reference, and the error last. */
static void copy_of_program(int *of, int *keyval, intptr_t *state, intptr_t *in, intptr_t *out, int *flag, int *error) {
    (void)of, (void)keyval;
    *out = *in + *state, *flag = 1, *error = MPI_SUCCESS;
}
static void delete_of_program(int *of, int *keyval, intptr_t *value, intptr_t *state, int *error) {
    (void)of, (void)keyval;
    printf("deleted %ld, state %ld\n", (long)*value, (long)*state);
    *error = MPI_SUCCESS;
}
/* As the bindings have them. */
static int copy(copier *function, int of, int keyval, void *state, int type, void *in, void **out, int *flag) {
    intptr_t from = (intptr_t)in, to = 0, extra = (intptr_t)state;
    int error = MPI_SUCCESS;
    printf("copied as %d\n", type);
    ((void (*)(int *, int *, intptr_t *, intptr_t *, intptr_t *, int *, int *))(void *)function)(
        &of, &keyval, &extra, &from, &to, flag, &error);
    *out = (void *)to;
    return error;
}
static int delete(deleter *function, int of, int keyval, int type, void *in, void *state) {
    intptr_t value = (intptr_t)in, extra = (intptr_t)state;
    int error = MPI_SUCCESS;
    printf("deleted as %d\n", type);
    ((void (*)(int *, int *, intptr_t *, intptr_t *, int *))(void *)function)(&of, &keyval, &value, &extra, &error);
    return error;
}
static void query(intptr_t *state, MPI_Status *status, int *error) {
    MPI_Status_set_elements(status, MPI_INT, (int)*state);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 5, status->MPI_TAG = 6;
    *error = MPI_SUCCESS;
}
static void release(intptr_t *state, int *error) { printf("released %ld\n", (long)*state), *error = MPI_SUCCESS; }
static void cancel(intptr_t *state, int *is_done, int *error) {
    printf("cancel %ld, %s\n", (long)*state, *is_done ? "done" : "not done"), *error = MPI_SUCCESS;
}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int flag = 0, keyval, count, rank;
    intptr_t number = 0, state = 7;
    void *pointer = NULL;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    /* What is predefined is a number to Fortran, and an address to C. */
    MPII_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB + 1, &number, &flag, ADDRESS_SIZED);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &pointer, &flag);
    printf("%d: tags %s\n", flag, number == *(int *)pointer && number >= 32767 ? "alike" : "differ");
    MPII_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL + 1, &number, &flag, ADDRESS_SIZED);
    printf("wtime %d\n", flag);

    /* A value of Fortran is C's by its address, that of C is Fortran's by its value; duplicates are the program's. */
    MPI_Comm duplicate;
    MPI_Comm_create_keyval((MPI_Comm_copy_attr_function *)(void *)copy_of_program,
                           (MPI_Comm_delete_attr_function *)(void *)delete_of_program, &keyval, (void *)state);
    MPII_Keyval_set_proxy(keyval, copy, delete);
    MPII_Comm_get_attr(MPI_COMM_WORLD, keyval, &number, &flag, ADDRESS_SIZED);
    printf("before: %d\n", flag);
    MPII_Comm_set_attr(MPI_COMM_WORLD, keyval, (void *)(intptr_t)100, ADDRESS_SIZED);
    MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &pointer, &flag);
    printf("to C: %d %ld\n", flag, (long)*(intptr_t *)pointer);
    MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
    MPII_Comm_get_attr(duplicate, keyval, &number, &flag, ADDRESS_SIZED);
    printf("duplicate: %d %ld\n", flag, (long)number);
    MPI_Comm_free(&duplicate);
    MPII_Comm_set_attr(MPI_COMM_WORLD, keyval, (void *)(intptr_t)-3, INTEGER);
    MPII_Comm_get_attr(MPI_COMM_WORLD, keyval, &number, &flag, INTEGER);
    printf("integer: %d %d\n", flag, (int)number);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
    MPI_Comm_free_keyval(&keyval);

    MPI_Type_create_keyval((MPI_Type_copy_attr_function *)(void *)copy_of_program,
                           (MPI_Type_delete_attr_function *)(void *)delete_of_program, &keyval, (void *)state);
    MPII_Keyval_set_proxy(keyval, copy, delete);
    MPI_Datatype pair, twin;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPII_Type_set_attr(pair, keyval, (void *)(intptr_t)11, ADDRESS_SIZED);
    MPI_Type_dup(pair, &twin);
    MPII_Type_get_attr(twin, keyval, &number, &flag, ADDRESS_SIZED);
    printf("type: %d %ld\n", flag, (long)number);
    MPI_Type_free(&twin), MPI_Type_free(&pair);
    MPI_Type_free_keyval(&keyval);

    MPI_Win window;
    int cell = 0;
    MPI_Win_create(&cell, sizeof cell, sizeof cell, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &keyval, NULL);
    MPII_Win_set_attr(window, keyval, (void *)(intptr_t)13, ADDRESS_SIZED);
    MPII_Win_get_attr(window, keyval, &number, &flag, ADDRESS_SIZED);
    printf("window: %d %ld\n", flag, (long)number);
    MPII_Win_get_attr(window, MPI_WIN_SIZE + 1, &number, &flag, ADDRESS_SIZED);
    printf("window of %ld B\n", (long)number);
    MPI_Win_free_keyval(&keyval);
    MPI_Win_free(&window);

    MPI_Request request;
    MPI_Status status;
    intptr_t elements = 4;
    MPI_Grequest_start((MPI_Grequest_query_function *)(void *)query, (MPI_Grequest_free_function *)(void *)release,
                       (MPI_Grequest_cancel_function *)(void *)cancel, &elements, &request);
    MPII_Grequest_set_lang_f77(request);
    MPI_Cancel(&request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    printf("request: %d from %d with %d\n", count, status.MPI_SOURCE, status.MPI_TAG);
    MPI_Finalize();
    return 0;
}
"""

WITH_STATE = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
extern int MPIR_fortran_true, MPIR_fortran_false;
extern MPI_F08_status MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1];
static void add(void *in, void *into, MPI_Count count, MPI_Datatype type, void *state) {
    for (MPI_Count i = 0; i < count; i++) ((int *)into)[i] += ((int *)in)[i] + *(int *)state;
    if (type != MPI_INT) printf("another type\n");
}
static void release(void *state) { printf("released %d\n", *(int *)state), free(state); }
static int *state_of(int value) {
    int *state = malloc(sizeof *state);
    return *state = value, state;
}
static const char *class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class == MPI_ERR_OTHER ? "other" : "wrong class";
}
static void of_communicator(MPI_Comm comm, int code, void *state) {
    printf("communicator %d %s %d\n", comm == MPI_COMM_SELF, class_of(code), *(int *)state);
}
static MPI_Win window;
static void of_window(MPI_Win win, int code, void *state) {
    printf("window %d %s %d\n", win == window, class_of(code), *(int *)state);
}
static void of_file(MPI_File file, int code, void *state) {
    printf("file %d %s %d\n", file == MPI_FILE_NULL, class_of(code), *(int *)state);
}
static MPI_Session session;
static void of_session(MPI_Session of, int code, void *state) {
    printf("session %d %s %d\n", of == session, class_of(code), *(int *)state);
}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int cells[2] = {1, 2}, sums[2];
    printf("true %d, false %d\n", MPIR_fortran_true, MPIR_fortran_false);
    printf("status %d %d\n", MPI_F08_STATUS_IGNORE == &MPIR_F08_MPI_STATUS_IGNORE_OBJ,
           MPI_F08_STATUSES_IGNORE == MPIR_F08_MPI_STATUSES_IGNORE_OBJ);
    MPI_Op op;
    MPIX_Op_create_x(add, release, 1, state_of(100), &op);
    MPI_Reduce_local((int[]){10, 20}, cells, 2, MPI_INT, op);
    printf("sums %d %d\n", cells[0], cells[1]);
    MPI_Scan(cells, sums, 2, MPI_INT, op, MPI_COMM_SELF);
    MPI_Op_free(&op);

    MPI_Errhandler handler;
    MPIX_Comm_create_errhandler_x(of_communicator, release, state_of(1), &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_OTHER);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Win_create(cells, sizeof cells, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
    MPIX_Win_create_errhandler_x(of_window, release, state_of(2), &handler);
    MPI_Win_set_errhandler(window, handler);
    MPI_Errhandler_free(&handler);
    MPI_Win_call_errhandler(window, MPI_ERR_OTHER);
    MPI_Win_free(&window);
    MPIX_File_create_errhandler_x(of_file, release, state_of(3), &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    MPI_Errhandler_free(&handler);
    MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_OTHER);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPIX_Session_create_errhandler_x(of_session, NULL, state_of(4), &handler);
    MPI_Session_set_errhandler(session, handler);
    MPI_Errhandler_free(&handler);
    MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
    MPI_Session_finalize(&session);
    MPI_Finalize();
    return 0;
}
"""
OLD_NAMES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int class, code, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "words");
    const char *const names[] = {"PMPIX_Delete_error_code", "PMPIX_Delete_error_string", "PMPIX_Delete_error_code"};
    for (int i = 0; i < 3; i++) printf("%d\n", ((int (*)(int))dlsym(RTLD_DEFAULT, names[i]))(code) == MPI_SUCCESS);
    printf("%d\n", ((int (*)(int))dlsym(RTLD_DEFAULT, "PMPIX_Delete_error_class"))(class) == MPI_SUCCESS);
    MPI_Error_string(code, text, &length);
    puts(text);
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize(
    ("source", "line"), [(BINDINGS, "request: 4 from 5 with 6"), (WITH_STATE, "released 100")],
    ids=["values of Fortran", "functions with a state"],
)  # fmt: skip
def test_bindings_get_what_the_real_library_gives(tmp_path, source, line):
    program = simulable_program(tmp_path, source)
    real, simulated = launch(1, program), simulate("--compute", "0", "--", str(program), processes=1)
    assert (real.returncode, simulated.returncode) == (0, 0), real.stderr + simulated.stderr
    assert line in real.stdout
    assert simulated.stdout.startswith(real.stdout)


def test_errors_are_removed_by_the_names_of_mpich_4_0_too(tmp_path):
    program = simulable_program(tmp_path, OLD_NAMES)
    simulated = simulate("--compute", "0", "--", str(program), processes=1)
    assert simulated.stdout.startswith("0\n1\n1\n1\nunknown error\n"), simulated.stderr
