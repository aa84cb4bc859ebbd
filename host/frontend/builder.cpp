// SPDX-License-Identifier: Apache-2.0
#include "frontend/builder.h"

#include <fmt/format.h>

namespace hone::build {
namespace {

std::vector<Syntax> syntax_of(const std::vector<Value>& values) {
  std::vector<Syntax> result;
  for (const Value& value : values) result.push_back(value.syntax());
  return result;
}

Value made(SyntaxKind kind, std::string text, const std::vector<Value>& args) {
  SyntaxNode node;
  node.kind = kind;
  node.text = std::move(text);
  node.args = syntax_of(args);
  return Value(make_syntax(std::move(node)));
}

std::vector<SyntaxAxis> syntax_of(const std::vector<AxisName>& axes) {
  std::vector<SyntaxAxis> result;
  for (const AxisName& axis : axes) result.push_back(axis.syntax());
  return result;
}

}  // namespace

Value::Value(int64_t value) {
  SyntaxNode node;
  node.kind = SyntaxKind::integer;
  node.integer = value;
  node.text = fmt::format("{}", value);
  syntax_ = make_syntax(std::move(node));
}

Value::Value(double value) {
  SyntaxNode node;
  node.kind = SyntaxKind::decimal;
  node.decimal = value;
  node.text = fmt::format("{}", value);
  syntax_ = make_syntax(std::move(node));
}

AxisName::operator Value() const { return made(SyntaxKind::name, name_, {}); }

Value TensorName::element(const std::vector<Value>& indices) const {
  return made(SyntaxKind::index, name_, indices);
}

Value TensorName::so_far() const { return made(SyntaxKind::name, name_, {}); }

Value infix(std::string_view sign, const Value& left, const Value& right) {
  return made(SyntaxKind::infix, std::string(sign), {left, right});
}

Value compare(std::string_view sign, const Value& left, const Value& right) {
  SyntaxNode node;
  node.kind = SyntaxKind::compare;
  node.signs = {std::string(sign)};
  node.args = syntax_of(std::vector<Value>{left, right});
  return Value(make_syntax(std::move(node)));
}

Value call(std::string_view function, const std::vector<Value>& operands) {
  return made(SyntaxKind::call, std::string(function), operands);
}

Value negate(const Value& operand) { return made(SyntaxKind::negate, "-", {operand}); }
Value negation(const Value& operand) { return made(SyntaxKind::negation, "!", {operand}); }
Value floor_divide(const Value& a, const Value& b) { return infix("//", a, b); }
Value min(const Value& a, const Value& b) { return call("min", {a, b}); }
Value max(const Value& a, const Value& b) { return call("max", {a, b}); }
Value cast(DType dtype, const Value& operand) {
  return call(cast_name(Op::cast, dtype), {operand});
}
Value saturate(DType dtype, const Value& operand) {
  return call(cast_name(Op::saturate, dtype), {operand});
}

Value when(const Value& condition, const Value& then_value, const Value& else_value) {
  return made(SyntaxKind::conditional, "if", {condition, then_value, else_value});
}

Right reduce(Reducer reducer, const std::vector<AxisName>& axes, const Value& term) {
  return Right(reducer, axes, {}, {term});
}

Right reduce_pair(Reducer reducer, const std::vector<AxisName>& axes, const Value& value,
                  const Value& index) {
  return Right(reducer, axes, {}, {value, index});
}

Right fold(const std::vector<AxisName>& axes, const std::vector<Value>& init,
           const std::vector<Value>& update) {
  return Right(Reducer::fold, axes, init, update);
}

Statement& GraphBuilder::add(const std::vector<std::string>& names, const Where& where) {
  Statement statement;
  statement.file = where.file_name();
  statement.place = {static_cast<int>(where.line()), static_cast<int>(where.column())};
  for (const std::string& name : names) statement.names.push_back({name, statement.place});
  statements_.push_back(std::move(statement));
  return statements_.back();
}

TensorName GraphBuilder::input(std::string name, DType dtype, std::vector<int64_t> shape,
                               Where where) {
  Statement& statement = add({name}, where);
  statement.kind = StatementKind::input;
  statement.dtype = dtype;
  statement.shape = std::move(shape);
  return TensorName(std::move(name));
}

TensorName GraphBuilder::param(std::string name, DType dtype, std::vector<int64_t> shape,
                               Where where) {
  TensorName tensor = input(std::move(name), dtype, std::move(shape), where);
  statements_.back().kind = StatementKind::param;
  return tensor;
}

std::vector<TensorName> GraphBuilder::tuple(const std::vector<std::string>& names,
                                            const std::vector<AxisName>& axes, const Right& right,
                                            bool is_output, Where where) {
  Statement& statement = add(names, where);
  statement.output = is_output;
  statement.tuple = names.size() > 1;
  statement.axes = syntax_of(axes);
  statement.reducer = right.reducer;
  statement.reducer_place = statement.place;
  statement.reduce_axes = syntax_of(right.axes);
  statement.init = syntax_of(right.init);
  statement.values = syntax_of(right.values);
  std::vector<TensorName> tensors;
  for (const std::string& name : names) tensors.emplace_back(name);
  return tensors;
}

TensorName GraphBuilder::stage(std::string name, const std::vector<AxisName>& axes,
                               const Right& right, Where where) {
  return tuple({std::move(name)}, axes, right, false, where)[0];
}

TensorName GraphBuilder::output(std::string name, const std::vector<AxisName>& axes,
                                const Right& right, Where where) {
  return tuple({std::move(name)}, axes, right, true, where)[0];
}

Result<Graph> GraphBuilder::finish() const {
  return check(statements_, statements_.empty() ? "builder" : statements_.front().file);
}

}  // namespace hone::build
