// SPDX-License-Identifier: Apache-2.0
//
// The two things that C cannot say: a thread begins on another stack, and caches learn of new code.
#include "linux.h"

enum {
  kThreadFlags = 0x100 /* VM */ | 0x200 /* FS */ | 0x400 /* FILES */ | 0x800 /* SIGHAND */ |
                 0x10000 /* THREAD */ | 0x40000 /* SYSVSEM */
};

// The new thread comes back from the same system call with nothing but registers, so what it needs
// stays in registers across it. Its function does not return; the trap says so if it does.
long clone_thread(void* stack_top, void (*function)(void* argument), void* argument) {
#if defined(__x86_64__)
  register long result __asm__("rax") = SYS_clone;
  register long r10 __asm__("r10") = 0;
  register long r8 __asm__("r8") = 0;
  register void (*r12)(void*) __asm__("r12") = function;
  register void* r13 __asm__("r13") = argument;
  __asm__ volatile(
      "syscall\n  test %%rax, %%rax\n  jnz 1f\n  xor %%ebp, %%ebp\n  mov %%r13, %%rdi\n"
      "  call *%%r12\n  ud2\n1:"
      : "+r"(result)
      : "D"((long)kThreadFlags), "S"(stack_top), "d"(0L), "r"(r10), "r"(r8), "r"(r12), "r"(r13)
      : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = SYS_clone;
  register long x0 __asm__("x0") = kThreadFlags;
  register void* x1 __asm__("x1") = stack_top;
  register long x2 __asm__("x2") = 0;
  register long x3 __asm__("x3") = 0;
  register long x4 __asm__("x4") = 0;
  register void (*x9)(void*) __asm__("x9") = function;
  register void* x10 __asm__("x10") = argument;
  __asm__ volatile("svc 0\n  cbnz x0, 1f\n  mov x29, xzr\n  mov x0, x10\n  blr x9\n  brk 1\n1:"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x9), "r"(x10)
                   : "memory");
  return x0;
#elif defined(__arm__)
  register long r7 __asm__("r7") = SYS_clone;
  register long r0 __asm__("r0") = kThreadFlags;
  register void* r1 __asm__("r1") = stack_top;
  register long r2 __asm__("r2") = 0;
  register long r3 __asm__("r3") = 0;
  register long r4 __asm__("r4") = 0;
  register void (*r5)(void*) __asm__("r5") = function;
  register void* r6 __asm__("r6") = argument;
  __asm__ volatile("svc 0\n  cmp r0, #0\n  bne 1f\n  mov r0, r6\n  blx r5\n  udf #0\n1:"
                   : "+r"(r0)
                   : "r"(r7), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5), "r"(r6)
                   : "cc", "memory");
  return r0;
#else
  register long a7 __asm__("a7") = SYS_clone;
  register long a0 __asm__("a0") = kThreadFlags;
  register void* a1 __asm__("a1") = stack_top;
  register long a2 __asm__("a2") = 0;
  register long a3 __asm__("a3") = 0;
  register long a4 __asm__("a4") = 0;
  register void (*s2)(void*) __asm__("s2") = function;
  register void* s3 __asm__("s3") = argument;
  __asm__ volatile("ecall\n  bnez a0, 1f\n  mv a0, s3\n  jalr s2\n  ebreak\n1:"
                   : "+r"(a0)
                   : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(s2), "r"(s3)
                   : "memory");
  return a0;
#endif
}

void synchronize_code(uint8_t* begin, uint64_t bytes) {
#if defined(__x86_64__)
  (void)begin;
  (void)bytes;
#elif defined(__aarch64__)
  uint64_t kinds;
  __asm__ volatile("mrs %0, ctr_el0" : "=r"(kinds));
  const uint64_t data_line = 4u << (kinds >> 16 & 15);
  const uint64_t code_line = 4u << (kinds & 15);
  const uint64_t first = (uint64_t)begin;
  for (uint64_t at = first & ~(data_line - 1); at < first + bytes; at += data_line)
    __asm__ volatile("dc cvau, %0" : : "r"(at) : "memory");
  __asm__ volatile("dsb ish" : : : "memory");
  for (uint64_t at = first & ~(code_line - 1); at < first + bytes; at += code_line)
    __asm__ volatile("ic ivau, %0" : : "r"(at) : "memory");
  __asm__ volatile("dsb ish\n  isb" : : : "memory");
#elif defined(__arm__)
  syscall3(SYS_arm_cacheflush, (long)begin, (long)(begin + bytes), 0);
#else
  // The call reaches all harts that the process may move to. An emulator that does not know it
  // needs none, but the fence is harmless.
  syscall3(SYS_riscv_flush_icache, (long)begin, (long)(begin + bytes), 0);
  __asm__ volatile("fence.i" : : : "memory");
#endif
}
