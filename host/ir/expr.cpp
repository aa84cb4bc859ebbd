// SPDX-License-Identifier: Apache-2.0
#include "ir/expr.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "base/hash.h"
#include "base/result.h"

namespace hone {
namespace {

// In the order of the enumerators.
constexpr std::array<OpFacts, static_cast<size_t>(Op::fma) + 1> kFacts = {{
    {"constant", 0, false, 0},   {"axis", 0, false, 0},       {"var", 0, false, 0},
    {"reg", 0, false, 0},        {"load", -1, false, 0},      {"neg", 1, false, 0},
    {"not", 1, false, 0},        {"abs", 1, false, 0},        {"exp", 1, false, 0},
    {"log", 1, false, 0},        {"sqrt", 1, false, 0},       {"rsqrt", 1, false, 0},
    {"tanh", 1, false, 0},       {"sigmoid", 1, false, 0},    {"erf", 1, false, 0},
    {"floor", 1, false, 0},      {"ceil", 1, false, 0},       {"round", 1, false, 0},
    {"cast", 1, false, 0},       {"saturate", 1, false, 0},   {"bitcast", 1, false, 0},
    {"broadcast", 1, false, 0},  {"reduce_add", 1, false, 0}, {"reduce_mul", 1, false, 0},
    {"reduce_min", 1, false, 0}, {"reduce_max", 1, false, 0}, {"+", 2, true, 8},
    {"-", 2, true, 8},           {"*", 2, true, 9},           {"/", 2, true, 9},
    {"%", 2, true, 9},           {"min", 2, false, 0},        {"max", 2, false, 0},
    {"pow", 2, false, 0},        {"<<", 2, true, 7},          {">>", 2, true, 7},
    {"&", 2, true, 6},           {"|", 2, true, 4},           {"^", 2, true, 5},
    {"==", 2, true, 3},          {"!=", 2, true, 3},          {"<", 2, true, 3},
    {"<=", 2, true, 3},          {"&&", 2, true, 2},          {"||", 2, true, 1},
    {"ramp", 2, false, 0},       {"extract", 2, false, 0},    {"select", 3, false, 0},
    {"fma", 3, false, 0},
}};

bool is_compare(Op op) { return op >= Op::eq && op <= Op::le; }
bool is_reduce(Op op) { return op >= Op::reduce_add && op <= Op::reduce_max; }
bool is_logical(Op op) {
  return op == Op::logical_not || op == Op::logical_and || op == Op::logical_or;
}

Expr make(Op op, DType dtype, int lanes, int32_t id, std::vector<Expr> args) {
  auto node = std::make_shared<ExprNode>();
  node->op = op;
  node->dtype = dtype;
  node->lanes = static_cast<int16_t>(lanes);
  node->id = id;
  node->args = std::move(args);
  return node;
}

// The constant behind an operand, through a broadcast; null if there is none.
const ExprNode* constant_of(const Expr& expr) {
  const ExprNode* node = expr.get();
  if (node->op == Op::broadcast) node = node->args[0].get();
  return node->op == Op::constant ? node : nullptr;
}

bool is_integer_value(const Expr& expr, int64_t value) {
  const ExprNode* constant = constant_of(expr);
  return constant != nullptr && !is_float(constant->dtype) && constant->int_value == value;
}

int64_t wrapping(Op op, int64_t a, int64_t b) {
  const uint64_t ua = static_cast<uint64_t>(a);
  const uint64_t ub = static_cast<uint64_t>(b);
  switch (op) {
    case Op::add:
      return static_cast<int64_t>(ua + ub);
    case Op::sub:
      return static_cast<int64_t>(ua - ub);
    default:
      return static_cast<int64_t>(ua * ub);
  }
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrapping(Op::sub, 0, a);
  const int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t rest = a % b;
  return (rest != 0 && (rest < 0) != (b < 0)) ? rest + b : rest;
}

double float_mod(double a, double b) {
  const double rest = std::fmod(a, b);
  return (rest != 0 && (rest < 0) != (b < 0)) ? rest + b : rest;
}

double float_value(Op op, double a, double b) {
  switch (op) {
    case Op::neg:
      return -a;
    case Op::abs:
      return std::fabs(a);
    case Op::exp:
      return std::exp(a);
    case Op::log:
      return std::log(a);
    case Op::sqrt:
      return std::sqrt(a);
    case Op::rsqrt:
      return 1 / std::sqrt(a);
    case Op::tanh:
      return std::tanh(a);
    case Op::sigmoid:
      return 1 / (1 + std::exp(-a));
    case Op::erf:
      return std::erf(a);
    case Op::floor:
      return std::floor(a);
    case Op::ceil:
      return std::ceil(a);
    case Op::round:
      return std::nearbyint(a);
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return a / b;
    case Op::mod:
      return float_mod(a, b);
    case Op::min:
      return std::fmin(a, b);
    case Op::max:
      return std::fmax(a, b);
    case Op::pow:
      return std::pow(a, b);
    default:
      ENSURE(false, "{} of floats", facts(op).name);
      return 0;
  }
}

Expr fold_binary(Op op, const ExprNode& a, const ExprNode& b) {
  if (is_compare(op)) {
    const bool value =
        fold_compare(op, a.dtype, a.int_value, b.int_value, a.float_value, b.float_value);
    return int_constant(value ? 1 : 0, DType::b1);
  }
  if (is_float(a.dtype))
    return float_constant(fold_float(op, a.dtype, a.float_value, b.float_value), a.dtype);
  return int_constant(fold_int(op, a.dtype, a.int_value, b.int_value), a.dtype);
}

// x+0, x-0, x*1, x*0 of integers; null if none applies.
Expr simplify(Op op, const Expr& left, const Expr& right) {
  if (is_float(left->dtype)) return nullptr;
  if (op == Op::add && is_integer_value(left, 0)) return right;
  if ((op == Op::add || op == Op::sub) && is_integer_value(right, 0)) return left;
  if (op != Op::mul) return nullptr;
  if (is_integer_value(left, 1) || is_integer_value(right, 0)) return right;
  if (is_integer_value(right, 1) || is_integer_value(left, 0)) return left;
  return nullptr;
}

// A float of at most 64 bits as the nearest integer of i64 towards zero; NaN gives 0.
int64_t truncate(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 0x1p63) return INT64_MAX;
  if (value < -0x1p63) return INT64_MIN;
  return static_cast<int64_t>(value);
}

ScalarValue fold_bitcast(DType to, DType from, ScalarValue value) {
  uint64_t bits = static_cast<uint64_t>(value.as_int);
  switch (from) {
    case DType::f16:
      bits = to_f16_bits(value.as_float);
      break;
    case DType::bf16:
      bits = to_bf16_bits(value.as_float);
      break;
    case DType::f32:
      bits = std::bit_cast<uint32_t>(static_cast<float>(value.as_float));
      break;
    case DType::f64:
      bits = std::bit_cast<uint64_t>(value.as_float);
      break;
    default:
      break;
  }
  switch (to) {
    case DType::f16:
      return {0, from_f16_bits(static_cast<uint16_t>(bits))};
    case DType::bf16:
      return {0, from_bf16_bits(static_cast<uint16_t>(bits))};
    case DType::f32:
      return {0, static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))};
    case DType::f64:
      return {0, std::bit_cast<double>(bits)};
    default:
      return {wrap_to(to, static_cast<int64_t>(bits)), 0};
  }
}

}  // namespace

