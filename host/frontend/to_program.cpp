// SPDX-License-Identifier: Apache-2.0
#include "frontend/to_program.h"

#include <limits>

namespace hone {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Expr number(double value, DType dtype) {
  return is_float(dtype) ? float_constant(value, dtype)
                         : int_constant(static_cast<int64_t>(value), dtype);
}

Expr smallest(DType dtype) {
  return is_float(dtype) ? float_constant(-kInfinity, dtype) : int_constant(lowest(dtype), dtype);
}

Expr largest(DType dtype) {
  return is_float(dtype) ? float_constant(kInfinity, dtype) : int_constant(highest(dtype), dtype);
}

// What each result starts from: the value that a first term replaces.
std::vector<Expr> initial_values(const Stage& stage) {
  const DType dtype = stage.values[0]->dtype;
  switch (stage.reducer) {
    case Reducer::none:
      return {};
    case Reducer::sum:
      return {number(0, dtype)};
    case Reducer::prod:
      return {number(1, dtype)};
    case Reducer::max:
      return {smallest(dtype)};
    case Reducer::min:
      return {largest(dtype)};
    case Reducer::argmax:
      return {smallest(dtype), largest(stage.values[1]->dtype)};
    case Reducer::argmin:
      return {largest(dtype), largest(stage.values[1]->dtype)};
    case Reducer::fold:
      return stage.init;
  }
  return {};
}

// The better value wins, of equal values the lower index: so the order of the instances cannot
// matter.
std::vector<Expr> better_pair(const Stage& stage, const std::vector<Expr>& so_far) {
  const Expr& value = stage.values[0];
  const Expr& position = stage.values[1];
  const Expr better = stage.reducer == Reducer::argmax ? binary(Op::lt, so_far[0], value)
                                                       : binary(Op::lt, value, so_far[0]);
  const Expr tie = binary(Op::logical_and, binary(Op::eq, so_far[0], value),
                          binary(Op::lt, position, so_far[1]));
  return {select_expr(better, value, so_far[0]),
          select_expr(binary(Op::logical_or, better, tie), position, so_far[1])};
}

std::vector<Expr> updated_values(const Stage& stage, const std::vector<Expr>& so_far) {
  switch (stage.reducer) {
    case Reducer::none:
    case Reducer::fold:
      return stage.values;
    case Reducer::sum:
      return {binary(Op::add, so_far[0], stage.values[0])};
    case Reducer::prod:
      return {binary(Op::mul, so_far[0], stage.values[0])};
    case Reducer::max:
      return {binary(Op::max, so_far[0], stage.values[0])};
    case Reducer::min:
      return {binary(Op::min, so_far[0], stage.values[0])};
    case Reducer::argmax:
    case Reducer::argmin:
      return better_pair(stage, so_far);
  }
  return {};
}

Buffer buffer_of(const GraphTensor& tensor) {
  Buffer buffer;
  buffer.name = tensor.name;
  buffer.dtype = tensor.dtype;
  buffer.shape = tensor.shape;
  if (tensor.role == TensorRole::input) buffer.kind = BufferKind::input;
  if (tensor.role == TensorRole::param) buffer.kind = BufferKind::param;
  if (tensor.role == TensorRole::computed)
    buffer.kind = tensor.output ? BufferKind::output : BufferKind::temp;
  return buffer;
}

// Makes the loop for an axis below `parent` and returns it.
LoopId add_axis(Program& program, Block& block, const StageAxis& axis, AxisKind kind,
                LoopId parent) {
  Loop loop;
  loop.name = fresh_loop_name(program, axis.name);
  loop.extent = axis.extent;
  const LoopId id = add_loop(program, std::move(loop));
  const size_t position = parent.valid() ? 0 : program.body.size();
  place(program, Node{id, {}}, parent, position);
  // A loop that runs once has no variable in canonical forms.
  block.axes.push_back(
      {axis.name, kind, axis.extent, axis.extent == 1 ? affine_constant(0) : affine_loop(id)});
  return id;
}

void add_stage(Program& program, const Graph& graph, const Stage& stage) {
  Block block;
  block.name = fresh_block_name(program, graph.tensors[stage.results[0]].name);
  LoopId parent;
  for (const StageAxis& axis : stage.axes)
    parent = add_axis(program, block, axis, AxisKind::spatial, parent);
  for (const StageAxis& axis : stage.reduce_axes)
    parent = add_axis(program, block, axis, AxisKind::reduce, parent);

  std::vector<Expr> indices;
  for (size_t i = 0; i < stage.axes.size(); ++i)
    indices.push_back(axis_expr(static_cast<int32_t>(i)));
  std::vector<Expr> so_far;
  for (const BufferId result : stage.results)
    so_far.push_back(load_expr(result, graph.tensors[result].dtype, indices));
  const std::vector<Expr> init = initial_values(stage);
  const std::vector<Expr> body = updated_values(stage, so_far);
  for (size_t i = 0; i < stage.results.size(); ++i) {
    if (!init.empty()) block.init.push_back({stage.results[i], indices, init[i]});
    block.body.push_back({stage.results[i], indices, body[i]});
  }
  const BlockId id = add_block(program, std::move(block));
  place(program, Node{{}, id}, parent, parent.valid() ? 0 : program.body.size());
}

}  // namespace

Program to_program(const Graph& graph, const std::string& name) {
  Program program;
  program.name = name;
  for (const GraphTensor& tensor : graph.tensors) program.buffers.add(buffer_of(tensor));
  for (const Stage& stage : graph.stages) add_stage(program, graph, stage);
  return program;
}

}  // namespace hone
