// Places in a program that call MPI; also of the library of simulated programs.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>

enum { MOST_TEXT = 4096 };

void sites_prepare(void);
// The number, from 1, of the place in the program that calls the library; with the lock held. 0: not known.
uint64_t site_of(const void *caller);
// Whether that place is a line of Python which calls mpi4py itself, not its package mpi4py.util or mpi4py.futures.
int called_by_program(void);

// What the library has for it.
void lock_sites(void);
void unlock_sites(void);
// A new site, of a language: 1 Python, 2 C; 0 where there is no room for it.
int keep_site(uint64_t id, const char *file, uint64_t line, const char *function, unsigned language);
void no_sites(const char *reason);
