/* Which MPI ABI mpi.h is for: the Makefile runs this through the preprocessor and reads the last line.
 * The names are those of the compiled core's files (see setup.py).
 */
#include <mpi.h>
// clang-format off: the text after = is read
#if defined(OPEN_MPI)
ABI=openmpi
#elif defined(MPI_ABI_VERSION)
ABI=mpiabi
#else
ABI=mpich
#endif
