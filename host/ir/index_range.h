// SPDX-License-Identifier: Apache-2.0
//
// Proves that an integer expression over axes stays in a range, also where conditions guard it:
// select(1 <= y && y < 57, X[y-1], 0) never reads outside 56 elements. Two means: intervals of
// linear forms, where a condition is one more form that is at most 0; and, where these are too weak
// and the axes have few values, trying them all.
#pragma once

#include <span>
#include <vector>

#include "ir/program.h"

namespace hone {

constexpr int64_t kMostTried = int64_t{1} << 18;

struct Guard {
  Expr condition;
  bool holds = true;  // false: the else branch
};

enum class RangeProof : uint8_t {
  inside,
  outside,  // or not to be shown
  data,     // depends on loaded values
};

struct IndexRange {
  RangeProof proof = RangeProof::inside;
  Interval found;  // by intervals
};

// Whether 0 ≤ index < size for all values of the axes for which the guards hold.
IndexRange prove_index(const Expr& index, int64_t size, std::span<const Axis> axes,
                       std::span<const Guard> guards);

}  // namespace hone
