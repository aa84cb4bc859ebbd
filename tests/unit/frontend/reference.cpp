// SPDX-License-Identifier: Apache-2.0
//
// Runs a naive Program: each block over its axes, in the order of the Program. It knows no loops,
// so it is of no use for scheduled Programs; with the interpreter it shares only the folding of
// constants.
#include "reference.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "frontend/fills.h"
#include "frontend/to_program.h"

namespace hone {
namespace {

class NaiveRun {
 public:
  NaiveRun(const Program& program, const Arrays& inputs) : program_(program) {
    for (const Buffer& buffer : program.buffers) {
      memory_.emplace_back(static_cast<size_t>(element_count(buffer)));
      const auto found = inputs.find(buffer.name);
      if (found == inputs.end()) continue;
      for (size_t i = 0; i < memory_.back().size(); ++i) {
        const double value = found->second.data[i];
        memory_.back()[i] = {is_float(buffer.dtype) ? 0 : static_cast<int64_t>(value), value};
      }
    }
    for (const BlockId block : all_blocks(program)) run(program.blocks[block]);
  }

  Array array_of(BufferId id) const {
    const Buffer& buffer = program_.buffers[id];
    Array array(buffer.shape);
    for (size_t i = 0; i < array.data.size(); ++i) {
      const ScalarValue& value = memory_[static_cast<size_t>(id.value)][i];
      array.data[i] = is_float(buffer.dtype) ? value.as_float : static_cast<double>(value.as_int);
    }
    return array;
  }

 private:
  void run(const Block& block) {
    std::vector<int64_t> extents;
    for (const Axis& axis : block.axes) extents.push_back(axis.extent);
    each(extents, [&](const std::vector<int64_t>& axes) {
      bool is_first = true;
      for (size_t i = 0; i < axes.size(); ++i)
        is_first &= block.axes[i].kind == AxisKind::spatial || axes[i] == 0;
      if (is_first) store(block.init, axes);
      store(block.body, axes);
    });
  }

  // All values are read before any is written.
  void store(const std::vector<Store>& stores, const std::vector<int64_t>& axes) {
    std::vector<ScalarValue> values;
    for (const Store& one : stores) values.push_back(value_of(one.value, axes));
    for (size_t i = 0; i < stores.size(); ++i)
      element(stores[i].buffer, stores[i].indices, axes) = values[i];
  }

  ScalarValue& element(BufferId id, const std::vector<Expr>& indices,
                       const std::vector<int64_t>& axes) {
    const Buffer& buffer = program_.buffers[id];
    int64_t offset = 0;
    for (size_t i = 0; i < indices.size(); ++i) {
      const int64_t index = value_of(indices[i], axes).as_int;
      REQUIRE_MESSAGE((index >= 0 && index < buffer.shape[i]), buffer.name);
      offset = offset * buffer.shape[i] + index;
    }
    return memory_[static_cast<size_t>(id.value)][static_cast<size_t>(offset)];
  }

  ScalarValue value_of(const Expr& expr, const std::vector<int64_t>& axes) {
    switch (expr->op) {
      case Op::constant:
        return {expr->int_value, expr->float_value};
      case Op::axis:
        return {axes[static_cast<size_t>(expr->id)], 0};
      case Op::load:
        return element(BufferId{expr->id}, expr->args, axes);
      case Op::select:
        return value_of(expr->args[value_of(expr->args[0], axes).as_int != 0 ? 1 : 2], axes);
      default:
        break;
    }
    const DType from = expr->args[0]->dtype;
    const ScalarValue a = value_of(expr->args[0], axes);
    const ScalarValue b = expr->args.size() > 1 ? value_of(expr->args[1], axes) : ScalarValue{};
    if (expr->op == Op::cast || expr->op == Op::saturate || expr->op == Op::bitcast)
      return fold_cast(expr->op, expr->dtype, from, a);
    if (expr->op >= Op::eq && expr->op <= Op::le)
      return {fold_compare(expr->op, from, a.as_int, b.as_int, a.as_float, b.as_float) ? 1 : 0, 0};
    if (is_float(expr->dtype))
      return {0, fold_float(expr->op, expr->dtype, a.as_float, b.as_float)};
    return {fold_int(expr->op, expr->dtype, a.as_int, b.as_int), 0};
  }

  const Program& program_;
  std::vector<std::vector<ScalarValue>> memory_;  // by buffer
};

}  // namespace

Arrays random_inputs(const Graph& graph, int64_t most, Rng& rng) {
  const auto check = plan_answer_check(graph);
  REQUIRE_MESSAGE(check.has_value(), check.error().message);
  Arrays inputs;
  for (const InputFill& fill : check->fills) {
    Array array(graph.tensors[fill.tensor].shape);
    for (double& value : array.data)
      value =
          static_cast<double>(rng.between(std::max(fill.low, -most), std::min(fill.high, most)));
    inputs.emplace(graph.tensors[fill.tensor].name, std::move(array));
  }
  return inputs;
}

Arrays run_naively(const Graph& graph, const Arrays& inputs) {
  const Program program = to_program(graph, "test");
  const NaiveRun run(program, inputs);
  Arrays outputs;
  for (int32_t i = 0; i < program.buffers.size(); ++i)
    if (program.buffers[BufferId{i}].kind == BufferKind::output)
      outputs.emplace(program.buffers[BufferId{i}].name, run.array_of(BufferId{i}));
  return outputs;
}

}  // namespace hone
