// SPDX-License-Identifier: Apache-2.0
//
// Kernel expressions → C99. Every operation is written so that C's rules give what ir/expr.h says:
// unsigned arithmetic where signed would overflow, a cast after each promotion to int, `?:` for
// select, which evaluates only what it picks.
#include "codegen/c_internal.h"

#include "codegen/math.h"
#include "codegen/scan.h"

namespace hone {

namespace {

bool looks_across(Op op) {
  return op == Op::extract || (op >= Op::reduce_add && op <= Op::reduce_max);
}

bool is_leaf(const Expr& expr) { return expr->args.empty(); }

// How often each node is used, and whether it is evaluated whatever the selects pick.
struct Use {
  int count = 0;
  bool always = false;
};
using Uses = std::unordered_map<const ExprNode*, Use>;

void count_uses(const Expr& expr, bool always, Uses& uses) {
  Use& use = uses[expr.get()];
  const bool known = use.count++ > 0 && (use.always || !always);
  use.always |= always;
  if (known || looks_across(expr->op)) return;
  for (size_t i = 0; i < expr->args.size(); ++i)
    count_uses(expr->args[i], always && (expr->op != Op::select || i == 0), uses);
}

// Nodes in the order in which their constants must be written.
void order_nodes(const Expr& expr, Uses& uses, std::vector<Expr>& order) {
  if (uses[expr.get()].count < 0) return;
  if (!looks_across(expr->op))
    for (const Expr& arg : expr->args) order_nodes(arg, uses, order);
  if (uses[expr.get()].count > 1 && !is_leaf(expr)) order.push_back(expr);
  uses[expr.get()].count = -1;
}

const char* infix_of(Op op) {
  switch (op) {
    case Op::add:
      return "+";
    case Op::sub:
      return "-";
    case Op::mul:
      return "*";
    case Op::div:
      return "/";
    case Op::bit_and:
    case Op::logical_and:
      return "&";
    case Op::bit_or:
    case Op::logical_or:
      return "|";
    case Op::bit_xor:
      return "^";
    case Op::eq:
      return "==";
    case Op::ne:
      return "!=";
    case Op::lt:
      return "<";
    default:
      return "<=";
  }
}

std::string call(const std::string& name, const std::string& a) {
  return fmt::format("{}({})", name, a);
}
std::string call(const std::string& name, const std::string& a, const std::string& b) {
  return fmt::format("{}({}, {})", name, a, b);
}

}  // namespace

void CExprWriter::name_register(int32_t id, std::string name, int lanes) {
  registers_[id] = {std::move(name), lanes};
}

std::string CExprWriter::shared_value(const Expr& expr, const std::string& indent,
                                      std::string& out) {
  Uses uses;
  count_uses(expr, true, uses);
  const Uses counted = uses;
  std::vector<Expr> order;
  order_nodes(expr, uses, order);
  for (const Expr& node : order) {
    if (names_.contains(node.get())) continue;
    if (reads_memory(node) && !counted.at(node.get()).always) continue;
    const std::string text = value(node);
    const std::string name = fresh();
    out += fmt::format("{}const {} {} = {};\n", indent, c_type(node->dtype), name, text);
    names_[node.get()] = name;
  }
  return value(expr);
}

void CExprWriter::write_across(const Expr& expr, const std::string& indent, std::string& out) {
  if (names_.contains(expr.get())) return;
  for (const Expr& arg : expr->args) write_across(arg, indent, out);
  if (!looks_across(expr->op)) return;
  const Expr& vector = expr->args[0];
  const std::string name = fresh();
  const std::string type = c_type(expr->dtype);
  if (expr->op == Op::extract && vector->op == Op::reg) {
    out += fmt::format("{}const {} {} = {}[{}];\n", indent, type, name,
                       registers_.at(vector->id).first, expr->args[1]->int_value);
    names_[expr.get()] = name;
    return;
  }
  const auto across = names_;
  const std::string deeper = indent + "  ";
  std::string body;
  const std::string lane = shared_value(vector, deeper, body);
  names_ = across;
  const std::string all = fresh();
  out += fmt::format(
      "{0}{1} {2}[{3}];\n{0}for (int l = 0; l < {3}; ++l) {{\n{4}{5}{2}[l] = {6};\n"
      "{0}}}\n",
      indent, type, all, vector->lanes, body, deeper, lane);
  if (expr->op == Op::extract) {
    names_[expr.get()] = fmt::format("{}[{}]", all, expr->args[1]->int_value);
    return;
  }
  const Op op = expr->op == Op::reduce_add   ? Op::add
                : expr->op == Op::reduce_mul ? Op::mul
                : expr->op == Op::reduce_min ? Op::min
                                             : Op::max;
  const std::string next = all + "[l]";
  const std::string combined = is_float(expr->dtype) ? float_text(op, expr->dtype, name, next)
                                                     : integer_text(op, expr->dtype, name, next);
  out += fmt::format("{0}{1} {2} = {3}[0];\n{0}for (int l = 1; l < {4}; ++l) {2} = {5};\n", indent,
                     type, name, all, vector->lanes, combined);
  names_[expr.get()] = name;
}

std::string CExprWriter::value(const Expr& expr) {
  if (const auto known = names_.find(expr.get()); known != names_.end()) return known->second;
  if (expr->op != Op::constant && is_pure_index(expr, false))
    return fmt::format("(int64_t){}", index(expr));
  return compute(expr);
}

std::string CExprWriter::index(const Expr& expr) {
  if (expr->dtype != DType::i64 || !is_pure_index(expr, true))
    return fmt::format("(intptr_t){}", value(expr));
  const auto arg = [&](size_t i) { return index(expr->args[i]); };
  switch (expr->op) {
    case Op::constant:
      return expr->int_value < 0 ? fmt::format("({})", expr->int_value)
                                 : fmt::format("{}", expr->int_value);
    case Op::var:
      return fmt::format("v{}", expr->id);
    case Op::cast:
      return fmt::format("(intptr_t){}", value(expr->args[0]));
    case Op::neg:
      return fmt::format("(-{})", arg(0));
    case Op::broadcast:
      return arg(0);
    case Op::ramp:
      return fmt::format("({} + l * {})", arg(0), arg(1));
    case Op::select:
      return fmt::format("({} ? {} : {})", value(expr->args[0]), arg(1), arg(2));
    case Op::div:
      return call(helpers_.use("index_div", DType::i64), arg(0), arg(1));
    case Op::mod:
      return call(helpers_.use("index_mod", DType::i64), arg(0), arg(1));
    case Op::min:
      return call(helpers_.use("index_min", DType::i64), arg(0), arg(1));
    case Op::max:
      return call(helpers_.use("index_max", DType::i64), arg(0), arg(1));
    default:
      return fmt::format("({} {} {})", arg(0), infix_of(expr->op), arg(1));
  }
}

std::string CExprWriter::element(BufferId buffer, const Expr& index, int lanes) {
  const std::string at = this->index(index);
  const bool consecutive = lanes > 1 && index->lanes == 1;
  return fmt::format("b{}[{}{}]", buffer.value, at, consecutive ? " + l" : "");
}

std::string CExprWriter::compute(const Expr& expr) {
  switch (expr->op) {
    case Op::constant:
      return c_constant(*expr, helpers_);
    case Op::reg: {
      const auto& [name, lanes] = registers_.at(expr->id);
      return lanes > 1 ? name + "[l]" : name;
    }
    case Op::load:
      return load_text(expr);
    case Op::broadcast:
      return value(expr->args[0]);
    case Op::ramp: {
      const std::string lane = fmt::format("({})l", c_type(expr->dtype));
      return integer_text(Op::add, expr->dtype, value(expr->args[0]),
                          integer_text(Op::mul, expr->dtype, lane, value(expr->args[1])));
    }
    case Op::cast:
    case Op::saturate:
    case Op::bitcast:
      return cast_text(expr);
    case Op::select:
      return fmt::format("({} ? {} : {})", value(expr->args[0]), value(expr->args[1]),
                         value(expr->args[2]));
    case Op::fma: {
      const std::string name = helpers_.use("fma", expr->dtype);
      return fmt::format("{}({}, {}, {})", name, value(expr->args[0]), value(expr->args[1]),
                         value(expr->args[2]));
    }
    default:
      break;
  }
  if (is_expanded(expr->op, expr->args[0]->dtype)) {
    const DType dtype = expr->dtype == DType::f64 ? DType::f64 : DType::f32;
    const std::string name = helpers_.use_math(expr->op, dtype);
    if (expr->args.size() == 1) return call(name, value(expr->args[0]));
    return call(name, value(expr->args[0]), value(expr->args[1]));
  }
  return expr->args.size() == 1 ? unary_text(expr) : binary_text(expr);
}

std::string CExprWriter::unary_text(const Expr& expr) {
  const std::string a = value(expr->args[0]);
  const DType dtype = expr->dtype;
  if (expr->op == Op::logical_not) return fmt::format("(!{})", a);
  if (is_float(dtype)) {
    if (expr->op == Op::neg) return fmt::format("(-{})", a);
    return call(helpers_.use(std::string(facts(expr->op).name), dtype), a);
  }
  const std::string zero = fmt::format("({})0", c_type(dtype));
  const std::string negated = integer_text(Op::sub, dtype, zero, a);
  if (expr->op == Op::neg) return negated;
  if (!facts(dtype).is_signed) return a;
  return fmt::format("({} < 0 ? {} : {})", a, negated, a);
}

std::string CExprWriter::binary_text(const Expr& expr) {
  const Expr& left = expr->args[0];
  const Expr& right = expr->args[1];
  const bool compares = expr->op >= Op::eq && expr->op <= Op::le;
  const bool indices = compares && is_pure_index(left, false) && is_pure_index(right, false);
  const std::string a = indices ? index(left) : value(left);
  const std::string b = indices ? index(right) : value(right);
  if (compares) return fmt::format("({} {} {})", a, infix_of(expr->op), b);
  return is_float(expr->dtype) ? float_text(expr->op, expr->dtype, a, b)
                               : integer_text(expr->op, expr->dtype, a, b);
}

std::string CExprWriter::integer_text(Op op, DType dtype, const std::string& a,
                                      const std::string& b) {
  const bool is_signed = facts(dtype).is_signed;
  const std::string type = c_type(dtype);
  const int bits = static_cast<int>(8 * bytes_of(dtype));
  switch (op) {
    case Op::div:
    case Op::mod:
      return call(
          helpers_.use(std::string(is_signed ? "" : "unsigned_") + (op == Op::div ? "div" : "mod"),
                       dtype),
          a, b);
    case Op::min:
    case Op::max:
      if (dtype == DType::b1) return fmt::format("({} {} {})", a, op == Op::min ? "&&" : "||", b);
      return call(helpers_.use(op == Op::min ? "min" : "max", dtype), a, b);
    case Op::shl:
      return fmt::format("({0})((uint{1}_t){2} << ((uint{1}_t){3} % {1}u))", type, bits, a, b);
    case Op::shr:
      if (is_signed) return call(helpers_.use("shr", dtype), a, b);
      return fmt::format("({})({} >> ({} % {}u))", type, a, b, bits);
    default:
      break;
  }
  if (dtype == DType::b1) {
    const bool both = op == Op::bit_and || op == Op::logical_and;
    return fmt::format("({} {} {})", a, both ? "&&" : op == Op::bit_xor ? "!=" : "||", b);
  }
  const bool wraps = op == Op::add || op == Op::sub || op == Op::mul;
  if (wraps && bits >= 32)
    return fmt::format("({0})((uint{1}_t){2} {3} (uint{1}_t){4})", type, bits, a, infix_of(op), b);
  return fmt::format("({})({} {} {})", type, a, infix_of(op), b);
}

std::string CExprWriter::float_text(Op op, DType dtype, const std::string& a,
                                    const std::string& b) {
  if (op == Op::min || op == Op::max)
    return call(helpers_.use(op == Op::min ? "float_min" : "float_max", dtype), a, b);
  return fmt::format("({} {} {})", a, infix_of(op), b);
}

std::string CExprWriter::cast_text(const Expr& expr) {
  const DType from = expr->args[0]->dtype;
  const DType to = expr->dtype;
  const std::string operand = value(expr->args[0]);
  if (expr->op == Op::bitcast) {
    std::string bits = operand;
    if (from == DType::f16 || from == DType::bf16)
      bits = to_memory(operand, from);
    else if (is_float(from))
      bits = call(helpers_.use("to_bits", from), operand);
    const std::string word = fmt::format("(uint{}_t){}", 8 * bytes_of(to), bits);
    if (to == DType::f16 || to == DType::bf16) return from_memory(word, to);
    if (is_float(to)) return call(helpers_.use("from_bits", to), word);
    return fmt::format("({}){}", c_type(to), bits);
  }
  if (to == DType::b1) return fmt::format("({} != 0)", operand);
  if (is_float(to) && is_float(from)) return to_dtype(operand, from, to);
  if (is_float(to)) {
    if (to == DType::f64) return fmt::format("(double){}", operand);
    return to_dtype("(float)" + operand, DType::f32, to);
  }
  if (is_float(from)) return float_to_integer(expr->op, from, to, operand);
  if (expr->op == Op::cast) return fmt::format("({}){}", c_type(to), operand);
  std::string clamped = operand;
  const auto bound = [&](const char* kind, int64_t limit) {
    clamped =
        call(helpers_.use(kind, from), clamped, c_constant(*int_constant(limit, from), helpers_));
  };
  if (lowest(to) > lowest(from)) bound("max", lowest(to));
  if (highest(to) < highest(from)) bound("min", highest(to));
  return fmt::format("({}){}", c_type(to), clamped);
}

std::string CExprWriter::float_to_integer(Op op, DType from, DType to, const std::string& operand) {
  const DType type = from == DType::f64 ? DType::f64 : DType::f32;
  const std::string result = c_type(to);
  if (op == Op::cast)
    return fmt::format("({})({}){}", result, to == DType::i64 ? "int64_t" : "int32_t", operand);
  return call(helpers_.use_saturate(type, to), operand);
}

std::string CExprWriter::load_text(const Expr& expr) {
  const std::string stored = element(BufferId{expr->id}, expr->args[0], expr->lanes);
  const std::string loaded = from_memory(stored, expr->dtype);
  if (expr->args.size() < 2) return loaded;
  return fmt::format("({} ? {} : 0)", value(expr->args[1]), loaded);
}

std::string CExprWriter::from_memory(const std::string& stored, DType dtype) {
  switch (dtype) {
    case DType::b1:
      return fmt::format("({} != 0)", stored);
    case DType::f16:
      return call(helpers_.use("f16_load", dtype), stored);
    case DType::bf16:
      return call(helpers_.use("bf16_load", dtype), stored);
    default:
      return stored;
  }
}

std::string CExprWriter::to_memory(const std::string& value, DType dtype) {
  switch (dtype) {
    case DType::b1:
      return fmt::format("(uint8_t){}", value);
    case DType::f16:
      return call(helpers_.use("f16_store", dtype), value);
    case DType::bf16:
      return call(helpers_.use("bf16_store", dtype), value);
    default:
      return value;
  }
}

// To f16 and bf16 the value is rounded; its type stays float.
std::string CExprWriter::to_dtype(const std::string& value, DType from, DType to) {
  if (from == to) return value;
  if (to == DType::f64) return fmt::format("(double){}", value);
  if (to == DType::f32) return from == DType::f64 ? fmt::format("(float){}", value) : value;
  const std::string single =
      from == DType::f64 ? call(helpers_.use("odd", DType::f64), value) : value;
  return from_memory(to_memory(single, to), to);
}

}  // namespace hone
