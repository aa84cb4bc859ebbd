// SPDX-License-Identifier: Apache-2.0
//
// System calls without a C library: numbers and the calling instruction of each architecture, and
// the kernel's constants and structures that the agent uses (the same on all four unless it says
// so).
#ifndef HONE_SYSCALL_H
#define HONE_SYSCALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
enum {
  SYS_read = 0,
  SYS_write = 1,
  SYS_close = 3,
  SYS_mmap = 9,
  SYS_mprotect = 10,
  SYS_munmap = 11,
  SYS_rt_sigaction = 13,
  SYS_rt_sigprocmask = 14,
  SYS_rt_sigreturn = 15,
  SYS_getpid = 39,
  SYS_clone = 56,
  SYS_exit = 60,
  SYS_wait4 = 61,
  SYS_kill = 62,
  SYS_setpgid = 109,
  SYS_getppid = 110,
  SYS_rt_sigtimedwait = 128,
  SYS_sigaltstack = 131,
  SYS_prctl = 157,
  SYS_gettid = 186,
  SYS_futex = 202,
  SYS_sched_setaffinity = 203,
  SYS_sched_getaffinity = 204,
  SYS_clock_gettime = 228,
  SYS_exit_group = 231,
  SYS_tgkill = 234,
  SYS_openat = 257,
  SYS_ppoll = 271,
  SYS_prlimit64 = 302,
  SYS_getcpu = 309,
  SYS_seccomp = 317
};
#elif defined(__aarch64__) || defined(__riscv)
enum {
  SYS_openat = 56,
  SYS_close = 57,
  SYS_read = 63,
  SYS_write = 64,
  SYS_ppoll = 73,
  SYS_exit = 93,
  SYS_exit_group = 94,
  SYS_futex = 98,
  SYS_clock_gettime = 113,
  SYS_sched_setaffinity = 122,
  SYS_sched_getaffinity = 123,
  SYS_kill = 129,
  SYS_tgkill = 131,
  SYS_sigaltstack = 132,
  SYS_rt_sigaction = 134,
  SYS_rt_sigprocmask = 135,
  SYS_rt_sigtimedwait = 137,
  SYS_rt_sigreturn = 139,
  SYS_setpgid = 154,
  SYS_prctl = 167,
  SYS_getcpu = 168,
  SYS_getpid = 172,
  SYS_getppid = 173,
  SYS_gettid = 178,
  SYS_munmap = 215,
  SYS_clone = 220,
  SYS_mmap = 222,
  SYS_mprotect = 226,
  SYS_wait4 = 260,
  SYS_prlimit64 = 261,
  SYS_seccomp = 277,
  SYS_riscv_hwprobe = 258,
  SYS_riscv_flush_icache = 259
};
#elif defined(__arm__)
enum {
  SYS_exit = 1,
  SYS_read = 3,
  SYS_write = 4,
  SYS_close = 6,
  SYS_getpid = 20,
  SYS_kill = 37,
  SYS_setpgid = 57,
  SYS_getppid = 64,
  SYS_munmap = 91,
  SYS_wait4 = 114,
  SYS_clone = 120,
  SYS_mprotect = 125,
  SYS_prctl = 172,
  SYS_rt_sigreturn = 173,
  SYS_rt_sigaction = 174,
  SYS_rt_sigprocmask = 175,
  SYS_rt_sigtimedwait = 177,
  SYS_sigaltstack = 186,
  SYS_mmap = 192,
  SYS_gettid = 224,
  SYS_futex = 240,
  SYS_sched_setaffinity = 241,
  SYS_sched_getaffinity = 242,
  SYS_exit_group = 248,
  SYS_clock_gettime = 263,
  SYS_tgkill = 268,
  SYS_openat = 322,
  SYS_ppoll = 336,
  SYS_getcpu = 345,
  SYS_prlimit64 = 369,
  SYS_seccomp = 383,
  SYS_arm_cacheflush = 0x0f0002
};
#else
#error "no system calls for this architecture"
#endif

// The result is negative (an errno) on failure.
static inline long syscall6(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result = number;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
#elif defined(__arm__)
  // r7 is the frame pointer of Thumb code; the agent is ARM code and built without one.
  register long r7 __asm__("r7") = number;
  register long r0 __asm__("r0") = a;
  register long r1 __asm__("r1") = b;
  register long r2 __asm__("r2") = c;
  register long r3 __asm__("r3") = d;
  register long r4 __asm__("r4") = e;
  register long r5 __asm__("r5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(r0)
                   : "r"(r7), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)
                   : "memory");
  return r0;
#else
  register long a7 __asm__("a7") = number;
  register long a0 __asm__("a0") = a;
  register long a1 __asm__("a1") = b;
  register long a2 __asm__("a2") = c;
  register long a3 __asm__("a3") = d;
  register long a4 __asm__("a4") = e;
  register long a5 __asm__("a5") = f;
  __asm__ volatile("ecall"
                   : "+r"(a0)
                   : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
                   : "memory");
  return a0;
#endif
}

static inline long syscall0(long n) { return syscall6(n, 0, 0, 0, 0, 0, 0); }
static inline long syscall1(long n, long a) { return syscall6(n, a, 0, 0, 0, 0, 0); }
static inline long syscall2(long n, long a, long b) { return syscall6(n, a, b, 0, 0, 0, 0); }
static inline long syscall3(long n, long a, long b, long c) {
  return syscall6(n, a, b, c, 0, 0, 0);
}
static inline long syscall4(long n, long a, long b, long c, long d) {
  return syscall6(n, a, b, c, d, 0, 0);
}

enum { EINTR_ = 4, EAGAIN_ = 11 };

enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2, PROT_EXEC = 4 };
enum {
  MAP_SHARED = 1,
  MAP_PRIVATE = 2,
  MAP_ANONYMOUS = 0x20,
  MAP_NORESERVE = 0x4000,
  MAP_FIXED_NOREPLACE = 0x100000
};

enum {
  SIGILL = 4,
  SIGTRAP = 5,
  SIGBUS = 7,
  SIGFPE = 8,
  SIGKILL = 9,
  SIGSEGV = 11,
  SIGPIPE = 13,
  SIGCHLD = 17,
  SIGSTOP = 19,
  SIGCONT = 18,
  SIGSYS = 31
};

// 0 on failure: no mapping of ours begins there.
static inline uint8_t* map_memory(uintptr_t at, size_t bytes, int protection, int flags) {
  const long result = syscall6(SYS_mmap, (long)at, (long)bytes, protection, flags, -1, 0);
  return result < 0 && result > -4096 ? NULL : (uint8_t*)result;
}

struct kernel_timespec {
  long seconds;
  long nanoseconds;
};

#endif
