// SPDX-License-Identifier: Apache-2.0
#include "frontend/graph.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "base/text.h"
#include "frontend/parser.h"

namespace hone {
namespace {

std::string float_text(double value, DType dtype) {
  if (std::isnan(value)) return "nan";
  if (value == 0 && std::signbit(value)) return "-0.0";
  // The shortest text that reads back as the same value; every f16 and bf16 is an f32.
  return dtype == DType::f64 ? fmt::format("{}", value)
                             : fmt::format("{}", static_cast<float>(value));
}

class Printer {
 public:
  Printer(const Graph& graph, const Stage& stage) : graph_(graph), stage_(stage) {}

  // `minimum`: an operator that binds less tightly gets brackets. `typed`: something beside a
  // constant tells its type, so that it can stand bare.
  std::string expression(const Expr& expr, int minimum, bool typed) const {
    switch (expr->op) {
      case Op::constant:
        return constant(*expr, typed);
      case Op::axis:
        return axis_name(expr->id);
      case Op::load:
        return load(*expr);
      case Op::neg:
        return "-" + expression(expr->args[0], kPrefixPrecedence, false);
      case Op::logical_not:
        return "!" + expression(expr->args[0], kPrefixPrecedence, false);
      case Op::cast:
      case Op::saturate:
      case Op::bitcast:
        return fmt::format("{}({})", cast_name(expr->op, expr->dtype),
                           expression(expr->args[0], 0, false));
      case Op::select:
        return bracketed(conditional(*expr), minimum > 0);
      default:
        break;
    }
    if (const Function* function = function_of(expr->op)) return call(*function, *expr);
    return infix(*expr, minimum);
  }

  std::string values(const std::vector<Expr>& values) const {
    std::vector<std::string> texts;
    for (const Expr& value : values) texts.push_back(expression(value, 0, false));
    return stage_.results.size() == 1 ? texts[0] : "(" + join(texts, ", ") + ")";
  }

 private:
  static std::string bracketed(std::string text, bool brackets) {
    return brackets ? "(" + text + ")" : text;
  }

  static std::string constant(const ExprNode& node, bool typed) {
    if (node.dtype == DType::b1) return node.int_value != 0 ? "true" : "false";
    const std::string text = is_float(node.dtype) ? float_text(node.float_value, node.dtype)
                                                  : fmt::format("{}", node.int_value);
    return typed ? text : fmt::format("{}({})", to_string(node.dtype), text);
  }

  std::string axis_name(int32_t axis) const {
    const size_t number = static_cast<size_t>(axis);
    const size_t spatial = stage_.axes.size();
    return number < spatial ? stage_.axes[number].name : stage_.reduce_axes[number - spatial].name;
  }

  std::string load(const ExprNode& node) const {
    const BufferId buffer{node.id};
    const std::string& name = graph_.tensors[buffer].name;
    const auto& own = stage_.results;
    if (std::find(own.begin(), own.end(), buffer) != own.end()) return name;
    std::vector<std::string> indices;
    for (const Expr& index : node.args) {
      // The checker takes an integer of any type as an index.
      const bool widened = index->op == Op::cast && is_integer(index->args[0]->dtype);
      indices.push_back(expression(widened ? index->args[0] : index, 0, true));
    }
    return fmt::format("{}[{}]", name, fmt::join(indices, ", "));
  }

  std::string conditional(const ExprNode& node) const {
    const bool then_typed = !is_constant(node.args[2]);
    const bool else_typed = !is_constant(node.args[1]);
    return fmt::format("if {} then {} else {}", expression(node.args[0], 0, false),
                       expression(node.args[1], 0, then_typed),
                       expression(node.args[2], 0, else_typed));
  }

  std::string call(const Function& function, const ExprNode& node) const {
    if (node.args.size() == 1)
      return fmt::format("{}({})", function.name, expression(node.args[0], 0, false));
    return fmt::format("{}({}, {})", function.name,
                       expression(node.args[0], 0, !is_constant(node.args[1])),
                       expression(node.args[1], 0, !is_constant(node.args[0])));
  }

