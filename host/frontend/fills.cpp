// SPDX-License-Identifier: Apache-2.0
#include "frontend/fills.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "frontend/range.h"

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Precision {
  double exact;    // integers up to this magnitude are all representable
  double finite;   // largest finite value
  double epsilon;  // spacing at 1
};

Precision precision_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {0x1p11, 65504, 0x1p-10};
    case DType::bf16:
      return {0x1p8, 0x1.fep127, 0x1p-7};
    case DType::f32:
      return {0x1p24, 0x1.fffffep127, 0x1p-23};
    default:
      return {0x1p53, std::numeric_limits<double>::max(), 0x1p-52};
  }
}

double precise_limit(DType dtype) {
  return is_float(dtype) ? precision_of(dtype).exact : kInfinity;
}

struct TensorValues {
  Range range;
  bool exact = true;
};

double terms_of(const Stage& stage) {
  double terms = 1;
  for (const StageAxis& axis : stage.reduce_axes) terms *= static_cast<double>(axis.extent);
  return terms;
}

// Follows ranges and exactness from the inputs to the outputs.
class ValueFlow {
 public:
  ValueFlow(const Graph& graph, const std::vector<Range>& input_ranges) : graph_(graph) {
    for (const Range& range : input_ranges) values_.push_back({range, true});
    for (const Stage& stage : graph.stages) follow(stage);
  }

  const TensorValues& operator[](BufferId tensor) const {
    return values_[static_cast<size_t>(tensor.value)];
  }
  // The tensor whose index from data may be out of range; invalid when all are in range.
  BufferId stray_read() const { return stray_read_; }

  // How good the inputs' ranges are: tensors that are exact, and those that stay finite.
  int score() const {
    int score = 0;
    for (int32_t i = 0; i < graph_.tensors.size(); ++i) {
      const TensorValues& values = (*this)[BufferId{i}];
      const DType dtype = graph_.tensors[BufferId{i}].dtype;
      if (values.exact) ++score;
      if (!is_float(dtype) || magnitude(values.range) <= precision_of(dtype).finite) ++score;
    }
    return score;
  }

 private:
  void follow(const Stage& stage) {
    RangeScope scope([&stage](int32_t axis) { return stage.extent_of(axis); },
                     [this](BufferId tensor) { return (*this)[tensor].range; });
    if (stage.reducer == Reducer::fold)
      for (const BufferId result : stage.results)
        set(result, {range_of(graph_.tensors[result].dtype), true});
    bool all_exact = true;
    std::vector<Range> ranges;
    for (const Expr& value : stage.values) {
      all_exact &= is_exact(value, scope);
      ranges.push_back(scope.range(value));
    }
    for (size_t i = 0; i < stage.results.size(); ++i)
      set(stage.results[i], reduced(stage, i, ranges[i], all_exact));
  }

  void set(BufferId tensor, TensorValues values) {
    values_[static_cast<size_t>(tensor.value)] = values;
  }

  TensorValues reduced(const Stage& stage, size_t number, Range range, bool exact) const {
    const DType dtype = graph_.tensors[stage.results[number]].dtype;
    const double terms = terms_of(stage);
    if (stage.reducer == Reducer::fold) return {range_of(dtype), exact};
    if (stage.reducer == Reducer::sum) {
      exact &= terms * magnitude(range) <= precise_limit(dtype);
      // Sums that run in between start at 0.
      range = {std::min(0.0, range.low * terms), std::max(0.0, range.high * terms)};
    }
    if (stage.reducer == Reducer::prod) {
      const double most = std::pow(std::max(1.0, magnitude(range)), terms);
      exact &= most <= precise_limit(dtype);
      range = {range.low >= 0 ? 0 : -most, most};
    }
    if (!is_float(dtype) && !range.is_within(range_of(dtype))) range = range_of(dtype);
    return {range, exact};
  }

  // Also notes reads whose index may be out of range. Guards of conditionals hold inside.
  bool is_exact(const Expr& expr, RangeScope& scope) {
    if (expr->op == Op::select) {
      bool exact = is_exact(expr->args[0], scope);
      for (const bool holds : {true, false}) {
        const size_t mark = scope.enter(expr->args[0], holds);
        exact &= is_exact(expr->args[holds ? 1 : 2], scope);
        scope.leave(mark);
      }
      return exact;
    }
    bool exact = true;
    for (const Expr& arg : expr->args) exact &= is_exact(arg, scope);
    if (expr->op == Op::load) {
      check_read(expr, scope);
      return exact && (*this)[BufferId{expr->id}].exact;
    }
    return exact && operation_is_exact(expr, scope);
  }

  bool operation_is_exact(const Expr& expr, const RangeScope& scope) const {
    if (rounds_by_nature(expr->op)) return false;
    switch (expr->op) {
      case Op::constant:
        return !is_float(expr->dtype) || std::floor(expr->float_value) == expr->float_value;
      case Op::div:
        return !is_float(expr->dtype);
      case Op::cast:
        if (is_float(expr->args[0]->dtype) && is_integer(expr->dtype))
          return scope.range(expr->args[0]).is_within(range_of(expr->dtype));
        break;
      case Op::add:
      case Op::sub:
      case Op::mul:
        break;
      default:
        return true;
    }
    return !is_float(expr->dtype) || magnitude(scope.range(expr)) <= precise_limit(expr->dtype);
  }

  void check_read(const Expr& load, const RangeScope& scope) {
    const GraphTensor& tensor = graph_.tensors[BufferId{load->id}];
    for (size_t i = 0; i < load->args.size(); ++i) {
      const double last = static_cast<double>(tensor.shape[i] - 1);
      if (!scope.range(load->args[i]).is_within({0, last})) stray_read_ = BufferId{load->id};
    }
  }