const OpFacts& facts(Op op) { return kFacts[static_cast<size_t>(op)]; }

bool rounds_by_nature(Op op) {
  switch (op) {
    case Op::exp:
    case Op::log:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::tanh:
    case Op::sigmoid:
    case Op::erf:
    case Op::pow:
      return true;
    default:
      return false;
  }
}

bool accepts(Op op, DType dtype) {
  if (rounds_by_nature(op)) return is_float(dtype);
  switch (op) {
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::fma:
      return is_float(dtype);
    case Op::shl:
    case Op::shr:
      return is_integer(dtype);
    case Op::bit_and:
    case Op::bit_or:
    case Op::bit_xor:
      return !is_float(dtype);
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or:
      return dtype == DType::b1;
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::min:
    case Op::max:
    case Op::reduce_min:
    case Op::reduce_max:
    case Op::extract:
      return true;
    default:
      return dtype != DType::b1;
  }
}

Expr int_constant(int64_t value, DType dtype) {
  ENSURE(!is_float(dtype));
  auto node = std::make_shared<ExprNode>();
  node->dtype = dtype;
  node->int_value = wrap_to(dtype, value);
  return node;
}

Expr float_constant(double value, DType dtype) {
  ENSURE(is_float(dtype));
  auto node = std::make_shared<ExprNode>();
  node->dtype = dtype;
  node->float_value = round_to(dtype, value);
  return node;
}