  static bool is_order(const Expr& expr) { return expr->op == Op::lt || expr->op == Op::le; }
  static std::string_view sign_of(const Expr& order) { return order->op == Op::lt ? "<" : "<="; }

  std::string infix(const ExprNode& node, int minimum) const {
    const Expr& left = node.args[0];
    const Expr& right = node.args[1];
    if (node.op == Op::logical_and && is_order(left) && is_order(right) &&
        !is_constant(left->args[1]) && equal(left->args[1], right->args[0]))
      return bracketed(chain(left, right), minimum > kComparePrecedence);
    const InfixOperator* row = infix_of(node.op, left->dtype);
    ENSURE(row != nullptr, "{} has no sign", facts(node.op).name);
    const bool compares = row->precedence == kComparePrecedence;
    const std::string text = fmt::format(
        "{} {} {}", expression(left, row->precedence + (compares ? 1 : 0), !is_constant(right)),
        row->sign, expression(right, row->precedence + 1, !is_constant(left)));
    return bracketed(text, minimum > row->precedence);
  }

  std::string chain(const Expr& left, const Expr& right) const {
    return fmt::format("{} {} {} {} {}", expression(left->args[0], kComparePrecedence + 1, true),
                       sign_of(left), expression(left->args[1], kComparePrecedence + 1, true),
                       sign_of(right), expression(right->args[1], kComparePrecedence + 1, true));
  }

  const Graph& graph_;
  const Stage& stage_;
};

std::string axes_text(const std::vector<StageAxis>& axes) {
  std::vector<std::string> texts;
  for (const StageAxis& axis : axes) texts.push_back(fmt::format("{}:{}", axis.name, axis.extent));
  return join(texts, ", ");
}

std::string stage_text(const Graph& graph, const Stage& stage) {
  const Printer printer(graph, stage);
  std::vector<std::string> names;
  for (const BufferId result : stage.results) names.push_back(graph.tensors[result].name);
  std::string left = names.size() == 1 ? names[0] : "(" + join(names, ", ") + ")";
  if (graph.tensors[stage.results[0]].output) left = "output " + left;
  std::string right;
  if (stage.reducer != Reducer::none)
    right = fmt::format("{}({}) ", facts(stage.reducer).name, axes_text(stage.reduce_axes));
  if (stage.reducer == Reducer::fold)
    right += fmt::format("from {} to ", printer.values(stage.init));
  return fmt::format("{}[{}] = {}{}\n", left, axes_text(stage.axes), right,
                     printer.values(stage.values));
}

}  // namespace

int64_t Stage::extent_of(int32_t axis) const {
  const size_t number = static_cast<size_t>(axis);
  return number < axes.size() ? axes[number].extent : reduce_axes[number - axes.size()].extent;
}

std::string print(const Graph& graph) {
  std::string text;
  for (int32_t i = 0; i < graph.tensors.size(); ++i) {
    const GraphTensor& tensor = graph.tensors[BufferId{i}];
    if (tensor.role != TensorRole::computed) {
      text += fmt::format("{} {}: {}[{}]\n", tensor.role == TensorRole::input ? "input" : "param",
                          tensor.name, to_string(tensor.dtype), fmt::join(tensor.shape, ", "));
      continue;
    }
    const Stage& stage = graph.stages[static_cast<size_t>(tensor.stage)];
    if (stage.results[0] == BufferId{i}) text += stage_text(graph, stage);
  }
  return text;
}

std::string print(const Graph& graph, const Stage& stage, const Expr& expr) {
  return Printer(graph, stage).expression(expr, 0, false);
}

uint64_t hash_of(const Graph& graph) { return hash_bytes(print(graph)); }

Result<Graph> parse_graph(const SourceText& source) {
  return check(TRY(parse_statements(source)), source.name);
}

}  // namespace hone
