// SPDX-License-Identifier: Apache-2.0
//
// The text language in C++: the same tree, the same checks, the same messages, with the place of
// the C++ statement in front.
//
//   GraphBuilder b;
//   const TensorName X = b.input("X", DType::f32, {512, 512});
//   const TensorName W = b.param("W", DType::f32, {512, 512});
//   const AxisName i("i"), j("j"), k("k");
//   const TensorName C = b.stage("C", {i, j}, reduce(Reducer::sum, {k}, X(i, k) * W(k, j)));
//   b.output("R", {i, j}, max(C(i, j), 0));
//   Result<Graph> graph = b.finish();
//
// Extents may be left out where the text may leave them out; `i.of(512)` gives one.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "frontend/graph.h"
#include "frontend/syntax.h"

namespace hone::build {

// An expression. Numbers and axes convert to it.
class Value {
 public:
  explicit Value(Syntax syntax) : syntax_(std::move(syntax)) {}
  Value(int value) : Value(static_cast<int64_t>(value)) {}
  Value(int64_t value);
  Value(double value);
  Value(bool value) = delete;  // a condition is a comparison

  const Syntax& syntax() const { return syntax_; }

 private:
  Syntax syntax_;
};

class AxisName {
 public:
  explicit AxisName(std::string name) : name_(std::move(name)) {}
  AxisName of(int64_t extent) const {
    AxisName axis = *this;
    axis.extent_ = extent;
    return axis;
  }
  operator Value() const;
  SyntaxAxis syntax() const { return {name_, {}, extent_, {}}; }

 private:
  std::string name_;
  std::optional<int64_t> extent_;
};

// A tensor that was declared or computed; X(i, j + 1) reads an element.
class TensorName {
 public:
  explicit TensorName(std::string name) : name_(std::move(name)) {}
  template <std::convertible_to<Value>... Indices>
  Value operator()(const Indices&... indices) const {
    return element({Value(indices)...});
  }
  Value element(const std::vector<Value>& indices) const;
  // In a fold: the value so far.
  Value so_far() const;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

Value infix(std::string_view sign, const Value& left, const Value& right);
Value compare(std::string_view sign, const Value& left, const Value& right);
Value call(std::string_view function, const std::vector<Value>& operands);
Value negate(const Value& operand);
Value negation(const Value& operand);

// Operators and functions found by argument, so that an axis or a number may stand on either side.
template <typename T>
concept Operand = std::convertible_to<T, Value>;
template <typename A, typename B>
concept Operands = Operand<A> && Operand<B> &&
                   (std::same_as<A, Value> || std::same_as<B, Value> || std::same_as<A, AxisName> ||
                    std::same_as<B, AxisName>);

template <typename A, typename B>
  requires Operands<A, B>
Value operator+(const A& a, const B& b) {
  return infix("+", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator-(const A& a, const B& b) {
  return infix("-", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator*(const A& a, const B& b) {
  return infix("*", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator/(const A& a, const B& b) {
  return infix("/", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator%(const A& a, const B& b) {
  return infix("%", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator<<(const A& a, const B& b) {
  return infix("<<", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator>>(const A& a, const B& b) {
  return infix(">>", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator&(const A& a, const B& b) {
  return infix("&", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator|(const A& a, const B& b) {
  return infix("|", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator^(const A& a, const B& b) {
  return infix("^", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator&&(const A& a, const B& b) {
  return infix("&&", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator||(const A& a, const B& b) {
  return infix("||", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator<(const A& a, const B& b) {
  return compare("<", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator<=(const A& a, const B& b) {
  return compare("<=", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator>(const A& a, const B& b) {
  return compare(">", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator>=(const A& a, const B& b) {
  return compare(">=", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator==(const A& a, const B& b) {
  return compare("==", Value(a), Value(b));
}
template <typename A, typename B>
  requires Operands<A, B>
Value operator!=(const A& a, const B& b) {
  return compare("!=", Value(a), Value(b));
}
inline Value operator-(const Value& operand) { return negate(operand); }
inline Value operator!(const Value& operand) { return negation(operand); }

Value floor_divide(const Value& a, const Value& b);  // `//`
Value min(const Value& a, const Value& b);
Value max(const Value& a, const Value& b);
Value cast(DType dtype, const Value& operand);
Value saturate(DType dtype, const Value& operand);
Value when(const Value& condition, const Value& then_value, const Value& else_value);

// The right side of a statement.
struct Right {
  Reducer reducer = Reducer::none;
  std::vector<AxisName> axes;
  std::vector<Value> init;  // fold only
  std::vector<Value> values;

  Right(const Value& value) : values{value} {}
  Right(Reducer reducer, std::vector<AxisName> axes, std::vector<Value> init,
        std::vector<Value> values)
      : reducer(reducer), axes(std::move(axes)), init(std::move(init)), values(std::move(values)) {}
};
Right reduce(Reducer reducer, const std::vector<AxisName>& axes, const Value& term);
// argmax and argmin: (value, index)
Right reduce_pair(Reducer reducer, const std::vector<AxisName>& axes, const Value& value,
                  const Value& index);
Right fold(const std::vector<AxisName>& axes, const std::vector<Value>& init,
           const std::vector<Value>& update);

class GraphBuilder {
 public:
  using Where = std::source_location;

  TensorName input(std::string name, DType dtype, std::vector<int64_t> shape,
                   Where where = Where::current());
  TensorName param(std::string name, DType dtype, std::vector<int64_t> shape,
                   Where where = Where::current());
  TensorName stage(std::string name, const std::vector<AxisName>& axes, const Right& right,
                   Where where = Where::current());
  TensorName output(std::string name, const std::vector<AxisName>& axes, const Right& right,
                    Where where = Where::current());
  std::vector<TensorName> tuple(const std::vector<std::string>& names,
                                const std::vector<AxisName>& axes, const Right& right,
                                bool is_output, Where where = Where::current());

  Result<Graph> finish() const;

 private:
  Statement& add(const std::vector<std::string>& names, const Where& where);

  std::vector<Statement> statements_;
};

}  // namespace hone::build
