// SPDX-License-Identifier: Apache-2.0
//
// Where the kernel enters the program. The stack holds argc, argv, the environment and the
// auxiliary vector; only the last is of use.
#include "linux.h"

_Noreturn void hone_start(long* stack);
_Noreturn void hone_main(const struct machine* machine);

#if defined(__x86_64__)
__asm__(
    ".global _start\n_start:\n  xor %ebp, %ebp\n  mov %rsp, %rdi\n  and $-16, %rsp\n"
    "  call hone_start\n");
#elif defined(__aarch64__)
__asm__(
    ".global _start\n_start:\n  mov x29, xzr\n  mov x30, xzr\n  mov x0, sp\n"
    "  and sp, x0, #-16\n  b hone_start\n");
#elif defined(__arm__)
__asm__(
    ".global _start\n.arm\n_start:\n  mov fp, #0\n  mov lr, #0\n  mov r0, sp\n"
    "  bic sp, sp, #7\n  b hone_start\n");
#else
__asm__(
    ".global _start\n_start:\n.option push\n.option norelax\n  lla gp, __global_pointer$\n"
    ".option pop\n  mv a0, sp\n  andi sp, sp, -16\n  tail hone_start\n");
#endif

enum { AT_PAGESZ = 6, AT_HWCAP = 16, AT_RANDOM = 25, AT_HWCAP2 = 26 };

_Noreturn __attribute__((used)) void hone_start(long* stack) {
  const long argument_count = stack[0];
  long* at = stack + 1 + argument_count + 1;
  while (*at) ++at;
  struct machine machine = {0, 0, 4096, NULL};
  for (const unsigned long* entry = (const unsigned long*)(at + 1); entry[0]; entry += 2) {
    if (entry[0] == AT_PAGESZ) machine.page_bytes = entry[1];
    if (entry[0] == AT_HWCAP) machine.hwcap = entry[1];
    if (entry[0] == AT_HWCAP2) machine.hwcap2 = entry[1];
    if (entry[0] == AT_RANDOM) machine.random = (const uint8_t*)entry[1];
  }
  hone_main(&machine);
}
