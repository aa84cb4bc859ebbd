// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frontend/graph.h"

namespace hone {

// Arithmetic operations on values: additions, multiplications, functions, … of any type. Not
// counted: casts, comparisons, what computes an index or a condition. A reduction counts one
// operation a term and result.
struct OperationCount {
  double nominal = 0;  // if every instance ran
  double useful = 0;   // without the terms of sums that a guard makes zero (padding, dilation)
};
OperationCount count_operations(const Graph& graph);

}  // namespace hone
