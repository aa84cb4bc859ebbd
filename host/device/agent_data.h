// SPDX-License-Identifier: Apache-2.0
//
// The agent's inputs and checks, computed on the host by the same code (device-agent/data.c). What
// these return for a reference output is what a right candidate's reply holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data.h"
#include "protocol.h"

namespace hone {

struct FillSpec {
  uint64_t seed = 0;
  int32_t low = 0;
  int32_t high = 0;
  uint8_t shift = 0;  // each integer is divided by 2^shift; at most 30
};

// Whole elements only; `dtype` is an enum hone_dtype.
void fill_buffer(std::span<uint8_t> buffer, uint8_t dtype, const FillSpec& fill);

// What the agent says about an output: a hash, or (floats, where rounding is unavoidable) elements
// taken at equal distances and sums over blocks.
struct OutputCheck {
  int buffer = 0;  // its index in the task
  uint8_t dtype = 0;
  bool tolerant = false;
  uint64_t hash = 0;                   // exact
  std::vector<double> samples;         // tolerant
  std::vector<hone_block_sum> blocks;  // tolerant
};

// `buffer` is copied into the answer, nothing else.
OutputCheck check_output(std::span<const uint8_t> bytes, uint8_t dtype, bool tolerant, int buffer);

// The element of which sample k of `samples` is taken.
inline int64_t sample_position(int64_t elements, int64_t samples, int64_t k) {
  return static_cast<int64_t>(hone_part_start(
      static_cast<uint64_t>(elements), static_cast<uint32_t>(samples), static_cast<uint32_t>(k)));
}

}  // namespace hone
