// SPDX-License-Identifier: Apache-2.0
//
// Inputs from a seed, poison, guard zones and the check of outputs. One file for host and agent, so
// that the host can say what a right answer looks like without a byte of data crossing the line.
#ifndef HONE_DATA_H
#define HONE_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hone_fill_spec {
  uint8_t kind;   // enum hone_fill
  uint8_t shift;  // 0 to 30
  uint64_t seed;
  int32_t low;
  int32_t high;  // not below low
};

size_t hone_dtype_bytes(uint8_t dtype);  // 0: no such dtype
bool hone_is_float(uint8_t dtype);

// Element i depends on the seed and i alone. Values that the dtype cannot hold wrap (integers) or
// round to nearest even (floats); b1 holds whether the integer is odd.
void hone_fill_buffer(void* buffer, uint8_t dtype, uint64_t elements,
                      const struct hone_fill_spec* spec);

// What an output holds before the checked run, so that an element that was not written is noticed:
// NaN in floats; in other dtypes bytes that change with the position.
void hone_poison(void* buffer, uint8_t dtype, uint64_t bytes);

// Order matters; -0.0 counts as +0.0.
uint64_t hone_hash_elements(const void* buffer, uint8_t dtype, uint64_t elements);

struct hone_block_sum {
  double sum;
  double magnitude;  // sum of absolute values
};

// Element number of sample k of `samples`, and the first element of block k of `blocks`:
// floor(k * elements / parts), without overflow.
uint64_t hone_part_start(uint64_t elements, uint32_t parts, uint32_t k);
uint32_t hone_parts(uint64_t elements, uint32_t most);  // min(elements, most)

// The value of element i of a float dtype.
double hone_element(const void* buffer, uint8_t dtype, uint64_t i);
// Sums of elements [begin, end), from the first to the last.
struct hone_block_sum hone_sum_block(const void* buffer, uint8_t dtype, uint64_t begin,
                                     uint64_t end);

void hone_set_bytes(void* bytes, uint8_t value, size_t count);
bool hone_all_bytes(const void* bytes, uint8_t value, size_t count);

#ifdef __cplusplus
}
#endif
#endif
