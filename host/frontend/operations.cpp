// SPDX-License-Identifier: Apache-2.0
//
// Useful operations are counted exactly: a term of a sum is zero where a factor is `if C then …
// else 0` and C does not hold, also when that factor is a stage of its own (a padded copy) that the
// term reads. The conditions found this way are conjunctions that rarely couple more than two axes,
// so the number of instances where they hold is a product over groups of coupled axes, each counted
// by enumeration.
#include "frontend/operations.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace hone {
namespace {

constexpr double kMaxEnumeration = 1e7;  // beyond: the group counts as if always true

bool is_arithmetic(Op op) {
  return (op >= Op::neg && op <= Op::round && op != Op::logical_not) ||
         (op >= Op::add && op <= Op::bit_xor);
}

double operations_in(const Expr& expr) {
  if (expr->op == Op::load) return 0;
  double count = is_arithmetic(expr->op) ? 1 : 0;
  const size_t first = expr->op == Op::select ? 1 : 0;  // conditions do not count
  for (size_t i = first; i < expr->args.size(); ++i) count += operations_in(expr->args[i]);
  return count;
}

bool is_zero(const Expr& expr) {
  return is_constant(expr) && expr->int_value == 0 && expr->float_value == 0;
}

bool reads_data(const Expr& expr) {
  bool reads = false;
  walk(expr, [&](const ExprNode& node) { reads |= node.op == Op::load; });
  return reads;
}

void split_conjunction(const Expr& condition, std::vector<Expr>& parts) {
  if (condition->op == Op::logical_and) {
    split_conjunction(condition->args[0], parts);
    split_conjunction(condition->args[1], parts);
  } else if (!reads_data(condition)) {
    parts.push_back(condition);
  }
}

// Conditions without which the value is zero.
void conditions_of(const Graph& graph, const Expr& expr, std::vector<Expr>& conditions) {
  switch (expr->op) {
    case Op::mul:
      conditions_of(graph, expr->args[0], conditions);
      conditions_of(graph, expr->args[1], conditions);
      return;
    case Op::neg:
    case Op::cast:
    case Op::saturate:
      conditions_of(graph, expr->args[0], conditions);
      return;
    case Op::select:
      if (is_zero(expr->args[2])) {
        split_conjunction(expr->args[0], conditions);
        conditions_of(graph, expr->args[1], conditions);
      } else if (is_zero(expr->args[1])) {
        split_conjunction(unary(Op::logical_not, expr->args[0]), conditions);
        conditions_of(graph, expr->args[2], conditions);
      }
      return;
    case Op::load: {
      const int number = graph.tensors[BufferId{expr->id}].stage;
      if (number < 0) return;
      const Stage& stage = graph.stages[static_cast<size_t>(number)];
      if (stage.reducer != Reducer::none) return;
      std::vector<Expr> inner;
      conditions_of(graph, stage.values[0], inner);
      for (const Expr& condition : inner) {
        const Expr here = substitute_axes(condition, expr->args);
        if (!reads_data(here)) conditions.push_back(here);
      }
      return;
    }
    default:
      return;
  }
}

int64_t evaluate(const Expr& expr, const std::vector<int64_t>& axes) {
  if (expr->op == Op::constant) return expr->int_value;
  if (expr->op == Op::axis) return axes[static_cast<size_t>(expr->id)];
  if (expr->op == Op::select)
    return evaluate(expr->args[evaluate(expr->args[0], axes) != 0 ? 1 : 2], axes);
  const int64_t a = evaluate(expr->args[0], axes);
  if (expr->op == Op::cast) return wrap_to(expr->dtype, a);
  if (expr->op == Op::saturate) return std::clamp(a, lowest(expr->dtype), highest(expr->dtype));
  const int64_t b = expr->args.size() > 1 ? evaluate(expr->args[1], axes) : 0;
  if (expr->op >= Op::eq && expr->op <= Op::le)
    return fold_compare(expr->op, expr->args[0]->dtype, a, b, 0, 0) ? 1 : 0;
  return fold_int(expr->op, expr->dtype, a, b);
}

bool is_integral(const Expr& expr) {
  bool integral = true;
  walk(expr, [&](const ExprNode& node) { integral &= !is_float(node.dtype); });
  return integral;
}

std::set<int32_t> axes_of(const Expr& expr) {
  std::set<int32_t> axes;
  walk(expr, [&](const ExprNode& node) {
    if (node.op == Op::axis) axes.insert(node.id);
  });
  return axes;
}

struct Group {  // conditions that share axes, directly or through each other
  std::set<int32_t> axes;
  std::vector<Expr> conditions;
};

std::vector<Group> groups_of(const std::vector<Expr>& conditions) {
  std::vector<Group> groups;
  for (const Expr& condition : conditions) {
    if (!is_integral(condition)) continue;
    Group merged{axes_of(condition), {condition}};
    std::erase_if(groups, [&](const Group& group) {
      const bool shares = std::any_of(group.axes.begin(), group.axes.end(),
                                      [&](int32_t axis) { return merged.axes.contains(axis); });
      if (!shares) return false;
      merged.axes.insert(group.axes.begin(), group.axes.end());
      merged.conditions.insert(merged.conditions.end(), group.conditions.begin(),
                               group.conditions.end());
      return true;
    });
    groups.push_back(std::move(merged));
  }
  return groups;
}

// The share of the group's instances where all its conditions hold.
double share_of(const Group& group, const Stage& stage) {
  const std::vector<int32_t> axes(group.axes.begin(), group.axes.end());
  double space = 1;
  for (const int32_t axis : axes) space *= static_cast<double>(stage.extent_of(axis));
  if (space > kMaxEnumeration) return 1;
  std::vector<int64_t> values(stage.axes.size() + stage.reduce_axes.size(), 0);
  double holding = 0;
  for (;;) {
    if (std::all_of(group.conditions.begin(), group.conditions.end(),
                    [&](const Expr& condition) { return evaluate(condition, values) != 0; }))
      ++holding;
    size_t i = axes.size();
    while (i > 0) {
      int64_t& value = values[static_cast<size_t>(axes[i - 1])];
      if (++value < stage.extent_of(axes[i - 1])) break;
      value = 0;
      --i;
    }
    if (i == 0) return holding / space;
  }
}

double useful_share(const Graph& graph, const Stage& stage) {
  if (stage.reducer != Reducer::none && stage.reducer != Reducer::sum) return 1;
  std::vector<Expr> conditions;
  conditions_of(graph, stage.values[0], conditions);
  double share = 1;
  for (const Group& group : groups_of(conditions)) share *= share_of(group, stage);
  return share;
}

}  // namespace

OperationCount count_operations(const Graph& graph) {
  OperationCount count;
  for (const Stage& stage : graph.stages) {
    double instances = 1;
    for (const auto* axes : {&stage.axes, &stage.reduce_axes})
      for (const StageAxis& axis : *axes) instances *= static_cast<double>(axis.extent);
    double each = 0;
    for (const Expr& value : stage.values)
      each += operations_in(value) + (stage.reducer == Reducer::none ? 0 : 1);
    count.nominal += each * instances;
    count.useful += each * instances * useful_share(graph, stage);
  }
  // Shares are ratios of whole numbers; what they scale is whole again.
  count.useful = std::round(count.useful);
  return count;
}

}  // namespace hone
