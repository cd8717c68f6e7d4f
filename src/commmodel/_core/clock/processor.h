/* What the processor says about its time stamp counter. All zero where there is no such instruction. */
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
/* Leaves of a hypervisor lie outside the range that __get_cpuid checks, hence __cpuid_count. */
static inline unsigned cpuid_highest(unsigned range) { return __get_cpuid_max(range & 0x80000000u, 0); }
static inline void cpuid_read(unsigned leaf, unsigned registers[4]) {
    __cpuid_count(leaf, 0, registers[0], registers[1], registers[2], registers[3]);
}
#else
static inline unsigned cpuid_highest(unsigned range) {
    (void)range;
    return 0;
}
static inline void cpuid_read(unsigned leaf, unsigned registers[4]) {
    (void)leaf;
    registers[0] = registers[1] = registers[2] = registers[3] = 0;
}
#endif

#if defined(__aarch64__)
static inline unsigned long long counter_frequency_register(void) {
    unsigned long long f;
    __asm__("mrs %0, cntfrq_el0" : "=r"(f));
    return f;
}
#else
static inline unsigned long long counter_frequency_register(void) { return 0; }
#endif
