// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "frontend/fills.h"
#include "frontend/to_program.h"

namespace hone {
namespace {

using Memory = std::vector<std::vector<ScalarValue>>;

ScalarValue evaluate(const Program& p, const Expr& e, const std::vector<int64_t>& axes,
                     const Memory& m) {
  if (e->op == Op::constant) return {e->int_value, e->float_value};
  if (e->op == Op::axis) return {axes[static_cast<size_t>(e->id)], 0};
  if (e->op == Op::select)
    return evaluate(p, e->args[evaluate(p, e->args[0], axes, m).as_int ? 1 : 2], axes, m);
  std::vector<ScalarValue> a;
  for (const Expr& arg : e->args) a.push_back(evaluate(p, arg, axes, m));
  if (e->op == Op::load) {
    const Buffer& b = p.buffers[BufferId{e->id}];
    int64_t o = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      REQUIRE((a[i].as_int >= 0 && a[i].as_int < b.shape[i]));
      o = o * b.shape[i] + a[i].as_int;
    }
    return m[static_cast<size_t>(e->id)][static_cast<size_t>(o)];
  }
  const DType from = e->args[0]->dtype;
  if (e->op == Op::cast || e->op == Op::saturate || e->op == Op::bitcast)
    return fold_cast(e->op, e->dtype, from, a[0]);
  if (a.size() == 1) a.push_back({});
  if (e->op >= Op::eq && e->op <= Op::le)
    return {
        fold_compare(e->op, from, a[0].as_int, a[1].as_int, a[0].as_float, a[1].as_float) ? 1 : 0,
        0};
  if (is_float(e->dtype)) return {0, fold_float(e->op, e->dtype, a[0].as_float, a[1].as_float)};
  return {fold_int(e->op, e->dtype, a[0].as_int, a[1].as_int), 0};
}

void run_block(const Program& p, const Block& b, Memory& m) {
  std::vector<int64_t> extents;
  for (const Axis& axis : b.axes) extents.push_back(axis.extent);
  each(extents, [&](const std::vector<int64_t>& axes) {
    bool first = true;
    for (size_t i = 0; i < axes.size(); ++i)
      first &= b.axes[i].kind == AxisKind::spatial || axes[i] == 0;
    for (const auto* stores : {&b.init, &b.body}) {
      if (stores == &b.init && !first) continue;
      std::vector<std::pair<ScalarValue*, ScalarValue>> writes;
      for (const Store& s : *stores) {
        int64_t o = 0;
        for (size_t i = 0; i < s.indices.size(); ++i)
          o = o * p.buffers[s.buffer].shape[i] + evaluate(p, s.indices[i], axes, m).as_int;
        writes.push_back({&m[static_cast<size_t>(s.buffer.value)][static_cast<size_t>(o)],
                          evaluate(p, s.value, axes, m)});
      }
      for (auto& [to, v] : writes) *to = v;
    }
  });
}

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

Arrays interpret_graph(const Graph& graph, const Arrays& inputs) {
  const Program program = to_program(graph, "test");
  Memory memory;
  for (const Buffer& b : program.buffers) {
    memory.emplace_back(static_cast<size_t>(element_count(b)));
    if (const auto found = inputs.find(b.name); found != inputs.end())
      for (size_t i = 0; i < memory.back().size(); ++i)
        memory.back()[i] = {static_cast<int64_t>(found->second.data[i]), found->second.data[i]};
  }
  for (const BlockId block : all_blocks(program)) run_block(program, program.blocks[block], memory);
  Arrays outputs;
  for (int32_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& b = program.buffers[BufferId{i}];
    if (b.kind != BufferKind::output) continue;
    Array array(b.shape);
    for (size_t j = 0; j < array.data.size(); ++j) {
      const ScalarValue v = memory[static_cast<size_t>(i)][j];
      array.data[j] = is_float(b.dtype) ? v.as_float : static_cast<double>(v.as_int);
    }
    outputs.emplace(b.name, std::move(array));
  }
  return outputs;
}

}  // namespace hone
