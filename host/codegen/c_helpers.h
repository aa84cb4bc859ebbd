// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

#include "ir/expr.h"

namespace hone {

// Static functions that generated C calls, written out once each when a source needs them.
class CHelpers {
 public:
  explicit CHelpers(std::string prefix) : prefix_(std::move(prefix)) {}

  // The name of the function for `kind` (a row of the table in c_helpers.cpp) of a type.
  std::string use(const std::string& kind, DType dtype);
  // An expanded function of ir/: exp, log, … of f32 or f64.
  std::string use_math(Op op, DType dtype);
  // A float to an integer, clamped; NaN gives 0.
  std::string use_saturate(DType from, DType to);
  std::string text() const { return text_; }
  const std::string& prefix() const { return prefix_; }

 private:
  std::string prefix_;
  std::set<std::string> written_;
  std::string text_;  // in order of dependence
};

std::string c_type(DType dtype);         // of a value
std::string c_memory_type(DType dtype);  // of an element in memory
std::string c_constant(const ExprNode& node, CHelpers& helpers);

}  // namespace hone
