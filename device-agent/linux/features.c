// SPDX-License-Identifier: Apache-2.0
//
// What the core can execute, in LLVM's names. Asked of the core or the kernel directly: under an
// emulator /proc/cpuinfo describes another machine.
#include "linux.h"

struct feature {
  uint8_t word;  // which of the words below
  uint8_t bit;
  const char* name;
};

static uint16_t list_features(const struct feature* table, size_t rows, const uint64_t* words,
                              const char** names, uint16_t space) {
  uint16_t count = 0;
  for (size_t i = 0; i < rows && count < space; ++i)
    if (words[table[i].word] >> table[i].bit & 1) names[count++] = table[i].name;
  return count;
}

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

#if defined(__x86_64__)

enum { kLeaf1C, kLeaf7B, kLeaf7C, kLeaf7D, kLeaf71A, kLeafExtendedC, kWords };

static const struct feature features[] = {
    {kLeaf1C, 0, "sse3"},        {kLeaf1C, 9, "ssse3"},         {kLeaf1C, 19, "sse4.1"},
    {kLeaf1C, 20, "sse4.2"},     {kLeaf1C, 23, "popcnt"},       {kLeaf1C, 22, "movbe"},
    {kLeaf1C, 28, "avx"},        {kLeaf1C, 12, "fma"},          {kLeaf1C, 29, "f16c"},
    {kLeaf7B, 5, "avx2"},        {kLeaf7B, 3, "bmi"},           {kLeaf7B, 8, "bmi2"},
    {kLeaf7B, 16, "avx512f"},    {kLeaf7B, 17, "avx512dq"},     {kLeaf7B, 21, "avx512ifma"},
    {kLeaf7B, 28, "avx512cd"},   {kLeaf7B, 30, "avx512bw"},     {kLeaf7B, 31, "avx512vl"},
    {kLeaf7C, 1, "avx512vbmi"},  {kLeaf7C, 6, "avx512vbmi2"},   {kLeaf7C, 8, "gfni"},
    {kLeaf7C, 11, "avx512vnni"}, {kLeaf7C, 12, "avx512bitalg"}, {kLeaf7C, 14, "avx512vpopcntdq"},
    {kLeaf7D, 22, "amx-bf16"},   {kLeaf7D, 23, "avx512fp16"},   {kLeaf7D, 24, "amx-tile"},
    {kLeaf7D, 25, "amx-int8"},   {kLeaf71A, 4, "avxvnni"},      {kLeaf71A, 5, "avx512bf16"},
    {kLeafExtendedC, 5, "lzcnt"}};

// Bits that need the operating system to save wider registers.
static const uint64_t kNeedYmm[kWords] = {
    1u << 28 | 1u << 12 | 1u << 29, 1u << 5, 0, 0, 1u << 4, 0};
static const uint64_t kNeedZmm[kWords] = {
    0,
    1u << 16 | 1u << 17 | 1u << 21 | 1u << 28 | 1u << 30 | 1u << 31,
    1u << 1 | 1u << 6 | 1u << 11 | 1u << 12 | 1u << 14,
    1u << 23,
    1u << 5,
    0};
static const uint64_t kNeedTiles[kWords] = {0, 0, 0, 1u << 22 | 1u << 24 | 1u << 25, 0, 0};

struct leaf {
  uint32_t a, b, c, d;
};

static struct leaf cpuid(uint32_t number, uint32_t part) {
  struct leaf leaf = {number, 0, part, 0};
  __asm__ volatile("cpuid" : "+a"(leaf.a), "=b"(leaf.b), "+c"(leaf.c), "=d"(leaf.d));
  return leaf;
}

static uint32_t saved_registers(uint32_t leaf1_c) {
  if (!(leaf1_c >> 27 & 1)) return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static void drop(uint64_t* words, const uint64_t* bits) {
  for (int i = 0; i < kWords; ++i) words[i] &= ~bits[i];
}

uint16_t find_features(const struct machine* machine, const char** names, uint16_t space) {
  (void)machine;
  uint64_t words[kWords] = {0};
  const uint32_t leaves = cpuid(0, 0).a;
  words[kLeaf1C] = cpuid(1, 0).c;
  if (leaves >= 7) {
    const struct leaf leaf = cpuid(7, 0);
    words[kLeaf7B] = leaf.b;
    words[kLeaf7C] = leaf.c;
    words[kLeaf7D] = leaf.d;
    if (leaf.a >= 1) words[kLeaf71A] = cpuid(7, 1).a;
  }
  if (cpuid(0x80000000u, 0).a >= 0x80000001u) words[kLeafExtendedC] = cpuid(0x80000001u, 0).c;
  const uint32_t saved = saved_registers((uint32_t)words[kLeaf1C]);
  if ((saved & 0x6) != 0x6) drop(words, kNeedYmm);
  if ((saved & 0xe6) != 0xe6) drop(words, kNeedZmm);
  if ((saved & 0x60000) != 0x60000) drop(words, kNeedTiles);
  return list_features(features, ROWS(features), words, names, space);
}

#elif defined(__aarch64__)

static const struct feature features[] = {
    {0, 0, "fp-armv8"},  {0, 1, "neon"},  {0, 3, "aes"},      {0, 7, "crc"},  {0, 8, "lse"},
    {0, 10, "fullfp16"}, {0, 12, "rdm"},  {0, 20, "dotprod"}, {0, 22, "sve"}, {0, 23, "fp16fml"},
    {1, 1, "sve2"},      {1, 13, "i8mm"}, {1, 14, "bf16"}};

uint16_t find_features(const struct machine* machine, const char** names, uint16_t space) {
  const uint64_t words[] = {machine->hwcap, machine->hwcap2};
  return list_features(features, ROWS(features), words, names, space);
}

#elif defined(__arm__)

static const struct feature features[] = {
    {0, 6, "vfp2"},       {0, 12, "neon"},    {0, 13, "vfp3"}, {0, 16, "vfp4"},
    {0, 17, "hwdiv-arm"}, {0, 18, "hwdiv"},   {0, 19, "d32"},  {0, 23, "fullfp16"},
    {0, 24, "dotprod"},   {0, 25, "fp16fml"}, {0, 26, "bf16"}, {0, 27, "i8mm"}};

uint16_t find_features(const struct machine* machine, const char** names, uint16_t space) {
  const uint64_t words[] = {machine->hwcap, machine->hwcap2};
  return list_features(features, ROWS(features), words, names, space);
}

#else

// Single letters from the auxiliary vector, the others from riscv_hwprobe where the kernel has it.
static const struct feature features[] = {
    {0, 'm' - 'a', "m"}, {0, 'a' - 'a', "a"}, {0, 'f' - 'a', "f"}, {0, 'd' - 'a', "d"},
    {0, 'c' - 'a', "c"}, {0, 'v' - 'a', "v"}, {1, 3, "zba"},       {1, 4, "zbb"},
    {1, 5, "zbs"},       {1, 27, "zfh"},      {1, 28, "zfhmin"},   {1, 30, "zvfh"},
    {1, 31, "zvfhmin"}};

uint16_t find_features(const struct machine* machine, const char** names, uint16_t space) {
  struct {
    int64_t key;
    uint64_t value;
  } extensions = {4, 0};
  if (syscall6(SYS_riscv_hwprobe, (long)&extensions, 1, 0, 0, 0, 0) != 0 || extensions.key != 4)
    extensions.value = 0;
  const uint64_t words[] = {machine->hwcap, extensions.value};
  return list_features(features, ROWS(features), words, names, space);
}

#endif
