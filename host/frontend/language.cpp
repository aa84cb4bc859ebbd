// SPDX-License-Identifier: Apache-2.0
#include "frontend/language.h"

#include <algorithm>
#include <array>

#include "ir/expr_text.h"

namespace hone {
namespace {

constexpr std::array kInfixOperators = {
    InfixOperator{"||", Op::logical_or, kOrPrecedence, Operands::boolean, false},
    InfixOperator{"&&", Op::logical_and, kAndPrecedence, Operands::boolean, false},
    InfixOperator{"==", Op::eq, kComparePrecedence, Operands::number, false},
    InfixOperator{"!=", Op::ne, kComparePrecedence, Operands::number, false},
    InfixOperator{"<", Op::lt, kComparePrecedence, Operands::number, false},
    InfixOperator{"<=", Op::le, kComparePrecedence, Operands::number, false},
    InfixOperator{">", Op::lt, kComparePrecedence, Operands::number, true},
    InfixOperator{">=", Op::le, kComparePrecedence, Operands::number, true},
    InfixOperator{"|", Op::bit_or, 4, Operands::integer, false},
    InfixOperator{"^", Op::bit_xor, 5, Operands::integer, false},
    InfixOperator{"&", Op::bit_and, 6, Operands::integer, false},
    InfixOperator{"<<", Op::shl, 7, Operands::integer, false},
    InfixOperator{">>", Op::shr, 7, Operands::integer, false},
    InfixOperator{"+", Op::add, 8, Operands::number, false},
    InfixOperator{"-", Op::sub, 8, Operands::number, false},
    InfixOperator{"*", Op::mul, 9, Operands::number, false},
    InfixOperator{"/", Op::div, 9, Operands::floating, false},
    InfixOperator{"//", Op::div, 9, Operands::integer, false},
    InfixOperator{"%", Op::mod, 9, Operands::integer, false},
};

constexpr std::array kFunctions = {
    Function{"abs", Op::abs, 1, Operands::number},
    Function{"exp", Op::exp, 1, Operands::floating},
    Function{"log", Op::log, 1, Operands::floating},
    Function{"sqrt", Op::sqrt, 1, Operands::floating},
    Function{"rsqrt", Op::rsqrt, 1, Operands::floating},
    Function{"tanh", Op::tanh, 1, Operands::floating},
    Function{"sigmoid", Op::sigmoid, 1, Operands::floating},
    Function{"erf", Op::erf, 1, Operands::floating},
    Function{"floor", Op::floor, 1, Operands::floating},
    Function{"ceil", Op::ceil, 1, Operands::floating},
    Function{"round", Op::round, 1, Operands::floating},
    Function{"pow", Op::pow, 2, Operands::floating},
    Function{"min", Op::min, 2, Operands::number},
    Function{"max", Op::max, 2, Operands::number},
};

constexpr std::array kReducers = {
    ReducerFacts{"", Reducer::none, 1, Operands::number},
    ReducerFacts{"sum", Reducer::sum, 1, Operands::number},
    ReducerFacts{"prod", Reducer::prod, 1, Operands::number},
    ReducerFacts{"max", Reducer::max, 1, Operands::number},
    ReducerFacts{"min", Reducer::min, 1, Operands::number},
    ReducerFacts{"argmax", Reducer::argmax, 2, Operands::number},
    ReducerFacts{"argmin", Reducer::argmin, 2, Operands::number},
    ReducerFacts{"fold", Reducer::fold, 0, Operands::number},
};

constexpr std::array<std::string_view, 12> kKeywords = {
    "input", "param", "output", "if", "then", "else", "from", "to", "true", "false", "inf", "nan"};

constexpr std::array<std::pair<std::string_view, Op>, 3> kCastPrefixes = {
    {{"sat_", Op::saturate}, {"bits_", Op::bitcast}, {"", Op::cast}}};

template <typename Rows, typename Predicate>
auto find_row(const Rows& rows, Predicate predicate) -> decltype(&rows[0]) {
  const auto row = std::find_if(rows.begin(), rows.end(), predicate);
  return row == rows.end() ? nullptr : &*row;
}

}  // namespace

bool accepts(Operands operands, DType dtype) {
  switch (operands) {
    case Operands::number:
      return dtype != DType::b1;
    case Operands::integer:
      return is_integer(dtype);
    case Operands::floating:
      return is_float(dtype);
    case Operands::boolean:
      return dtype == DType::b1;
  }
  return false;
}

std::string_view to_string(Operands operands) {
  switch (operands) {
    case Operands::number:
      return "a number";
    case Operands::integer:
      return "an integer";
    case Operands::floating:
      return "a floating-point number";
    case Operands::boolean:
      return "a condition (b1)";
  }
  return "";
}

std::span<const InfixOperator> infix_operators() { return kInfixOperators; }

const InfixOperator* find_infix(std::string_view sign) {
  return find_row(kInfixOperators, [&](const InfixOperator& row) { return row.sign == sign; });
}

const InfixOperator* infix_of(Op op, DType operand_dtype) {
  return find_row(kInfixOperators, [&](const InfixOperator& row) {
    return row.op == op && !row.swapped && accepts(row.operands, operand_dtype);
  });
}

std::span<const Function> functions() { return kFunctions; }

const Function* find_function(std::string_view name) {
  return find_row(kFunctions, [&](const Function& row) { return row.name == name; });
}

const Function* function_of(Op op) {
  return find_row(kFunctions, [&](const Function& row) { return row.op == op; });
}

bool parse_cast(std::string_view name, CastFunction& cast) {
  for (const auto& [prefix, op] : kCastPrefixes) {
    if (!name.starts_with(prefix)) continue;
    const auto dtype = parse_dtype(name.substr(prefix.size()));
    if (!dtype) continue;
    cast = {op, *dtype};
    return true;
  }
  return false;
}

std::string cast_name(Op op, DType dtype) {
  for (const auto& [prefix, cast] : kCastPrefixes)
    if (cast == op) return std::string(prefix) + std::string(to_string(dtype));
  ENSURE(false, "not a cast");
  return "";
}

std::span<const ReducerFacts> reducers() { return std::span(kReducers).subspan(1); }

const ReducerFacts* find_reducer(std::string_view name) {
  return find_row(reducers(), [&](const ReducerFacts& row) { return row.name == name; });
}

const ReducerFacts& facts(Reducer reducer) { return kReducers[static_cast<size_t>(reducer)]; }

bool is_reserved(std::string_view word) {
  CastFunction cast;
  return std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end() ||
         find_function(word) != nullptr || find_reducer(word) != nullptr ||
         parse_cast(word, cast) || !is_name(word);
}

std::vector<std::string> callable_names() {
  std::vector<std::string> names;
  for (const Function& row : kFunctions) names.emplace_back(row.name);
  for (const ReducerFacts& row : reducers())
    if (!find_function(row.name)) names.emplace_back(row.name);
  for (int i = 0; i <= static_cast<int>(DType::f64); ++i)
    for (const auto& [prefix, op] : kCastPrefixes)
      names.push_back(cast_name(op, static_cast<DType>(i)));
  return names;
}

}  // namespace hone
