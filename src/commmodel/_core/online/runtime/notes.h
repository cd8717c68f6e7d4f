// What the user is told of a rank besides times.
#pragma once

void look_for_blas(void);
void note_memory(void);
