// SPDX-License-Identifier: Apache-2.0
//
// What the files of the Linux port share with each other.
#ifndef HONE_LINUX_H
#define HONE_LINUX_H

#include <stdbool.h>
#include <stdint.h>

#include "port.h"
#include "syscall.h"

// ---- start.c: the auxiliary vector that the kernel leaves above the stack
struct machine {
  unsigned long hwcap;
  unsigned long hwcap2;
  unsigned long page_bytes;
  const uint8_t* random;  // 16 bytes, or null
};

// ---- features.c
uint16_t find_features(const struct machine* machine, const char** names, uint16_t space);

// ---- sysfs.c
uint16_t find_cores(struct hone_core* cores, uint16_t space);
int64_t core_khz(uint32_t core);         // -1: the machine does not say
int64_t core_governor(uint32_t core);    // enum hone_governor; -1
int64_t temperature_millidegrees(void);  // -1
uint64_t available_memory_bytes(void);

// ---- timer.c
uint8_t start_timer(void);  // returns enum hone_timer
void refine_timer(void);    // the longer the agent runs, the better it knows the counter's rate
uint32_t measure_timer_overhead(void);
uint64_t clock_ns(void);  // CLOCK_MONOTONIC_RAW by system call, for deadlines

// ---- threads.c
struct thread_pool;
// Starts run->threads - 1 workers and pins them and the caller; null: it could not.
struct hone_parallel* start_threads(const struct hone_run* run);
void pin_to(uint16_t core);

// ---- sandbox.c
void watch_signals(struct hone_record* record);
bool use_signal_stack(void);  // of the calling thread
void limit_resources(const struct hone_run* run);
bool filter_system_calls(void);  // false: this kernel (or emulator) has no filters

// ---- candidate.c: runs in the forked process and does not return
_Noreturn void become_candidate(const struct hone_run* run, int agent_pid);

// ---- clone.c
// A thread that runs function(argument) on the stack that ends at `stack_top`; its id, or an errno.
long clone_thread(void* stack_top, void (*function)(void* argument), void* argument);
void synchronize_code(uint8_t* begin, uint64_t bytes);  // written bytes may be executed

#endif
