// SPDX-License-Identifier: Apache-2.0
//
// Worker threads of a candidate: pinned, alive from before the checked run to the end of the
// process. A worker that waits spins a little, because parallel loops follow each other within
// microseconds, and then sleeps in the kernel, because a core that spins takes its time from the
// others. Thread t begins with index t and takes what is left one by one; so a loop over the
// workers' own memory keeps each part on its core.
#include "linux.h"

enum {
  kStackBytes = 1 << 20,
  kSpins = 2000,  // some 20 to 100 microseconds
  FUTEX_WAIT_PRIVATE = 128,
  FUTEX_WAKE_PRIVATE = 129
};

struct thread_pool {
  struct hone_parallel parallel;
  uint16_t core_count;
  uint16_t cores[HONE_MAX_THREADS];
  // The loop that runs now.
  void (*body)(void* context, intptr_t index, intptr_t worker);
  void* context;
  intptr_t count;
  bool busy;
  // On lines of their own: each is written by one side and read by all others.
  _Alignas(64) _Atomic uint32_t round;
  _Atomic uint32_t sleepers;
  _Alignas(64) _Atomic intptr_t next;
  _Alignas(64) _Atomic uint32_t pending;
  _Atomic uint32_t caller_sleeps;
};

struct worker {
  struct thread_pool* pool;
  intptr_t number;
};

static struct thread_pool pool;
static struct worker workers[HONE_MAX_THREADS];

static void relax(void) {
#if defined(__x86_64__)
  __asm__ volatile("pause");
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ volatile("yield");
#else
  // The `pause` hint, in the encoding of a fence that does nothing on cores without it.
  __asm__ volatile(".4byte 0x0100000f");
#endif
}

void pin_to(uint16_t core) {
  unsigned long mask[128 / sizeof(long)] = {0};
  if (core >= 8 * sizeof mask) return;
  mask[core / (8 * sizeof(long))] = 1ul << core % (8 * sizeof(long));
  // May fail, if the core was taken offline; the context of the run tells where it ran.
  syscall3(SYS_sched_setaffinity, 0, sizeof mask, (long)mask);
}

static void sleep_while(_Atomic uint32_t* word, uint32_t value) {
  syscall4(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, (long)value, 0);
}

static void wake(_Atomic uint32_t* word, long count) {
  syscall3(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, count);
}

// A thread's first index is its number.
static void take_part(struct thread_pool* p, intptr_t first) {
  for (intptr_t i = first; i < p->count; i = __c11_atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED))
    p->body(p->context, i, first);
}

static void wait_for_round(struct thread_pool* p, uint32_t seen) {
  for (int i = 0; i < kSpins; ++i) {
    if (__c11_atomic_load(&p->round, __ATOMIC_ACQUIRE) != seen) return;
    relax();
  }
  __c11_atomic_fetch_add(&p->sleepers, 1, __ATOMIC_SEQ_CST);
  while (__c11_atomic_load(&p->round, __ATOMIC_SEQ_CST) == seen) sleep_while(&p->round, seen);
  __c11_atomic_fetch_sub(&p->sleepers, 1, __ATOMIC_SEQ_CST);
}

static void report_done(struct thread_pool* p) {
  if (__c11_atomic_fetch_sub(&p->pending, 1, __ATOMIC_SEQ_CST) == 1 &&
      __c11_atomic_load(&p->caller_sleeps, __ATOMIC_SEQ_CST))
    wake(&p->pending, 1);
}

static void work(void* argument) {
  const struct worker* worker = argument;
  struct thread_pool* p = worker->pool;
  use_signal_stack();
  if (p->core_count) pin_to(p->cores[(uint32_t)worker->number % p->core_count]);
  report_done(p);
  for (uint32_t round = 0;; ++round) {
    wait_for_round(p, round);
    take_part(p, worker->number);
    report_done(p);
  }
}

static void wait_for_workers(struct thread_pool* p) {
  for (int i = 0; i < kSpins; ++i) {
    if (__c11_atomic_load(&p->pending, __ATOMIC_ACQUIRE) == 0) return;
    relax();
  }
  __c11_atomic_store(&p->caller_sleeps, 1, __ATOMIC_SEQ_CST);
  for (uint32_t left; (left = __c11_atomic_load(&p->pending, __ATOMIC_SEQ_CST)) != 0;)
    sleep_while(&p->pending, left);
  __c11_atomic_store(&p->caller_sleeps, 0, __ATOMIC_SEQ_CST);
}

static void run_parallel(const struct hone_parallel* self,
                         void (*body)(void* context, intptr_t index, intptr_t worker), void* context,
                         intptr_t count) {
  struct thread_pool* p = self->pool;
  if (self->threads == 1 || count <= 1 || p->busy) {
    for (intptr_t i = 0; i < count; ++i) body(context, i, 0);
    return;
  }
  p->busy = true;
  p->body = body;
  p->context = context;
  p->count = count;
  __c11_atomic_store(&p->next, self->threads, __ATOMIC_RELAXED);
  __c11_atomic_store(&p->pending, (uint32_t)self->threads - 1, __ATOMIC_RELAXED);
  __c11_atomic_fetch_add(&p->round, 1, __ATOMIC_SEQ_CST);
  if (__c11_atomic_load(&p->sleepers, __ATOMIC_SEQ_CST)) wake(&p->round, INT32_MAX);
  take_part(p, 0);
  wait_for_workers(p);
  p->busy = false;
}

static void choose_cores(const struct hone_run* run) {
  const struct hone_facts* facts = port_facts();
  if (run->core_count) {
    pool.core_count = run->core_count;
    for (uint16_t i = 0; i < run->core_count; ++i) pool.cores[i] = run->cores[i];
    return;
  }
  // From the last core down: the first one serves most interrupts.
  for (uint16_t i = 0; i < facts->core_count && i < HONE_MAX_THREADS; ++i)
    pool.cores[pool.core_count++] = facts->cores[facts->core_count - 1 - i].id;
}

struct hone_parallel* start_threads(const struct hone_run* run) {
  pool.parallel = (struct hone_parallel){run_parallel, run->threads, &pool};
  choose_cores(run);
  if (pool.core_count) pin_to(pool.cores[0]);
  const size_t page = port_facts()->page_bytes;
  __c11_atomic_store(&pool.pending, run->threads - 1u, __ATOMIC_RELAXED);
  for (intptr_t t = 1; t < run->threads; ++t) {
    // A page below that nobody may touch, so that an overflow is a fault.
    uint8_t* stack = map_memory(0, kStackBytes + page, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
    if (!stack) return NULL;
    syscall3(SYS_mprotect, (long)stack, (long)page, PROT_NONE);
    workers[t] = (struct worker){&pool, t};
    if (clone_thread(stack + page + kStackBytes, work, &workers[t]) < 0) return NULL;
  }
  // They need system calls to begin with, which the filter will not let them have.
  wait_for_workers(&pool);
  return &pool.parallel;
}
