// SPDX-License-Identifier: Apache-2.0
//
// Hand-made candidates, good and bad. The task of all: x is f32[1000] input, y is f32[1000] output.
#include "protocol.h"

enum { kElements = 1000 };

typedef void* const* buffers_t;
typedef const struct hone_parallel* parallel_t;

static const float* input(buffers_t buffers) { return buffers[0]; }
static float* output(buffers_t buffers) { return buffers[1]; }

void good(buffers_t buffers, void* workspace, parallel_t parallel) {
  (void)workspace, (void)parallel;
  for (int i = 0; i < kElements; ++i) output(buffers)[i] = input(buffers)[i] + 1;
}

void wrong(buffers_t buffers, void* workspace, parallel_t parallel) {
  good(buffers, workspace, parallel);
  output(buffers)[777] += 1;
}

void leaves_unwritten(buffers_t buffers, void* workspace, parallel_t parallel) {
  (void)workspace, (void)parallel;
  for (int i = 0; i < kElements - 1; ++i) output(buffers)[i] = input(buffers)[i] + 1;
}

// ---- data of the image itself: tables, variables with a value, variables without
static const float table[4] = {0.25f, 0.25f, 0.25f, 0.25f};
static volatile float quarter_sum = 0;
static volatile float offset = 1;
static volatile float zeros[4096];

void uses_data(buffers_t buffers, void* workspace, parallel_t parallel) {
  (void)parallel;
  float* copy = workspace;
  quarter_sum = 0;
  for (int i = 0; i < 4; ++i) quarter_sum += table[i];
  for (int i = 0; i < kElements; ++i) copy[i] = input(buffers)[i] * quarter_sum;
  for (int i = 0; i < kElements; ++i) output(buffers)[i] = copy[i] + offset + zeros[4 * i];
}

// ---- constants: behind the task's buffers; filled once, ahead of all calls
static float* constants(buffers_t buffers) { return buffers[2]; }

static volatile int prepared = 0;

void prepare(buffers_t buffers, void* workspace, parallel_t parallel) {
  (void)workspace, (void)parallel;
  ++prepared;
  for (int i = 0; i < kElements; ++i) constants(buffers)[i] = input(buffers)[i] + 1;
}

void uses_constants(buffers_t buffers, void* workspace, parallel_t parallel) {
  (void)workspace, (void)parallel;
  const float once = prepared == 1 ? 0 : 1;
  for (int i = 0; i < kElements; ++i) output(buffers)[i] = constants(buffers)[i] + once;
}

void prepares_above(buffers_t buffers, void* workspace, parallel_t parallel) {
  prepare(buffers, workspace, parallel);
  constants(buffers)[1008] = 1;  // 1000 of them end at a multiple of 64 bytes
}

// ---- parallel loops
static void add_one(void* context, intptr_t part, intptr_t worker) {
  (void)worker;
  buffers_t buffers = context;
  for (int i = (int)part * 10; i < (int)part * 10 + 10; ++i)
    output(buffers)[i] = input(buffers)[i] + 1;
}

void parallel_good(buffers_t buffers, void* workspace, parallel_t parallel) {
  (void)workspace;
  parallel->run(parallel, add_one, (void*)buffers, kElements / 10);
}

struct inner {
  buffers_t buffers;
  parallel_t parallel;
  intptr_t half;
};

static void inner_part(void* context, intptr_t part, intptr_t worker) {
  const struct inner* inner = context;
  add_one((void*)inner->buffers, inner->half * 50 + part, worker);
}

static void outer_part(void* context, intptr_t half, intptr_t worker) {
  (void)worker;
  struct inner inner = *(const struct inner*)context;
  inner.half = half;
  inner.parallel->run(inner.parallel, inner_part, &inner, 50);
}

void nested_parallel(buffers_t buffers, void* workspace, parallel_t parallel) {
  (void)workspace;
  struct inner inner = {buffers, parallel, 0};
  parallel->run(parallel, outer_part, &inner, 2);
}

// Where the stack of the thread that ran part i lies, in MiB.
static void tell_stack(void* context, intptr_t part, intptr_t worker) {
  (void)worker;
  volatile char here = 0;
  output(context)[part] = (float)(((uintptr_t)&here >> 20) & 0xfff) + here;
}

void tells_stacks(buffers_t buffers, void* workspace, parallel_t parallel) {
  (void)workspace;
  for (int i = 0; i < kElements; ++i) output(buffers)[i] = 0;
  parallel->run(parallel, tell_stack, (void*)buffers, parallel->threads);
}

