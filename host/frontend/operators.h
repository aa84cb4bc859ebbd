// SPDX-License-Identifier: Apache-2.0
//
// The operator library: one row an operator. An operator is a function that writes text of the
// language into a TextWriter, so a new one needs no more than that function and its row
// (docs/adding-an-operator.md).
//
// Layouts: activations N,…,C with channels last; weights kernel…, in, out. Weights are `param`,
// what flows is `input`. Products accumulate in a type of their own (f16, bf16: f32; i8, u8, i16:
// i32), and that is the type of the result.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "frontend/attributes.h"
#include "frontend/graph.h"

namespace hone {

// A tensor of the text that is being written.
struct TextTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
};

class TextWriter {
 public:
  // `wish`, or `wish` with a number behind it when the text has such a name already.
  std::string fresh_name(std::string_view wish);

  TextTensor declare(std::string_view kind, std::string_view wish, DType dtype,
                     std::vector<int64_t> shape);
  // NAME[axes] = right; axes and shape have the same length.
  TextTensor compute(std::string_view wish, DType dtype, const std::vector<std::string>& axes,
                     std::vector<int64_t> shape, const std::string& right);

  // What the operators so far have made, for the one that follows; null before the first.
  const TextTensor* result() const { return has_result_ ? &result_ : nullptr; }
  // Everything written; the last computed tensor is the output.
  std::string text() const;

 private:
  std::set<std::string> used_names_;
  std::vector<std::string> statements_;
  bool has_result_ = false;
  TextTensor result_;
};

struct Operator {
  std::string_view name;
  std::string_view doc;
  std::span<const Parameter> parameters;
  Result<void> (*write)(const Attributes& attributes, TextWriter& writer);
};

std::span<const Operator> operators();

// Functions of one value that are operators by their own name and values of `elementwise`'s
// attribute.
struct PointFunction {
  std::string_view name;
  std::string_view text;  // in the language; `x` stands for the element
  bool needs_float;
};
std::span<const PointFunction> point_functions();

// The text that a chain of operators stands for.
Result<std::string> write_operators(const std::vector<OperatorCall>& chain);
Result<Graph> graph_of_operators(const std::vector<OperatorCall>& chain);

}  // namespace hone
