// SPDX-License-Identifier: Apache-2.0
//
// Time in nanoseconds. A system call costs as much as a small kernel takes, so where user code may
// read a counter of constant rate, that is read and its rate is measured against the clock. The
// rate is measured again before each run over the whole life of the agent, which makes its error
// vanish.
#include "linux.h"

enum { CLOCK_MONOTONIC_RAW = 4 };

uint64_t clock_ns(void) {
  struct kernel_timespec now;
  syscall2(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, (long)&now);
  return (uint64_t)now.seconds * 1000000000u + (uint64_t)now.nanoseconds;
}

#if defined(__arm__)

uint8_t start_timer(void) { return HONE_TIMER_CLOCK; }
void refine_timer(void) {}
uint64_t port_now_ns(void) { return clock_ns(); }

#else

static struct {
  uint8_t kind;
  uint64_t first_tick;
  uint64_t first_ns;
  uint64_t ns_per_tick_2_32;  // times 2^32
} timer;

#if defined(__x86_64__)
static const uint8_t kCounter = HONE_TIMER_TSC;
static uint64_t read_counter(void) {
  uint32_t low, high;
  // Fences, so that the reading does not move into or out of what is timed.
  __asm__ volatile("lfence\n  rdtsc\n  lfence" : "=a"(low), "=d"(high) : : "memory");
  return (uint64_t)high << 32 | low;
}
static bool counter_is_steady(void) {
  uint32_t a = 0x80000000u, b, c = 0, d;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  if (a < 0x80000007u) return false;
  a = 0x80000007u;
  c = 0;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return d >> 8 & 1;
}
#elif defined(__aarch64__)
static const uint8_t kCounter = HONE_TIMER_CNTVCT;
static uint64_t read_counter(void) {
  uint64_t ticks;
  __asm__ volatile("isb\n  mrs %0, cntvct_el0\n  isb" : "=r"(ticks) : : "memory");
  return ticks;
}
static bool counter_is_steady(void) { return true; }
#else
static const uint8_t kCounter = HONE_TIMER_RDTIME;
static uint64_t read_counter(void) {
  uint64_t ticks;
  __asm__ volatile("fence\n  rdtime %0\n  fence" : "=r"(ticks) : : "memory");
  return ticks;
}
static bool counter_is_steady(void) { return true; }
#endif

void refine_timer(void) {
  if (timer.kind == HONE_TIMER_CLOCK) return;
  const uint64_t ns = clock_ns() - timer.first_ns;
  const uint64_t ticks = read_counter() - timer.first_tick;
  // Shifted so that the division stays in 64 bits: 2^31 ns are two seconds, more is precise enough.
  int shift = 0;
  while (ns >> shift >> 31) ++shift;
  const uint64_t short_ticks = ticks >> shift;
  timer.ns_per_tick_2_32 = short_ticks ? ((ns >> shift) << 32) / short_ticks : 0;
}

uint64_t port_now_ns(void) {
  if (timer.kind == HONE_TIMER_CLOCK) return clock_ns();
  const unsigned __int128 ticks = read_counter() - timer.first_tick;
  return (uint64_t)(ticks * timer.ns_per_tick_2_32 >> 32);
}

uint8_t start_timer(void) {
  timer.kind = HONE_TIMER_CLOCK;
  if (!counter_is_steady()) return timer.kind;
  timer.first_ns = clock_ns();
  timer.first_tick = read_counter();
  while (clock_ns() - timer.first_ns < 4000000) {
  }
  timer.kind = kCounter;
  refine_timer();
  // A counter below 1 MHz, or one that stands still, is worse than the clock.
  if (timer.ns_per_tick_2_32 == 0 || timer.ns_per_tick_2_32 >> 32 >= 1000)
    timer.kind = HONE_TIMER_CLOCK;
  return timer.kind;
}

#endif

uint32_t measure_timer_overhead(void) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 200; ++i) {
    const uint64_t begin = port_now_ns();
    const uint64_t took = port_now_ns() - begin;
    if (took < least) least = took;
  }
  return (uint32_t)least;
}