Expr index_constant(int64_t value) { return int_constant(value, DType::i64); }
Expr axis_expr(int32_t axis) { return make(Op::axis, DType::i64, 1, axis, {}); }
Expr var_expr(int32_t var) { return make(Op::var, DType::i64, 1, var, {}); }

Expr reg_expr(int32_t reg, DType dtype, int lanes) {
  ENSURE(lanes >= 1);
  return make(Op::reg, dtype, lanes, reg, {});
}

Expr load_expr(BufferId buffer, DType dtype, std::vector<Expr> indices) {
  for (const Expr& index : indices)
    ENSURE(is_integer(index->dtype) && index->lanes == 1, "an index is an integer scalar");
  return make(Op::load, dtype, 1, buffer.value, std::move(indices));
}

Expr vector_load_expr(BufferId buffer, DType dtype, int lanes, Expr index) {
  ENSURE(is_integer(index->dtype) && (index->lanes == 1 || index->lanes == lanes));
  return make(Op::load, dtype, lanes, buffer.value, {std::move(index)});
}

Expr unary(Op op, Expr operand) {
  ENSURE(facts(op).arity == 1 && op != Op::cast && op != Op::saturate && op != Op::bitcast &&
             op != Op::broadcast,
         "{} is not made by unary()", facts(op).name);
  const DType dtype = operand->dtype;
  ENSURE(accepts(op, dtype), "{} of {}", facts(op).name, to_string(dtype));
  if (is_reduce(op)) {
    if (operand->lanes == 1) return operand;
    return make(op, dtype, 1, -1, {std::move(operand)});
  }
  if (operand->op == Op::constant) {
    if (is_float(dtype))
      return float_constant(fold_float(op, dtype, operand->float_value, 0), dtype);
    return int_constant(fold_int(op, dtype, operand->int_value, 0), dtype);
  }
  const int lanes = operand->lanes;
  return make(op, dtype, lanes, -1, {std::move(operand)});
}

Expr binary(Op op, Expr left, Expr right) {
  ENSURE(facts(op).arity == 2 && op != Op::ramp, "{} is not made by binary()", facts(op).name);
  const DType dtype = left->dtype;
  if (op == Op::extract) {
    ENSURE(right->op == Op::constant && right->int_value >= 0 && right->int_value < left->lanes);
    if (left->lanes == 1) return left;
    return make(op, dtype, 1, -1, {std::move(left), std::move(right)});
  }
  ENSURE(dtype == right->dtype && left->lanes == right->lanes, "{}: {}x{} with {}x{}",
         facts(op).name, to_string(dtype), left->lanes, to_string(right->dtype), right->lanes);
  ENSURE(accepts(op, dtype), "{} of {}", facts(op).name, to_string(dtype));
  if (left->op == Op::constant && right->op == Op::constant) return fold_binary(op, *left, *right);
  if (Expr simple = simplify(op, left, right)) return simple;
  const int lanes = left->lanes;
  return make(op, is_compare(op) ? DType::b1 : dtype, lanes, -1,
              {std::move(left), std::move(right)});
}

Expr select_expr(Expr condition, Expr if_true, Expr if_false) {
  ENSURE(condition->dtype == DType::b1 && if_true->dtype == if_false->dtype, "select({}, {}, {})",
         to_string(condition->dtype), to_string(if_true->dtype), to_string(if_false->dtype));
  ENSURE(if_true->lanes == if_false->lanes &&
         (condition->lanes == 1 || condition->lanes == if_true->lanes));
  if (const ExprNode* constant = constant_of(condition))
    return constant->int_value != 0 ? if_true : if_false;
  const DType dtype = if_true->dtype;
  const int lanes = if_true->lanes;
  return make(Op::select, dtype, lanes, -1,
              {std::move(condition), std::move(if_true), std::move(if_false)});
}

