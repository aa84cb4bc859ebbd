// SPDX-License-Identifier: Apache-2.0
//
// Index expressions as sums, so that what many accesses share is computed once and the rest is a
// constant, which addressing modes take for nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/expr.h"

namespace hone {

struct LinearTerm {
  Expr atom;  // scalar, not itself a sum
  int64_t factor = 1;
};

struct LinearForm {
  std::vector<LinearTerm> terms;  // no two of the same atom, no factor 0
  int64_t constant = 0;
};

LinearForm linear_form(const Expr& scalar);

// A vector index whose lanes stand at a constant distance: first + lane * stride.
struct StridedIndex {
  LinearForm first;
  int64_t stride = 0;
};
std::optional<StridedIndex> strided_form(const Expr& vector);

}  // namespace hone
