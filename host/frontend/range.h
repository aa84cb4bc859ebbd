// SPDX-License-Identifier: Apache-2.0
//
// Which values an expression can take, from the extents of the axes, the ranges of the tensors it
// reads, and the conditions that guard it. The checker proves reads in range with it; tasks choose
// input values with it.
//
// A guard is kept as a linear form over *atoms* (axes, quotients, loads, … anything that is not a
// sum) with bounds, so that `if 0 <= (y - 1) // 2 < 4` guards a read at (y - 1) // 2, and a guard
// on y * 2 + ry - 3 guards a read at that sum. Rejected: a general solver. Paddings, strides,
// dilations and clamps need no more, and what is not proved is reported with the range that was
// found.
//
// Bounds are doubles: indices stay below 2^53 (the checker limits sizes), and values of tensors may
// be infinite.
#pragma once

#include <functional>
#include <vector>

#include "ir/expr.h"

namespace hone {

struct Range {  // both ends included; empty (never reached) when low > high
  double low = 0;
  double high = 0;

  bool is_empty() const { return low > high; }
  bool is_within(const Range& other) const {
    return is_empty() || (low >= other.low && high <= other.high);
  }
};

Range intersect(const Range& a, const Range& b);
Range range_of(DType dtype);  // floats: everything
double magnitude(const Range& range);

class RangeScope {
 public:
  RangeScope(std::function<int64_t(int32_t)> axis_extent,
             std::function<Range(BufferId)> tensor_range)
      : axis_extent_(std::move(axis_extent)), tensor_range_(std::move(tensor_range)) {}

  Range range(const Expr& expr) const;

  // What is evaluated from here on runs only where `condition` is `holds`; `leave` goes back to the
  // state when `enter` returned that mark.
  size_t enter(const Expr& condition, bool holds);
  void leave(size_t mark);

 private:
  struct Term {
    Expr atom;
    double factor = 1;
  };
  struct Linear {
    std::vector<Term> terms;
    double base = 0;
  };
  struct Guard {
    std::vector<Term> terms;
    Range bounds;  // of the sum of the terms
  };

  static Linear linear(const Expr& expr);
  static void accumulate(const Expr& expr, double factor, Linear& sum);
  // The factor f with a = f * b, or 0 when there is none.
  static double ratio(const std::vector<Term>& a, const std::vector<Term>& b);
  void add_guard(const Expr& condition, bool holds);
  void add_order(const Expr& left, const Expr& right, double least_difference);
  Range guarded(const std::vector<Term>& terms, Range range) const;
  Range linear_range(const Expr& expr) const;
  Range atom_range(const Expr& expr) const;
  Range structural_range(const Expr& expr) const;
  Range binary_range(const Expr& expr) const;
  Range select_range(const Expr& expr) const;

  std::function<int64_t(int32_t)> axis_extent_;
  std::function<Range(BufferId)> tensor_range_;
  std::vector<Guard> guards_;
};

}  // namespace hone