Expr fma_expr(Expr a, Expr b, Expr c) {
  const DType dtype = a->dtype;
  const int lanes = a->lanes;
  ENSURE(accepts(Op::fma, dtype) && b->dtype == dtype && c->dtype == dtype, "fma({}, {}, {})",
         to_string(dtype), to_string(b->dtype), to_string(c->dtype));
  ENSURE(b->lanes == lanes && c->lanes == lanes);
  if (a->op == Op::constant && b->op == Op::constant && c->op == Op::constant)
    return float_constant(fold_fma(dtype, a->float_value, b->float_value, c->float_value), dtype);
  return make(Op::fma, dtype, lanes, -1, {std::move(a), std::move(b), std::move(c)});
}

Expr cast_expr(Op op, DType dtype, Expr operand) {
  ENSURE(op == Op::cast || op == Op::saturate || op == Op::bitcast);
  const DType from = operand->dtype;
  ENSURE(op != Op::saturate || is_integer(dtype), "saturate to {}", to_string(dtype));
  ENSURE(op != Op::bitcast ||
             (bytes_of(from) == bytes_of(dtype) && from != DType::b1 && dtype != DType::b1),
         "bitcast of {} to {}", to_string(from), to_string(dtype));
  if (from == dtype) return operand;
  if (operand->op == Op::constant) {
    const ScalarValue value =
        fold_cast(op, dtype, from, {operand->int_value, operand->float_value});
    return is_float(dtype) ? float_constant(value.as_float, dtype)
                           : int_constant(value.as_int, dtype);
  }
  const int lanes = operand->lanes;
  return make(op, dtype, lanes, -1, {std::move(operand)});
}

Expr broadcast_expr(Expr scalar, int lanes) {
  ENSURE(scalar->lanes == 1 && lanes >= 1);
  if (lanes == 1) return scalar;
  const DType dtype = scalar->dtype;
  return make(Op::broadcast, dtype, lanes, -1, {std::move(scalar)});
}

Expr ramp_expr(Expr base, Expr stride, int lanes) {
  const DType dtype = base->dtype;
  ENSURE(is_integer(dtype) && stride->dtype == dtype && base->lanes == 1 && stride->lanes == 1);
  if (lanes == 1) return base;
  return make(Op::ramp, dtype, lanes, -1, {std::move(base), std::move(stride)});
}

Expr with_args(const Expr& expr, std::vector<Expr> args) {
  ENSURE(facts(expr->op).arity < 0 || args.size() == expr->args.size());
  if (args == expr->args) return expr;
  switch (expr->op) {
    case Op::load:
      return make(Op::load, expr->dtype, expr->lanes, expr->id, std::move(args));
    case Op::cast:
    case Op::saturate:
    case Op::bitcast:
      return cast_expr(expr->op, expr->dtype, std::move(args[0]));
    case Op::broadcast:
      return broadcast_expr(std::move(args[0]), expr->lanes);
    case Op::ramp:
      return ramp_expr(std::move(args[0]), std::move(args[1]), expr->lanes);
    case Op::select:
      return select_expr(std::move(args[0]), std::move(args[1]), std::move(args[2]));
    case Op::fma:
      return fma_expr(std::move(args[0]), std::move(args[1]), std::move(args[2]));
    default:
      if (args.size() == 1) return unary(expr->op, std::move(args[0]));
      return binary(expr->op, std::move(args[0]), std::move(args[1]));
  }
}

bool is_constant(const Expr& expr) { return expr->op == Op::constant; }

bool is_constant(const Expr& expr, int64_t value) {
  return expr->op == Op::constant && !is_float(expr->dtype) && expr->int_value == value;
}

bool equal(const Expr& left, const Expr& right) {
  if (left == right) return true;
  if (left->op != right->op || left->dtype != right->dtype || left->lanes != right->lanes ||
      left->id != right->id || left->int_value != right->int_value ||
      left->args.size() != right->args.size())
    return false;
  if (std::bit_cast<uint64_t>(left->float_value) != std::bit_cast<uint64_t>(right->float_value))
    return false;
  for (size_t i = 0; i < left->args.size(); ++i)
    if (!equal(left->args[i], right->args[i])) return false;
  return true;
}

uint64_t hash_of(const Expr& expr) {
  uint64_t hash = (static_cast<uint64_t>(expr->op) << 32) |
                  (static_cast<uint64_t>(expr->dtype) << 16) | static_cast<uint16_t>(expr->lanes);
  hash = hash_combine(hash, static_cast<uint64_t>(expr->id));
  hash = hash_combine(hash, static_cast<uint64_t>(expr->int_value));
  hash = hash_combine(hash, std::bit_cast<uint64_t>(expr->float_value));
  for (const Expr& arg : expr->args) hash = hash_combine(hash, hash_of(arg));
  return hash;
}