// Rounds of loops far apart: workers have gone to sleep and must wake.
void parallel_with_pauses(buffers_t buffers, void* workspace, parallel_t parallel) {
  for (int round = 0; round < 5; ++round) {
    for (volatile int i = 0; i < 2000000; ++i) {
    }
    parallel_good(buffers, workspace, parallel);
  }
}

static void crash_in_part(void* context, intptr_t part, intptr_t worker) {
  add_one(context, part, worker);
  if (part == 63) *(volatile int*)16 = 1;
}

void parallel_crash(buffers_t buffers, void* workspace, parallel_t parallel) {
  (void)workspace;
  parallel->run(parallel, crash_in_part, (void*)buffers, kElements / 10);
}

// ---- bad ones
void crashes(buffers_t buffers, void* workspace, parallel_t parallel) {
  good(buffers, workspace, parallel);
  *(volatile int*)64 = 1;
}

static volatile int calls;

void crashes_later(buffers_t buffers, void* workspace, parallel_t parallel) {
  good(buffers, workspace, parallel);
  calls = calls + 1;
  if (calls > 1) *(volatile int*)64 = 1;
}

void writes_above_later(buffers_t buffers, void* workspace, parallel_t parallel) {
  good(buffers, workspace, parallel);
  calls = calls + 1;
  if (calls > 1) output(buffers)[kElements] = 3;
}

void illegal(buffers_t buffers, void* workspace, parallel_t parallel) {
  (void)buffers, (void)workspace, (void)parallel;
#if defined(__x86_64__)
  __asm__ volatile("ud2");
#elif defined(__aarch64__)
  __asm__ volatile(".inst 0");
#elif defined(__arm__)
  __asm__ volatile("udf #0");
#else
  __asm__ volatile(".4byte 0");
#endif
}

void endless(buffers_t buffers, void* workspace, parallel_t parallel) {
  (void)buffers, (void)workspace, (void)parallel;
  for (;;) __asm__ volatile("");
}

static void endless_part(void* context, intptr_t part, intptr_t worker) {
  (void)context, (void)part;
  for (;;) __asm__ volatile("");
}

void parallel_endless(buffers_t buffers, void* workspace, parallel_t parallel) {
  (void)workspace;
  parallel->run(parallel, endless_part, (void*)buffers, parallel->threads);
}

void writes_below(buffers_t buffers, void* workspace, parallel_t parallel) {
  good(buffers, workspace, parallel);
  ((volatile char*)output(buffers))[-1] = 1;
}

void writes_above(buffers_t buffers, void* workspace, parallel_t parallel) {
  good(buffers, workspace, parallel);
  ((volatile char*)(output(buffers) + kElements))[0] = 1;
}

void writes_above_workspace(buffers_t buffers, void* workspace, parallel_t parallel) {
  good(buffers, workspace, parallel);
  ((volatile char*)workspace)[4096] = 1;
}

void writes_input(buffers_t buffers, void* workspace, parallel_t parallel) {
  (void)workspace, (void)parallel;
  ((volatile float*)buffers[0])[5] = 1;
}

static int deeper(volatile char* above) {
  volatile char frame[4096];
  frame[0] = (char)(above[0] + 1);
  return deeper(frame) + frame[0];
}

void eats_stack(buffers_t buffers, void* workspace, parallel_t parallel) {
  (void)workspace, (void)parallel;
  volatile char top = 0;
  output(buffers)[0] = (float)deeper(&top);
}

// Like the system calls of a program that went astray.
static long call_system(long number, long a, long b, long c) {
#if defined(__x86_64__)
  long result = number;
  __asm__ volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
#else
  (void)a, (void)b, (void)c;
  return number;
#endif
}

void closes_files(buffers_t buffers, void* workspace, parallel_t parallel) {
  for (int fd = 0; fd < 1024; ++fd) call_system(3, fd, 0, 0);
  good(buffers, workspace, parallel);
}

void kills_parent(buffers_t buffers, void* workspace, parallel_t parallel) {
  good(buffers, workspace, parallel);
  call_system(62, call_system(110, 0, 0, 0), 9, 0);
}

void kills_everything(buffers_t buffers, void* workspace, parallel_t parallel) {
  good(buffers, workspace, parallel);
  call_system(62, 0, 9, 0);
}

void exits(buffers_t buffers, void* workspace, parallel_t parallel) {
  good(buffers, workspace, parallel);
  call_system(231, 0, 0, 0);
}
