// SPDX-License-Identifier: Apache-2.0
//
// Functions that compilers call on their own account, with or without a C library.
#include <stddef.h>
#include <stdint.h>

// Words first: these move whole images and poison whole outputs. `no_builtin` keeps the compiler
// from seeing a memset in the body of memset.
#define PLAIN __attribute__((no_builtin, used))

typedef uint64_t __attribute__((may_alias, aligned(1))) word;

PLAIN void* memcpy(void* restrict to, const void* restrict from, size_t count) {
  uint8_t* t = to;
  const uint8_t* f = from;
  for (; count >= 8; count -= 8, t += 8, f += 8) *(word*)t = *(const word*)f;
  while (count--) *t++ = *f++;
  return to;
}

PLAIN void* memset(void* to, int value, size_t count) {
  uint8_t* t = to;
  const uint64_t filled = (uint8_t)value * 0x0101010101010101u;
  for (; count >= 8; count -= 8, t += 8) *(word*)t = filled;
  while (count--) *t++ = (uint8_t)value;
  return to;
}

#if defined(__arm__)
// ARMv7 has no division in its base; the run-time ABI names the functions that stand for it.
PLAIN void __aeabi_memcpy(void* to, const void* from, size_t count) { memcpy(to, from, count); }
PLAIN void __aeabi_memcpy4(void* to, const void* from, size_t count) { memcpy(to, from, count); }
PLAIN void __aeabi_memcpy8(void* to, const void* from, size_t count) { memcpy(to, from, count); }
PLAIN void __aeabi_memset(void* to, size_t count, int value) { memset(to, value, count); }
PLAIN void __aeabi_memset4(void* to, size_t count, int value) { memset(to, value, count); }
PLAIN void __aeabi_memset8(void* to, size_t count, int value) { memset(to, value, count); }
PLAIN void __aeabi_memclr(void* to, size_t count) { memset(to, 0, count); }
PLAIN void __aeabi_memclr4(void* to, size_t count) { memset(to, 0, count); }
PLAIN void __aeabi_memclr8(void* to, size_t count) { memset(to, 0, count); }

uint64_t hone_divide(uint64_t numerator, uint64_t denominator, uint64_t* rest);

PLAIN uint64_t hone_divide(uint64_t numerator, uint64_t denominator, uint64_t* rest) {
  uint64_t quotient = 0;
  uint64_t left = 0;
  for (int bit = 63; bit >= 0; --bit) {
    left = left << 1 | (numerator >> bit & 1);
    if (left >= denominator) {
      left -= denominator;
      quotient |= 1ull << bit;
    }
  }
  *rest = left;
  return quotient;
}

PLAIN uint32_t __aeabi_uidiv(uint32_t numerator, uint32_t denominator) {
  uint64_t rest;
  return (uint32_t)hone_divide(numerator, denominator, &rest);
}

// Quotient in r0, rest in r1: the halves of one 64-bit result.
PLAIN uint64_t __aeabi_uidivmod(uint32_t numerator, uint32_t denominator) {
  uint64_t rest;
  const uint64_t quotient = hone_divide(numerator, denominator, &rest);
  return quotient | rest << 32;
}

// Quotient in r0:r1, rest in r2:r3: a result that C has no type for.
__asm__(
    ".global __aeabi_uldivmod\n.arm\n.type __aeabi_uldivmod, %function\n__aeabi_uldivmod:\n"
    "  push {lr}\n  sub sp, sp, #12\n  mov ip, sp\n  str ip, [sp, #-8]!\n  bl hone_divide\n"
    "  add sp, sp, #8\n  ldrd r2, r3, [sp]\n  add sp, sp, #12\n  pop {pc}\n");
#endif