Expr rewrite(const Expr& expr, const std::function<Expr(const Expr&)>& visit) {
  if (expr->args.empty()) return visit(expr);
  std::vector<Expr> args;
  args.reserve(expr->args.size());
  for (const Expr& arg : expr->args) args.push_back(rewrite(arg, visit));
  return visit(with_args(expr, std::move(args)));
}

void walk(const Expr& expr, const std::function<void(const ExprNode&)>& visit) {
  for (const Expr& arg : expr->args) walk(arg, visit);
  visit(*expr);
}

Expr substitute_axes(const Expr& expr, std::span<const Expr> replacement) {
  return rewrite(expr, [&](const Expr& node) {
    if (node->op != Op::axis) return node;
    ENSURE(node->id >= 0 && static_cast<size_t>(node->id) < replacement.size());
    return replacement[static_cast<size_t>(node->id)];
  });
}

int64_t fold_int(Op op, DType dtype, int64_t a, int64_t b) {
  const uint64_t shift = static_cast<uint64_t>(b) % static_cast<uint64_t>(8 * bytes_of(dtype));
  int64_t value = 0;
  switch (op) {
    case Op::neg:
      value = wrapping(Op::sub, 0, a);
      break;
    case Op::abs:
      value = a < 0 ? wrapping(Op::sub, 0, a) : a;
      break;
    case Op::add:
    case Op::sub:
    case Op::mul:
      value = wrapping(op, a, b);
      break;
    case Op::div:
      value = floor_div(a, b);
      break;
    case Op::mod:
      value = floor_mod(a, b);
      break;
    case Op::min:
      value = std::min(a, b);
      break;
    case Op::max:
      value = std::max(a, b);
      break;
    case Op::shl:
      value = static_cast<int64_t>(static_cast<uint64_t>(a) << shift);
      break;
    case Op::shr:
      value = a >> shift;
      break;
    case Op::bit_and:
      value = a & b;
      break;
    case Op::bit_or:
      value = a | b;
      break;
    case Op::bit_xor:
      value = a ^ b;
      break;
    default:
      ENSURE(is_logical(op), "{} of {}", facts(op).name, to_string(dtype));
      if (op == Op::logical_not) return a == 0;
      return op == Op::logical_and ? (a & b) : (a | b);
  }
  return wrap_to(dtype, value);
}

double fold_float(Op op, DType dtype, double a, double b) {
  const double value = float_value(op, a, b);
  if (dtype == DType::f64) return value;
  const double single = round_to(DType::f32, value);
  return dtype == DType::f32 ? single : round_to(dtype, single);
}

double fold_fma(DType dtype, double a, double b, double c) {
  if (dtype == DType::f64) return std::fma(a, b, c);
  const float single =
      std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
  return round_to(dtype, static_cast<double>(single));
}

ScalarValue fold_cast(Op op, DType to, DType from, ScalarValue value) {
  if (op == Op::bitcast) return fold_bitcast(to, from, value);
  if (is_float(to)) {
    if (is_float(from)) return {0, round_to(to, value.as_float)};
    if (to == DType::f64) return {0, static_cast<double>(value.as_int)};
    return {0, round_to(to, static_cast<double>(static_cast<float>(value.as_int)))};
  }
  if (to == DType::b1)
    return {(is_float(from) ? value.as_float != 0 : value.as_int != 0) ? 1 : 0, 0};
  const int64_t integer = is_float(from) ? truncate(value.as_float) : value.as_int;
  if (op == Op::saturate) return {std::min(std::max(integer, lowest(to)), highest(to)), 0};
  return {wrap_to(to, integer), 0};
}

bool fold_compare(Op op, DType operand_dtype, int64_t ai, int64_t bi, double af, double bf) {
  const bool floats = is_float(operand_dtype);
  switch (op) {
    case Op::eq:
      return floats ? af == bf : ai == bi;
    case Op::ne:
      return floats ? af != bf : ai != bi;
    case Op::lt:
      return floats ? af < bf : ai < bi;
    case Op::le:
      return floats ? af <= bf : ai <= bi;
    default:
      ENSURE(false, "{} is not a comparison", facts(op).name);
      return false;
  }
}

}  // namespace hone
