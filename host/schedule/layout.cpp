// SPDX-License-Identifier: Apache-2.0
//
// transform_layout: the elements of a temp in another order.
//
//   transform_layout T [0, 4] order=[1, 0, 2]
//     buffer T f32[8,10] temp                 buffer T f32[3,8,4] temp
//     …                                       …
//       update T[i,j] = W[i,j]           -->    update T[j/4,i,j%4] = W[i,j]
//
// Panels of a register tile for an operand, blocks of channels, a transposition. Only how elements
// are addressed changes: loops and blocks stay.
#include <algorithm>
#include <numeric>

#include "ir/index_range.h"
#include "ir/region.h"
#include "schedule/primitives.h"

namespace hone {
namespace {

struct Layout {
  std::vector<int64_t> tiles;   // by old dimension
  std::vector<int64_t> order;   // new dimension → part
  std::vector<size_t> insides;  // tiled dimensions: part shape.size() + i is inside insides[i]
};

std::vector<int64_t> shape_in(const Layout& layout, const std::vector<int64_t>& shape) {
  std::vector<int64_t> parts = shape;
  for (const size_t dim : layout.insides) {
    parts[dim] = (shape[dim] + layout.tiles[dim] - 1) / layout.tiles[dim];
    parts.push_back(layout.tiles[dim]);
  }
  std::vector<int64_t> result;
  for (const int64_t part : layout.order) result.push_back(parts[static_cast<size_t>(part)]);
  return result;
}

std::vector<Expr> indices_in(const Layout& layout, const std::vector<Expr>& indices) {
  std::vector<Expr> parts = indices;
  for (const size_t dim : layout.insides) {
    const Expr tile = index_constant(layout.tiles[dim]);
    const bool one = layout.tiles[dim] == 1;
    parts[dim] = one ? indices[dim] : binary(Op::div, indices[dim], tile);
    parts.push_back(one ? index_constant(0) : binary(Op::mod, indices[dim], tile));
  }
  std::vector<Expr> result;
  for (const int64_t part : layout.order) result.push_back(parts[static_cast<size_t>(part)]);
  return result;
}

Result<Layout> make_layout(const Buffer& buffer, std::span<const int64_t> tiles,
                           std::span<const int64_t> order) {
  if (buffer.kind != BufferKind::temp)
    return fail("transform_layout: buffer '{}' is not a temp: its layout is the caller's",
                buffer.name);
  if (tiles.size() != buffer.shape.size())
    return fail("transform_layout: {} tiles for the {} dimensions of '{}'", tiles.size(),
                buffer.shape.size(), buffer.name);
  Layout layout;
  layout.tiles.assign(tiles.begin(), tiles.end());
  for (size_t dim = 0; dim < tiles.size(); ++dim) {
    if (tiles[dim] < 0 || tiles[dim] > std::max<int64_t>(buffer.shape[dim], 4096))
      return fail("transform_layout: a tile of {} for dimension {} of '{}', which has {} elements",
                  tiles[dim], dim, buffer.name, buffer.shape[dim]);
    if (tiles[dim] > 0) layout.insides.push_back(dim);
  }
  const size_t parts = tiles.size() + layout.insides.size();
  layout.order.assign(order.begin(), order.end());
  if (order.empty()) {
    layout.order.resize(parts);
    std::iota(layout.order.begin(), layout.order.end(), 0);
  }
  std::vector<int64_t> sorted = layout.order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < std::max(parts, sorted.size()); ++i)
    if (sorted.size() != parts || sorted[i] != static_cast<int64_t>(i))
      return fail("transform_layout: the order of '{}' is to name each of its {} parts once",
                  buffer.name, parts);
  return layout;
}

// That the parts of each tiled index lie inside, which guards and data may have kept it before.
Result<void> check_indices(const Program& program, const Block& block, const Buffer& buffer,
                           const Layout& layout, const std::vector<Expr>& indices) {
  for (const size_t dim : layout.insides) {
    const Expr& index = indices[dim];
    const int64_t tile = layout.tiles[dim];
    const int64_t count = (buffer.shape[dim] + tile - 1) / tile;
    if (index->dtype == DType::i64 && index_form(program, block, index) &&
        prove_index(binary(Op::div, index, index_constant(tile)), count, block.axes, {}).proof ==
            RangeProof::inside)
      continue;
    return fail(
        "transform_layout: index {} of '{}' in block '{}' is not shown to lie inside by the "
        "block's "
        "axes alone",
        dim, buffer.name, block.name);
  }
  return {};
}

}  // namespace

Result<void> transform_layout(Program& program, BufferId id, std::span<const int64_t> tiles,
                              std::span<const int64_t> order) {
  ENSURE(program.buffers.contains(id));
  const Layout layout = TRY(make_layout(program.buffers[id], tiles, order));
  const auto is_load = [&](const ExprNode& node) {
    return node.op == Op::load && node.id == id.value;
  };
  for (const BlockId block : all_blocks(program)) {
    const Block& row = program.blocks[block];
    Result<void> inside;
    const auto check = [&](const std::vector<Expr>& indices) {
      if (inside) inside = check_indices(program, row, program.buffers[id], layout, indices);
    };
    for (const std::vector<Store>* stores : {&row.init, &row.body}) {
      for (const Store& store : *stores) {
        if (store.buffer == id) check(store.indices);
        const auto look = [&](const ExprNode& node) {
          if (is_load(node)) check(node.args);
        };
        for (const Expr& index : store.indices) walk(index, look);
        walk(store.value, look);
      }
    }
    TRYV(inside);
  }
  const auto rewritten = [&](const Expr& expr) {
    return rewrite(expr, [&](const Expr& node) {
      return is_load(*node) ? load_expr(id, node->dtype, indices_in(layout, node->args)) : node;
    });
  };
  for (const BlockId block : all_blocks(program)) {
    for (std::vector<Store>* stores : {&program.blocks[block].init, &program.blocks[block].body}) {
      for (Store& store : *stores) {
        for (Expr& index : store.indices) index = rewritten(index);
        store.value = rewritten(store.value);
        if (store.buffer == id) store.indices = indices_in(layout, store.indices);
      }
    }
  }
  program.buffers[id].shape = shape_in(layout, program.buffers[id].shape);
  return {};
}

}  // namespace hone
