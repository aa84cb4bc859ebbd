// SPDX-License-Identifier: Apache-2.0
#include "space/analysis.h"

#include <algorithm>

namespace hone {
namespace {

bool is_axis(const Expr& expr, size_t axis) {
  return expr->op == Op::axis && expr->id == static_cast<int32_t>(axis);
}

bool depends_on(const Expr& expr, size_t axis) {
  bool found = false;
  walk(expr, [&](const ExprNode& node) {
    found = found || (node.op == Op::axis && node.id == static_cast<int32_t>(axis));
  });
  return found;
}

// The loads of other buffers in the bodies of a block.
std::vector<Expr> operand_loads(const Block& block) {
  std::vector<Expr> loads;
  for (const Store& store : block.body) {
    rewrite(store.value, [&](const Expr& node) {
      const bool own = std::any_of(block.body.begin(), block.body.end(), [&](const Store& other) {
        return node->op == Op::load && other.buffer.value == node->id;
      });
      if (node->op == Op::load && !own) loads.push_back(node);
      return node;
    });
  }
  return loads;
}

bool load_depends_on(const Expr& load, size_t axis) {
  return std::any_of(load->args.begin(), load->args.end(),
                     [&](const Expr& index) { return depends_on(index, axis); });
}

}  // namespace

bool is_elementwise(const Block& block) {
  if (block.is_reduction() || block.body.size() != 1) return false;
  const Store& store = block.body[0];
  if (store.indices.size() != block.axes.size()) return false;
  for (size_t i = 0; i < store.indices.size(); ++i)
    if (!is_axis(store.indices[i], i)) return false;
  return true;
}

BodyCost body_cost(const Block& block) {
  BodyCost cost;
  for (const Store& store : block.body) {
    walk(store.value, [&](const ExprNode& node) {
      switch (node.op) {
        case Op::constant: case Op::axis: case Op::load: return;
        case Op::select: cost.has_condition = true; break;
        default: break;
      }
      const bool slow = rounds_by_nature(node.op) || node.op == Op::div || node.op == Op::mod;
      ++(slow && is_float(node.dtype) ? cost.expensive : cost.cheap);
    });
  }
  return cost;
}

std::vector<BlockId> consumers_of(const Program& program, BlockId block) {
  std::vector<BlockId> consumers;
  for (const BufferId buffer : writes_of(program.blocks[block]))
    for (const BlockId reader : readers_of(program, buffer))
      if (reader != block && std::find(consumers.begin(), consumers.end(), reader) == consumers.end())
        consumers.push_back(reader);
  return consumers;
}

std::optional<BlockId> epilogue_of(const Program& program, BlockId id) {
  const Block& block = program.blocks[id];
  if (block.body.size() != 1) return std::nullopt;
  const BufferId buffer = block.body[0].buffer;
  if (program.buffers[buffer].kind == BufferKind::output) return std::nullopt;
  const std::vector<BlockId> consumers = consumers_of(program, id);
  if (consumers.size() != 1) return std::nullopt;
  const Block& consumer = program.blocks[consumers[0]];
  if (!is_elementwise(consumer)) return std::nullopt;
  if (consumer.axes.size() != program.buffers[buffer].shape.size()) return std::nullopt;
  for (const Expr& load : operand_loads(consumer)) {
    if (load->id != buffer.value) continue;
    for (size_t i = 0; i < load->args.size(); ++i)
      if (!is_axis(load->args[i], i)) return std::nullopt;
  }
  return consumers[0];
}

bool has_reuse(const Block& block) {
  if (!block.is_reduction() || block.body.size() != 1) return false;
  const std::vector<Expr> loads = operand_loads(block);
  for (size_t axis = 0; axis < block.axes.size(); ++axis) {
    if (block.axes[axis].kind != AxisKind::spatial || block.axes[axis].extent == 1) continue;
    for (const Expr& load : loads)
      if (!load_depends_on(load, axis)) return true;
  }
  // A window sliding over one operand (pooling) reads elements again too.
  for (const Expr& load : loads)
    for (const Expr& index : load->args) {
      int64_t axes_in_index = 0;
      for (size_t axis = 0; axis < block.axes.size(); ++axis)
        if (block.axes[axis].extent > 1 && depends_on(index, axis)) ++axes_in_index;
      if (axes_in_index > 1) return true;
    }
  return false;
}

bool reads_along(const Block& block, size_t axis) {
  for (const Expr& load : operand_loads(block)) {
    if (load->args.empty() || !depends_on(load->args.back(), axis)) continue;
    if (std::none_of(load->args.begin(), load->args.end() - 1,
                     [&](const Expr& index) { return depends_on(index, axis); }))
      return true;
  }
  return false;
}

std::optional<size_t> contiguous_axis(const Block& block) {
  if (block.body.empty() || block.body[0].indices.empty()) return std::nullopt;
  const Expr& last = block.body[0].indices.back();
  if (last->op != Op::axis) return std::nullopt;
  return static_cast<size_t>(last->id);
}

std::vector<BufferId> packable_operands(const Block& block) {
  std::vector<BufferId> operands;
  const auto contiguous = contiguous_axis(block);
  if (!contiguous) return operands;
  for (const Expr& load : operand_loads(block)) {
    if (load->args.empty() || !load_depends_on(load, *contiguous)) continue;
    bool shared = false;  // by instances that differ in another spatial axis
    for (size_t axis = 0; axis < block.axes.size(); ++axis)
      shared = shared || (axis != *contiguous && block.axes[axis].kind == AxisKind::spatial &&
                          block.axes[axis].extent >= 8 && !load_depends_on(load, axis));
    if (shared) operands.push_back(BufferId{load->id});
  }
  return operands;
}

TileOptions tile_of(int64_t parts, int64_t max, int64_t multiple_of) {
  TileOptions options;
  options.parts = parts;
  options.max = max;
  options.multiple_of = multiple_of;
  return options;
}

int64_t accumulator_registers(const Target& target, DType dtype) {
  if (target.lanes(dtype) > 1) return std::max(1, target.vector_registers - 3);
  const int registers = is_float(dtype) && target.float_registers > 0 ? target.float_registers
                                                                       : target.scalar_registers;
  return std::max(1, registers - 5);
}

}  // namespace hone