  const Graph& graph_;
  std::vector<TensorValues> values_;  // by tensor; computed ones are filled in on the way
  BufferId stray_read_;
};

// -- choice of ranges
// --------------------------------------------------------------------------------

// Largest magnitudes, from the most telling to the most careful.
struct Level {
  int64_t integers;
  int64_t floats;
};
constexpr std::array<Level, 6> kLevels = {
    {{int64_t{1} << 20, 8}, {127, 8}, {8, 8}, {4, 4}, {2, 2}, {1, 1}}};

Range fill_range(DType dtype, const Level& level) {
  const double most = static_cast<double>(is_float(dtype) ? level.floats : level.integers);
  return intersect({-most, most}, range_of(dtype));
}

std::vector<Range> ranges_at(const Graph& graph, const Level& level) {
  std::vector<Range> ranges;
  for (const GraphTensor& tensor : graph.tensors) ranges.push_back(fill_range(tensor.dtype, level));
  return ranges;
}

void collect_sources(const Graph& graph, BufferId tensor, std::set<BufferId>& sources) {
  if (!sources.insert(tensor).second) return;
  const int number = graph.tensors[tensor].stage;
  if (number < 0) return;
  for (const Expr& value : graph.stages[static_cast<size_t>(number)].values)
    walk(value, [&](const ExprNode& node) {
      if (node.op == Op::load) collect_sources(graph, BufferId{node.id}, sources);
    });
}

// Inputs from which an index is computed.
std::vector<BufferId> index_inputs(const Graph& graph) {
  std::set<BufferId> sources;
  const auto note = [&](const ExprNode& node) {
    if (node.op == Op::load) collect_sources(graph, BufferId{node.id}, sources);
  };
  for (const Stage& stage : graph.stages)
    for (const Expr& value : stage.values)
      walk(value, [&](const ExprNode& node) {
        if (node.op != Op::load) return;
        for (const Expr& index : node.args) walk(index, note);
      });
  std::vector<BufferId> inputs;
  for (const BufferId source : sources)
    if (graph.tensors[source].stage < 0) inputs.push_back(source);
  return inputs;
}

// Narrows the inputs that make indices to the widest [0, high] that keeps every read in range.
Result<void> narrow_index_inputs(const Graph& graph, std::vector<Range>& ranges) {
  if (!ValueFlow(graph, ranges).stray_read().valid()) return {};
  const std::vector<BufferId> inputs = index_inputs(graph);
  std::vector<double> most;
  for (const BufferId input : inputs) {
    Range& range = ranges[static_cast<size_t>(input.value)];
    most.push_back(range_of(graph.tensors[input].dtype).high);
    range = {0, 0};
  }
  if (const BufferId stray = ValueFlow(graph, ranges).stray_read(); stray.valid())
    return fail(
        "an index of '{}' that is computed from data can be out of range: guard the read with "
        "'if' or clamp it with min and max",
        graph.tensors[stray].name);
  for (size_t i = 0; i < inputs.size(); ++i) {
    Range& range = ranges[static_cast<size_t>(inputs[i].value)];
    double good = 0;
    double bad = std::min(most[i], 0x1p31) + 1;
    while (bad - good > 1) {
      const double middle = std::floor((good + bad) / 2);
      range.high = middle;
      (ValueFlow(graph, ranges).stray_read().valid() ? bad : good) = middle;
    }
    range.high = good;
  }
  return {};
}

// -- tolerance
// ---------------------------------------------------------------------------------------

// Rounding errors grow like the root of the number of terms.
Tolerance tolerance_of(const Graph& graph, const ValueFlow& flow) {
  double epsilon = 0;
  double terms = 1;
  for (const Stage& stage : graph.stages) {
    if (stage.reducer == Reducer::sum || stage.reducer == Reducer::prod)
      terms = std::max(terms, terms_of(stage));
    for (const Expr& value : stage.values)
      walk(value, [&](const ExprNode& node) {
        if (is_float(node.dtype) && node.op != Op::load && node.op != Op::constant)
          epsilon = std::max(epsilon, precision_of(node.dtype).epsilon);
      });
  }
  const double root = std::sqrt(terms);
  Tolerance tolerance{epsilon * (16 + 4 * root), epsilon * (4 + root / 4), 0};
  for (int32_t i = 0; i < graph.tensors.size(); ++i) {
    const GraphTensor& tensor = graph.tensors[BufferId{i}];
    if (tensor.output && is_integer(tensor.dtype) && !flow[BufferId{i}].exact)
      tolerance.absolute = 1;
  }
  return tolerance;
}

}  // namespace

Result<AnswerCheck> plan_answer_check(const Graph& graph) {
  std::vector<Range> best;
  int best_score = -1;
  for (const Level& level : kLevels) {
    std::vector<Range> ranges = ranges_at(graph, level);
    TRYV(narrow_index_inputs(graph, ranges));
    const int score = ValueFlow(graph, ranges).score();
    if (score <= best_score) continue;
    best_score = score;
    best = std::move(ranges);
  }
  const ValueFlow flow(graph, best);
  AnswerCheck check;
  check.exact = true;
  for (int32_t i = 0; i < graph.tensors.size(); ++i) {
    const GraphTensor& tensor = graph.tensors[BufferId{i}];
    const Range& range = best[static_cast<size_t>(i)];
    if (tensor.role != TensorRole::computed)
      check.fills.push_back(
          {BufferId{i}, static_cast<int64_t>(range.low), static_cast<int64_t>(range.high)});
    if (tensor.output) check.exact &= flow[BufferId{i}].exact;
  }
  if (!check.exact) check.tolerance = tolerance_of(graph, flow);
  return check;
}

}  // namespace hone
