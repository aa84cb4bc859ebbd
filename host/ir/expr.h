// SPDX-License-Identifier: Apache-2.0
//
// Expressions: immutable, shared trees. One node type serves Programs (scalars over block axes) and
// Kernels (scalars and vectors over index variables and registers), so that folding, printing,
// hashing and substitution exist once.
//
// Semantics, for the interpreter, for generated code and for every rewrite:
//   integers   wrap (two's complement). div and mod round towards minus infinity (a mod b has the
//              sign of b); a zero divisor gives 0. Shifts take their count modulo the width; shr is
//              arithmetic for signed types. saturate clamps to the target type's range.
//   floats     IEEE 754, round to nearest even, no traps. f16 and bf16 compute in f32 and round
//   after
//              each operation; code may keep more precision between operations, contract a
//              multiplication and an addition into one fma, and add or multiply the terms of a
//              reduction in any order. div of floats by zero is IEEE. min and max return the other
//              operand when one is NaN. A float to integer cast truncates; out of range is
//              unspecified.
//   order      a value is computed exactly when its block instance runs; select evaluates only what
//   it
//              picks, so a guarded load out of bounds never happens.
//   index      axes, loops and index arithmetic are i64 and do not overflow; code may use the
//   target's
//              pointer width.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "ir/dtype.h"

namespace hone {

using BufferId = Id<struct BufferTag>;

enum class Op : uint8_t {
  // leaves
  constant,  // int_value or float_value by dtype
  axis,      // Program: value of the block's axis number `id` (i64)
  var,       // Kernel: index variable `id` (i64)
  reg,       // Kernel: register `id`
  load,      // buffer `id`; Program: args are its indices; Kernel: args are {flat element index}
             // or {flat index, mask}. Kernel, lanes > 1: a scalar index reads consecutive elements,
             // a vector index gathers.
  // one operand
  neg,
  logical_not,
  abs,
  exp,
  log,
  sqrt,
  rsqrt,
  tanh,
  sigmoid,
  erf,
  floor,
  ceil,
  round,  // to nearest, ties to even
  cast,
  saturate,
  bitcast,
  broadcast,   // Kernel: a scalar into all lanes
  reduce_add,  // Kernel: sum of the lanes (likewise below)
  reduce_mul,
  reduce_min,
  reduce_max,
  // two operands
  add,
  sub,
  mul,
  div,
  mod,
  min,
  max,
  pow,
  shl,
  shr,
  bit_and,
  bit_or,
  bit_xor,
  eq,
  ne,
  lt,
  le,  // gt and ge are lt and le with operands exchanged; result b1
  logical_and,
  logical_or,
  ramp,     // Kernel: args {base, stride}: base + lane * stride
  extract,  // Kernel: args {vector, lane (constant)}
  // three operands
  select,  // condition, then, else
  fma,     // a * b + c, rounded once
};

struct OpFacts {
  std::string_view name;  // in text forms, as a function name or an infix sign
  int arity;              // -1: load
  bool infix;
  int precedence;  // of infix operators: higher binds tighter
};
const OpFacts& facts(Op op);
// Functions of floats whose results are rounded whatever the operands: exp, log, the roots, ….
bool rounds_by_nature(Op op);
// Whether an operation is defined on operands of a type; the makers below ENSURE it.
bool accepts(Op op, DType dtype);

struct ExprNode;
using Expr = std::shared_ptr<const ExprNode>;

struct ExprNode {
  Op op = Op::constant;
  DType dtype = DType::i64;
  int16_t lanes = 1;
  int32_t id = -1;         // axis, var, reg, load
  int64_t int_value = 0;   // constant of a type that is not float
  double float_value = 0;  // constant of a float type, already rounded to it
  std::vector<Expr> args;
};

// Makers check arity and types (ENSURE) and fold constants; they simplify x+0, x*1, x*0 (integers),
// and select on a constant, and nothing more.
Expr int_constant(int64_t value, DType dtype);
Expr float_constant(double value, DType dtype);
Expr index_constant(int64_t value);  // i64
Expr axis_expr(int32_t axis);
Expr var_expr(int32_t var);
Expr reg_expr(int32_t reg, DType dtype, int lanes);
Expr load_expr(BufferId buffer, DType dtype, std::vector<Expr> indices);
Expr vector_load_expr(BufferId buffer, DType dtype, int lanes, Expr index);
Expr unary(Op op, Expr operand);  // not for cast, saturate, bitcast, broadcast
Expr binary(Op op, Expr left, Expr right);
Expr select_expr(Expr condition, Expr if_true, Expr if_false);
Expr fma_expr(Expr a, Expr b, Expr c);
Expr cast_expr(Op op, DType dtype, Expr operand);  // cast, saturate, bitcast
Expr broadcast_expr(Expr scalar, int lanes);
Expr ramp_expr(Expr base, Expr stride, int lanes);
// Any node with the operands replaced; the same node when nothing changed.
Expr with_args(const Expr& expr, std::vector<Expr> args);

bool is_constant(const Expr& expr);
bool is_constant(const Expr& expr, int64_t value);  // an integer constant of that value
bool equal(const Expr& left, const Expr& right);    // structure, not identity
uint64_t hash_of(const Expr& expr);

// Rebuilds bottom-up: `visit` gets each node with rewritten operands and returns its replacement
// (or the node itself).
Expr rewrite(const Expr& expr, const std::function<Expr(const Expr&)>& visit);
// Calls `visit` on every node, operands first.
void walk(const Expr& expr, const std::function<void(const ExprNode&)>& visit);
// Replaces axis i by replacement[i].
Expr substitute_axes(const Expr& expr, std::span<const Expr> replacement);

// Folding of one operation on constants, by the semantics above; used by makers and interpreter.
int64_t fold_int(Op op, DType dtype, int64_t a, int64_t b);
double fold_float(Op op, DType dtype, double a, double b);
bool fold_compare(Op op, DType operand_dtype, int64_t ai, int64_t bi, double af, double bf);
double fold_fma(DType dtype, double a, double b, double c);
struct ScalarValue {  // one of the two counts, by the type
  int64_t as_int = 0;
  double as_float = 0;
};
ScalarValue fold_cast(Op op, DType to, DType from, ScalarValue value);

}  // namespace hone
