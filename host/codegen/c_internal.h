// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "codegen/c_helpers.h"
#include "lower/kernel.h"

namespace hone {

// Expressions as C text. A vector expression is written for one lane, which the variable `l` names.
class CExprWriter {
 public:
  explicit CExprWriter(CHelpers& helpers) : helpers_(helpers) {}

  void name_register(int32_t id, std::string name, int lanes);

  // Writes what is used more than once, and what looks across lanes, as constants into `out`, each
  // line begun by `indent`; returns the rest as an expression. A lane loop of `expr` must surround
  // both `out` and the result, except for what looks_across() wrote before.
  std::string shared_value(const Expr& expr, const std::string& indent, std::string& out);
  // Reductions and extractions inside `expr`, each into a constant of its own, before the lane
  // loop.
  void write_across(const Expr& expr, const std::string& indent, std::string& out);

  std::string value(const Expr& expr);
  std::string index(const Expr& expr);  // intptr_t; of a lane where `expr` is a vector
  std::string element(BufferId buffer, const Expr& index, int lanes);
  std::string to_memory(const std::string& value, DType dtype);
  void forget() { names_.clear(); }

 private:
  std::string compute(const Expr& expr);
  std::string unary_text(const Expr& expr);
  std::string binary_text(const Expr& expr);
  std::string integer_text(Op op, DType dtype, const std::string& a, const std::string& b);
  std::string float_text(Op op, DType dtype, const std::string& a, const std::string& b);
  std::string cast_text(const Expr& expr);
  std::string float_to_integer(Op op, DType from, DType to, const std::string& operand);
  std::string load_text(const Expr& expr);
  std::string from_memory(const std::string& stored, DType dtype);
  std::string to_dtype(const std::string& value, DType from, DType to);
  std::string fresh() { return "t" + std::to_string(next_name_++); }

  CHelpers& helpers_;
  std::map<int32_t, std::pair<std::string, int>> registers_;
  std::unordered_map<const ExprNode*, std::string> names_;
  int next_name_ = 0;
};

}  // namespace hone
