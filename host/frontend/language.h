// SPDX-License-Identifier: Apache-2.0
//
// The words and signs of the text language, one table a kind. The parser, the checker and the
// printer read the same tables, so that what prints is what parses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/expr.h"

namespace hone {

// Which element types an operator or a function takes.
enum class Operands : uint8_t { number, integer, floating, boolean };
bool accepts(Operands operands, DType dtype);
std::string_view to_string(Operands operands);  // "a number", "an integer", …

struct InfixOperator {
  std::string_view sign;
  Op op;
  int precedence;     // higher binds tighter; operators of one precedence group from the left
  Operands operands;  // of both sides
  bool swapped;       // `a > b` is `b < a`
};
std::span<const InfixOperator> infix_operators();
const InfixOperator* find_infix(std::string_view sign);
// The row that prints an operation on operands of that type; null for what is not infix.
const InfixOperator* infix_of(Op op, DType operand_dtype);

inline constexpr int kOrPrecedence = 1;
inline constexpr int kAndPrecedence = 2;
inline constexpr int kComparePrecedence = 3;  // chains: 1 <= y < 57
inline constexpr int kPrefixPrecedence = 10;  // - and ! before an operand

struct Function {
  std::string_view name;
  Op op;
  size_t arity;
  Operands operands;
};
std::span<const Function> functions();
const Function* find_function(std::string_view name);
const Function* function_of(Op op);  // null when the operation is not written as a function

// i32(x), sat_i8(x), bits_i32(x): a prefix before the name of a type.
struct CastFunction {
  Op op = Op::cast;
  DType dtype = DType::f32;
};
bool parse_cast(std::string_view name, CastFunction& cast);
std::string cast_name(Op op, DType dtype);

enum class Reducer : uint8_t { none, sum, prod, max, min, argmax, argmin, fold };

struct ReducerFacts {
  std::string_view name;
  Reducer reducer;
  size_t results;  // how many tensors it defines; 0: any number
  Operands operands;
};
std::span<const ReducerFacts> reducers();
const ReducerFacts* find_reducer(std::string_view name);
const ReducerFacts& facts(Reducer reducer);

// Words that cannot name a tensor or an axis: those of this language, and those that the text of a
// Program keeps for itself.
bool is_reserved(std::string_view word);
// Every function, cast and reducer, for suggestions.
std::vector<std::string> callable_names();

}  // namespace hone
