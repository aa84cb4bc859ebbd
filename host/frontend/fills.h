// SPDX-License-Identifier: Apache-2.0
//
// What the device fills inputs with, and how its answer is compared.
//
// Integers of a small range are chosen such that every sum and product of floats is a representable
// integer: then the result does not depend on the order of evaluation, on fma or on extra
// precision, and the answer of every candidate must be the same to the last bit. Where a
// computation rounds by nature (exp, division, a root) the answer is compared within a tolerance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "frontend/graph.h"

namespace hone {

// Uniform integers in [low, high], also for float types.
struct InputFill {
  BufferId tensor;  // an input or a param
  int64_t low = 0;
  int64_t high = 0;
};

// An answer `got` is right where
//   |got - want| ≤ relative · |want| + of_largest · max|want| + absolute
// with the maximum over the elements that are compared. The second part serves sums that cancel to
// almost nothing; it follows the scale of the answer, which ranges of inputs do not tell.
struct Tolerance {
  double relative = 0;
  double of_largest = 0;
  double absolute = 0;  // 1 where a rounded value becomes an integer and may fall to either side
};

struct AnswerCheck {
  std::vector<InputFill> fills;  // in the order of the tensors
  bool exact = false;            // every output is the same bits in every order of evaluation
  Tolerance tolerance;           // zero when exact
};

// Fails when an index that comes from data can leave its tensor whatever the inputs hold.
Result<AnswerCheck> plan_answer_check(const Graph& graph);

}  // namespace hone
