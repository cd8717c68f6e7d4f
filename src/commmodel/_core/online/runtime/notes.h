// Notes on a rank that the user gets beside its times: memory, threaded BLAS.
#pragma once

void look_for_blas(void);
void note_memory(void);
