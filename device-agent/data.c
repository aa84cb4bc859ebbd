// SPDX-License-Identifier: Apache-2.0
//
// Compiled without contraction of a*b+c, so that host and agent get the same sums bit for bit.
#include "data.h"

// For loops over elements of one width: the width must be a constant inside, also where the
// compiler would rather save the bytes.
#define INLINED static inline __attribute__((always_inline))

static const uint64_t kStep = 0x9e3779b97f4a7c15u;

size_t hone_dtype_bytes(uint8_t dtype) {
  static const uint8_t sizes[HONE_DTYPES] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return dtype < HONE_DTYPES ? sizes[dtype] : 0;
}

bool hone_is_float(uint8_t dtype) {
  return dtype == HONE_F16 || dtype == HONE_BF16 || dtype == HONE_F32 || dtype == HONE_F64;
}

// ---- float formats by their bits ----
//
// Through unions, not through the compiler's conversions: some targets would call a library for
// them.

union f32_bits {
  float value;
  uint32_t bits;
};

union f64_bits {
  double value;
  uint64_t bits;
};

// Right shift, rounding to nearest even.
static uint32_t shift_rounding(uint32_t value, uint32_t by) {
  const uint32_t kept = value >> by;
  const uint32_t rest = value & ((1u << by) - 1);
  const uint32_t half = 1u << (by - 1);
  return kept + (rest > half || (rest == half && (kept & 1)));
}

static uint16_t f16_of(float value) {
  const union f32_bits f = {.value = value};
  const uint32_t sign = f.bits >> 16 & 0x8000u;
  const int32_t exponent = (int32_t)(f.bits >> 23 & 0xff) - 127 + 15;
  const uint32_t mantissa = f.bits & 0x7fffffu;
  if (exponent >= 31) return (uint16_t)(sign | 0x7c00u);
  if (exponent < -10) return (uint16_t)sign;
  if (exponent <= 0)
    return (uint16_t)(sign | shift_rounding(mantissa | 0x800000u, (uint32_t)(14 - exponent)));
  return (uint16_t)(sign | shift_rounding((uint32_t)exponent << 23 | mantissa, 13));
}

static uint16_t bf16_of(float value) {
  const union f32_bits f = {.value = value};
  return (uint16_t)shift_rounding(f.bits, 16);
}

INLINED double value_of_f16(uint16_t bits) {
  const uint64_t sign = (uint64_t)(bits & 0x8000u) << 48;
  const uint32_t exponent = bits >> 10 & 31;
  const uint64_t mantissa = bits & 0x3ffu;
  union f64_bits d;
  if (exponent == 0) {
    d.value = (double)(int32_t)mantissa * 0x1p-24;
    d.bits |= sign;
  } else {
    const uint64_t wide = exponent == 31 ? 0x7ff : exponent + 1023 - 15;
    d.bits = sign | wide << 52 | mantissa << 42;
  }
  return d.value;
}

INLINED double value_of_bf16(uint16_t bits) {
  const union f32_bits f = {.bits = (uint32_t)bits << 16};
  return (double)f.value;
}

// ---- inputs ----

