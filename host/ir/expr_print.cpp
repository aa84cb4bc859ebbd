// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>
#include <utility>

#include "ir/expr_text.h"

namespace hone {
namespace {

// Whether the parser knows the type of this expression without being told: some leaf that decides
// it is not a bare constant.
bool types_itself(const Expr& expr) {
  const auto arg = [&](size_t i) { return types_itself(expr->args[i]); };
  switch (expr->op) {
    case Op::constant:
      return expr->dtype == DType::b1;
    case Op::axis:
    case Op::var:
    case Op::reg:
    case Op::load:
      return true;
    case Op::cast:
    case Op::saturate:
    case Op::bitcast:
      return true;
    case Op::select:
      return arg(1) || arg(2);
    case Op::fma:
      return arg(0) || arg(1) || arg(2);
    case Op::extract:
      return arg(0);
    default:
      if (expr->dtype == DType::b1) return true;
      return arg(0) || (expr->args.size() == 2 && arg(1));
  }
}

std::string with_point(std::string digits) {
  return digits.find_first_of(".e") == std::string::npos ? digits + ".0" : digits;
}

// The fewest digits that give the value back. Types below f64 need only those of an f32 (0.1, not
// 0.10000000149011612) unless reading them as f64 and rounding would land beside it.
std::string float_digits(double value, DType dtype) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const std::string digits = fmt::format("{}", static_cast<float>(value));
  const bool enough = round_to(dtype, std::strtod(digits.c_str(), nullptr)) == value;
  return with_point(enough && dtype != DType::f64 ? digits : fmt::format("{}", value));
}

class Printer {
 public:
  explicit Printer(const ExprNames& names) : names_(names) {}

  // `floor`: infix operators that bind less tightly get parentheses.
  void put(const Expr& expr, std::optional<DType> wanted, int floor) {
    switch (expr->op) {
      case Op::constant:
        return put_constant(*expr, wanted);
      case Op::axis:
        out += names_.axis(expr->id);
        return;
      case Op::var:
        out += names_.var(expr->id);
        return;
      case Op::reg:
        out += names_.reg(expr->id);
        return;
      case Op::load:
        return put_load(*expr);
      default:
        break;
    }
    if (facts(expr->op).infix) return put_infix(*expr, wanted, floor);
    put_call(*expr, wanted);
  }

  std::string out;

 private:
  void put_constant(const ExprNode& node, std::optional<DType> wanted) {
    if (node.dtype == DType::b1) {
      out += node.int_value != 0 ? "true" : "false";
      return;
    }
    out += is_float(node.dtype) ? float_digits(node.float_value, node.dtype)
                                : fmt::format("{}", node.int_value);
    if (!wanted || *wanted != node.dtype) out += fmt::format(":{}", to_string(node.dtype));
  }

  void put_load(const ExprNode& node) {
    out += names_.buffer(BufferId{node.id});
    out += '[';
    const bool was_compact = std::exchange(compact_, true);
    const bool vector = node.lanes > 1;
    for (size_t i = 0; i < node.args.size(); ++i) {
      if (i > 0) out += vector ? ", " : ",";
      put(node.args[i], DType::i64, 0);
      if (vector && i == 0) out += fmt::format(" : {}", node.lanes);
    }
    compact_ = was_compact;
    out += ']';
  }

  // What the operands may take for granted about their type.
  std::optional<DType> operand_type(const ExprNode& node, size_t first,
                                    std::optional<DType> wanted) const {
    const bool compares = node.op >= Op::eq && node.op <= Op::le;
    for (size_t i = first; i < node.args.size(); ++i)
      if (types_itself(node.args[i])) return node.args[i]->dtype;
    return compares ? std::nullopt : wanted;
  }

  void put_infix(const ExprNode& node, std::optional<DType> wanted, int floor) {
    const OpFacts& op = facts(node.op);
    const std::optional<DType> type = operand_type(node, 0, wanted);
    const bool parentheses = op.precedence < floor;
    if (parentheses) out += '(';
    put(node.args[0], type, op.precedence);
    out += compact_ ? std::string(op.name) : fmt::format(" {} ", op.name);
    put(node.args[1], type, op.precedence + 1);
    if (parentheses) out += ')';
  }

  void put_call(const ExprNode& node, std::optional<DType> wanted) {
    const bool converts = node.op == Op::cast || node.op == Op::saturate || node.op == Op::bitcast;
    if (node.op != Op::cast) out += facts(node.op).name;
    if (converts) {
      if (node.op != Op::cast) out += '_';
      out += to_string(node.dtype);
    }
    const std::string_view comma = compact_ ? "," : ", ";
    out += '(';
    const size_t first_typed = node.op == Op::select ? 1 : 0;
    const std::optional<DType> type =
        operand_type(node, first_typed, converts ? std::optional<DType>() : wanted);
    for (size_t i = 0; i < node.args.size(); ++i) {
      if (i > 0) out += comma;
      const bool lane = node.op == Op::extract && i == 1;
      if (lane) {
        out += fmt::format("{}", node.args[1]->int_value);
      } else {
        put(node.args[i], i < first_typed ? DType::b1 : type, 0);
      }
    }
    if (node.op == Op::broadcast || node.op == Op::ramp) {
      out += comma;
      out += fmt::format("{}", node.lanes);
    }
    out += ')';
  }

  const ExprNames& names_;
  bool compact_ = false;  // inside an index
};

}  // namespace

std::string print(const Expr& expr, const ExprNames& names, std::optional<DType> wanted) {
  Printer printer(names);
  printer.put(expr, wanted, 0);
  return std::move(printer.out);
}

std::string print(const Expr& expr, const ExprNames& names) {
  return print(expr, names, std::nullopt);
}

}  // namespace hone