// SplitMix64's output function on a counter, so that any element can be had alone.
static uint64_t mixed(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * kStep;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static int32_t integer_at(const struct hone_fill_spec* spec, uint64_t i) {
  const uint64_t range = (uint64_t)((int64_t)spec->high - spec->low) + 1;
  return (int32_t)(spec->low + (int64_t)((mixed(spec->seed, i) >> 32) * range >> 32));
}

void hone_fill_buffer(void* buffer, uint8_t dtype, uint64_t elements,
                      const struct hone_fill_spec* spec) {
  // 2^-shift, exactly.
  const union f32_bits scale = {.bits = (127u - spec->shift) << 23};
  for (uint64_t i = 0; i < elements; ++i) {
    const size_t at = (size_t)i;
    const int32_t n = integer_at(spec, i);
    const float scaled = (float)n * scale.value;
    switch (dtype) {
      case HONE_B1:
        ((uint8_t*)buffer)[at] = (uint8_t)(n & 1);
        break;
      case HONE_I8:
        ((int8_t*)buffer)[at] = (int8_t)n;
        break;
      case HONE_U8:
        ((uint8_t*)buffer)[at] = (uint8_t)n;
        break;
      case HONE_I16:
        ((int16_t*)buffer)[at] = (int16_t)n;
        break;
      case HONE_I32:
        ((int32_t*)buffer)[at] = n;
        break;
      case HONE_I64:
        ((int64_t*)buffer)[at] = n;
        break;
      case HONE_F16:
        ((uint16_t*)buffer)[at] = f16_of(scaled);
        break;
      case HONE_BF16:
        ((uint16_t*)buffer)[at] = bf16_of(scaled);
        break;
      case HONE_F32:
        ((float*)buffer)[at] = scaled;
        break;
      case HONE_F64:
        ((double*)buffer)[at] = (double)n * (double)scale.value;
        break;
      default:
        return;
    }
  }
}

void hone_poison(void* buffer, uint8_t dtype, uint64_t bytes) {
  if (hone_is_float(dtype)) {
    hone_set_bytes(buffer, 0xff, (size_t)bytes);
    return;
  }
  // Eight bytes a step; what is left of the last step one by one.
  uint8_t* out = buffer;
  uint64_t pattern = kStep;
  size_t at = 0;
  for (; at + 8 <= bytes; at += 8) {
    *(uint64_t*)(void*)(out + at) = pattern;
    pattern = pattern * 0xd1342543de82ef95u + 1;
  }
  for (; at < bytes; ++at) out[at] = (uint8_t)(pattern >> (8 * (at & 7)));
}

// ---- the check ----

INLINED uint64_t bits_at(const void* buffer, size_t bytes, size_t i) {
  switch (bytes) {
    case 1:
      return ((const uint8_t*)buffer)[i];
    case 2:
      return ((const uint16_t*)buffer)[i];
    case 4:
      return ((const uint32_t*)buffer)[i];
    default:
      return ((const uint64_t*)buffer)[i];
  }
}

INLINED uint64_t rotated(uint64_t value, int by) { return value << by | value >> (64 - by); }

// The rotation carries high bits down again: without it, two wrong signs in f64 would cancel.
INLINED uint64_t hash_step(uint64_t hash, uint64_t bits) {
  return rotated(hash ^ bits, 27) * 0x9fb21c651e98df25u;
}

// Four chains, because one would wait for its multiplier at each element.
INLINED uint64_t hash_as(const void* buffer, size_t bytes, uint64_t negative_zero,
                         uint64_t elements) {
  uint64_t chain[4] = {1, 2, 3, 4};
  uint64_t i = 0;
  for (; i + 4 <= elements; i += 4) {
    for (uint32_t k = 0; k < 4; ++k) {
      const uint64_t bits = bits_at(buffer, bytes, (size_t)i + k);
      chain[k] = hash_step(chain[k], bits == negative_zero ? 0 : bits);
    }
  }
  for (uint32_t k = 0; i < elements; ++i, ++k) {
    const uint64_t bits = bits_at(buffer, bytes, (size_t)i);
    chain[k] = hash_step(chain[k], bits == negative_zero ? 0 : bits);
  }
  uint64_t hash = elements;
  for (int k = 0; k < 4; ++k) hash = hash_step(hash, chain[k]);
  return hash ^ hash >> 29;
}

uint64_t hone_hash_elements(const void* buffer, uint8_t dtype, uint64_t elements) {
  switch (dtype) {
    case HONE_F16:
    case HONE_BF16:
      return hash_as(buffer, 2, 0x8000u, elements);
    case HONE_F32:
      return hash_as(buffer, 4, 0x80000000u, elements);
    case HONE_F64:
      return hash_as(buffer, 8, 0x8000000000000000u, elements);
    // 0 folds to 0: nothing to fold in integers.
    case HONE_I16:
      return hash_as(buffer, 2, 0, elements);
    case HONE_I32:
      return hash_as(buffer, 4, 0, elements);
    case HONE_I64:
      return hash_as(buffer, 8, 0, elements);
    default:
      return hash_as(buffer, 1, 0, elements);
  }
}

uint32_t hone_parts(uint64_t elements, uint32_t most) {
  return elements < most ? (uint32_t)elements : most;
}

// Quotient and remainder apart, because k * elements could overflow.
uint64_t hone_part_start(uint64_t elements, uint32_t parts, uint32_t k) {
  if (elements <= parts) return k;
  const uint64_t whole = elements / parts;
  const uint32_t rest = (uint32_t)(elements - whole * parts);
  return k * whole + (uint64_t)k * rest / parts;
}

INLINED double element_at(const void* buffer, uint8_t dtype, uint64_t i) {
  const size_t at = (size_t)i;
  switch (dtype) {
    case HONE_F16:
      return value_of_f16(((const uint16_t*)buffer)[at]);
    case HONE_BF16:
      return value_of_bf16(((const uint16_t*)buffer)[at]);
    case HONE_F32:
      return (double)((const float*)buffer)[at];
    case HONE_F64:
      return ((const double*)buffer)[at];
    default:
      return 0;
  }
}

double hone_element(const void* buffer, uint8_t dtype, uint64_t i) {
  return element_at(buffer, dtype, i);
}

INLINED struct hone_block_sum sum_as(const void* buffer, uint8_t dtype, uint64_t begin,
                                     uint64_t end) {
  struct hone_block_sum total = {0, 0};
  for (uint64_t i = begin; i < end; ++i) {
    const double value = element_at(buffer, dtype, i);
    total.sum += value;
    total.magnitude += __builtin_fabs(value);
  }
  return total;
}

struct hone_block_sum hone_sum_block(const void* buffer, uint8_t dtype, uint64_t begin,
                                     uint64_t end) {
  switch (dtype) {
    case HONE_F16:
      return sum_as(buffer, HONE_F16, begin, end);
    case HONE_BF16:
      return sum_as(buffer, HONE_BF16, begin, end);
    case HONE_F32:
      return sum_as(buffer, HONE_F32, begin, end);
    case HONE_F64:
      return sum_as(buffer, HONE_F64, begin, end);
    default:
      return (struct hone_block_sum){0, 0};
  }
}

// ---- bytes ----

void hone_set_bytes(void* bytes, uint8_t value, size_t count) {
  __builtin_memset(bytes, value, count);
}

bool hone_all_bytes(const void* bytes, uint8_t value, size_t count) {
  const uint8_t* at = bytes;
  const uint8_t* end = at + count;
  const uint64_t word = value * 0x0101010101010101u;
  for (; at < end && ((uintptr_t)at & 7); ++at)
    if (*at != value) return false;
  for (; end - at >= 8; at += 8)
    if (*(const uint64_t*)(const void*)at != word) return false;
  for (; at < end; ++at)
    if (*at != value) return false;
  return true;
}
