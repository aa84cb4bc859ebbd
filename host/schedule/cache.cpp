// SPDX-License-Identifier: Apache-2.0
//
// cache_read, cache_write: a copy of what a block reads or writes, in a buffer of its own, so that
// it can lie closer or in a better order. The copy is a block like any other: compute_at and
// reverse_compute_at take it to where a tile is used.
//
//   cache_read B X stack                          cache_write B Y registers
//     for i in 8, j in 4                            for i in 8
//       block B  spatial i=i j=j                      block B  spatial i=i
//         update Y[i,j] = X[j,i] + 1                    update Y[i] = X[i] + 1
//   -->                                           -->
//     for d0_X_cache in 4, d1_X_cache in 8          for i in 8
//       block X_cache                                 block B  spatial i=i
//           spatial d0=d0_X_cache d1=d1_X_cache         update Y_cache[i] = X[i] + 1
//         update X_cache[d0,d1] = X[d0,d1]
//     for i in 8, j in 4                            for i_Y_copy in 8
//       block B  spatial i=i j=j                      block Y_copy  spatial i=i_Y_copy
//         update Y[i,j] = X_cache[j,i] + 1              update Y[i] = Y_cache[i]
//
// The copy stands as far out as it can: before (after) the outermost loop around the block
// that does not also hold the writers (readers) of the buffer.
#include <algorithm>

#include "schedule/legality.h"
#include "schedule/nest.h"
#include "schedule/primitives.h"

namespace hone {
namespace {

constexpr std::string_view kRead = "cache_read";
constexpr std::string_view kWrite = "cache_write";

bool has(const std::vector<BufferId>& buffers, BufferId buffer) {
  return std::find(buffers.begin(), buffers.end(), buffer) != buffers.end();
}

// The child of the outermost loops around `block` that holds none of `others`, as the place before
// it.
Place outermost_without(const Program& program, BlockId block, const std::vector<BlockId>& others) {
  LoopId inside;
  for (const LoopId loop : loops_above(program, Node{{}, block})) {
    if (std::none_of(others.begin(), others.end(),
                     [&](BlockId other) { return is_inside(program, Node{{}, other}, loop); }))
      break;
    inside = loop;
  }
  return {inside, position_in(program, inside, block)};
}

Result<void> check_place(std::string_view primitive, const Program& program, BlockId block,
                         Place place) {
  const LoopId vector = vectorized_in(program, path_to(program, place.loop));
  if (!vector.valid()) return {};
  return fail("{}: block '{}' is in vectorized loop '{}', where no copy can be made", primitive,
              program.blocks[block].name, program.loops[vector].name);
}

// index - offset, with constants taken together.
Expr shifted(const Expr& index, int64_t offset) {
  if (offset == 0) return index;
  if (is_constant(index)) return index_constant(index->int_value - offset);
  Expr rest = index;
  int64_t sum = -offset;
  if ((index->op == Op::add || index->op == Op::sub) && is_constant(index->args[1])) {
    rest = index->args[0];
    sum += index->op == Op::add ? index->args[1]->int_value : -index->args[1]->int_value;
  }
  if (sum >= 0) return binary(Op::add, rest, index_constant(sum));
  return binary(Op::sub, rest, index_constant(-sum));
}

// Loads of `to` for loads of `from`, `offsets` elements further down.
void replace_loads(std::vector<Store>& stores, BufferId from, BufferId to,
                   const std::vector<int64_t>& offsets) {
  const auto replaced = [&](const Expr& expr) {
    return rewrite(expr, [&](const Expr& node) {
      if (node->op != Op::load || node->id != from.value) return node;
      std::vector<Expr> indices;
      for (size_t dim = 0; dim < offsets.size(); ++dim)
        indices.push_back(shifted(node->args[dim], offsets[dim]));
      return load_expr(to, node->dtype, std::move(indices));
    });
  };
  for (Store& store : stores) {
    for (Expr& index : store.indices) index = replaced(index);
    store.value = replaced(store.value);
  }
}

void replace_stores(std::vector<Store>& stores, BufferId from, BufferId to) {
  for (Store& store : stores)
    if (store.buffer == from) store.buffer = to;
}

// The id that the next buffer gets: a plan names it before the buffer is there.
BufferId next_buffer(const Program& program) { return BufferId{program.buffers.size()}; }

BufferId add_copy_of(Program& program, BufferId buffer, std::vector<int64_t> shape, Scope scope) {
  Buffer copy = program.buffers[buffer];
  copy.name = fresh_buffer_name(program, copy.name + "_cache");
  copy.shape = std::move(shape);
  copy.kind = BufferKind::temp;
  copy.scope = scope;
  return program.buffers.add(std::move(copy));
}

// -- cache_read -----------------------------------------------------------------------------------

// What is to be copied, as a box of the copy: where it starts in the buffer, and how it is shaped.
struct Box {
  std::vector<int64_t> offsets;
  std::vector<int64_t> shape;
  Region region;  // in elements of the copy
};

// What `block` would read of a buffer if its axes took all values of their domains.
Region region_of_domains(const Program& program, const Block& block, BufferId buffer) {
  Nest nest = start_nest(block);
  for (size_t axis = 0; axis < block.axes.size(); ++axis) bind_whole(program, nest, axis);
  return region_of(program, nest.block, buffer, false, {}, extents_of(program, nest));
}

// Where the region stands still the copy has just the elements that can be read, and fills all of
// its axes' domains as every block does. Where it moves with loops it keeps the buffer's shape.
Box box_of(const Program& program, BlockId block, BufferId buffer,
           const std::vector<LoopId>& fixed) {
  const Region region = region_of(program, block, buffer, false, fixed);
  const Region whole = region_of_domains(program, program.blocks[block], buffer);
  Box box;
  for (size_t dim = 0; dim < region.size(); ++dim) {
    const bool still = region[dim].base.is_constant();
    box.offsets.push_back(still ? whole[dim].base.base : 0);
    box.shape.push_back(still ? whole[dim].extent : program.buffers[buffer].shape[dim]);
    box.region.push_back(still ? RegionDim{affine_constant(0), whole[dim].extent} : region[dim]);
  }
  return box;
}

// `to[…] = from[… + offsets]`, with one axis a dimension. Without bindings yet.
Block reading_block(const Program& program, BufferId from, BufferId to, const Box& box) {
  Block block;
  block.name = fresh_block_name(program, program.buffers[from].name + "_cache");
  std::vector<Expr> indices;
  std::vector<Expr> source;
  for (size_t dim = 0; dim < box.shape.size(); ++dim) {
    block.axes.push_back({fmt::format("d{}", dim), AxisKind::spatial, box.shape[dim], {}});
    indices.push_back(axis_expr(static_cast<int32_t>(dim)));
    source.push_back(shifted(indices.back(), -box.offsets[dim]));
  }
  block.body.push_back({to, indices, load_expr(from, program.buffers[from].dtype, source)});
  return block;
}

// -- cache_write ----------------------------------------------------------------------------------

Result<void> check_write(const Program& program, BlockId id, BufferId buffer) {
  const Block& block = program.blocks[id];
  const std::string& name = program.buffers[buffer].name;
  if (!block.alive) return fail("cache_write: block '{}' is gone: it was inlined", block.name);
  if (!has(writes_of(block), buffer))
    return fail("cache_write: block '{}' does not write '{}'", block.name, name);
  for (const BlockId writer : writers_of(program, buffer))
    if (writer != id)
      return fail("cache_write: block '{}' writes '{}', which block '{}' writes as well",
                  block.name, name, program.blocks[writer].name);
  return {};
}

// Dimensions of the buffer as axes of the block that writes it; nothing for a dimension of extent 1
// that is written at 0.
Result<std::vector<std::optional<size_t>>> written_axes(const Program& program, const Block& block,
                                                        BufferId buffer) {
  std::vector<std::optional<size_t>> axes;
  std::vector<bool> seen(block.axes.size());
  const auto store = std::find_if(block.body.begin(), block.body.end(),
                                  [&](const Store& row) { return row.buffer == buffer; });
  ENSURE(store != block.body.end());
  const std::vector<int64_t>& shape = program.buffers[buffer].shape;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const std::optional<size_t> axis = plain_axis(store->indices[dim]);
    axes.push_back(axis);
    if (!axis && shape[dim] == 1) continue;
    if (!axis || seen[*axis] || block.axes[*axis].kind != AxisKind::spatial ||
        block.axes[*axis].extent != shape[dim])
      return fail(
          "cache_write: index {} of '{}' in block '{}' is not an axis of its own that covers the "
          "dimension",
          dim, program.buffers[buffer].name, block.name);
    seen[*axis] = true;
  }
  return axes;
}

std::vector<BlockId> other_readers(const Program& program, BufferId buffer, BlockId id) {
  std::vector<BlockId> readers = readers_of(program, buffer);
  std::erase(readers, id);
  return readers;
}

std::string new_axis_name(const Block& block, std::string name) {
  while (std::any_of(block.axes.begin(), block.axes.end(),
                     [&](const Axis& axis) { return axis.name == name; }))
    name += "_";
  return name;
}

// `to[…] = from[…]`, with axes named as in the block that writes `from`. Without bindings yet.
Block writing_block(const Program& program, const Block& block, BufferId from, BufferId to,
                    const std::vector<std::optional<size_t>>& axes) {
  const Buffer& buffer = program.buffers[to];
  Block copy;
  copy.name = fresh_block_name(program, buffer.name + "_copy");
  std::vector<Expr> indices;
  for (size_t dim = 0; dim < axes.size(); ++dim) {
    const std::string name =
        axes[dim] ? block.axes[*axes[dim]].name : new_axis_name(block, fmt::format("d{}", dim));
    copy.axes.push_back({name, AxisKind::spatial, buffer.shape[dim], {}});
    indices.push_back(axis_expr(static_cast<int32_t>(dim)));
  }
  copy.body.push_back({to, indices, load_expr(from, buffer.dtype, indices)});
  return copy;
}

// The copying nest, over just what the block writes in one iteration of the loops in `fixed`.
Result<Nest> plan_copy(const Program& program, const Block& block, Block copy,
                       const std::vector<std::optional<size_t>>& axes, BufferId buffer,
                       const std::vector<LoopId>& fixed) {
  const std::optional<Tile> tile = tile_of(program, block, fixed, program.extents());
  if (!tile && !fixed.empty())
    return fail(
        "cache_write: what block '{}' writes of '{}' in one iteration of loop '{}' is not known "
        "to be a box",
        block.name, program.buffers[buffer].name, program.loops[fixed.back()].name);
  Nest nest = start_nest(std::move(copy));
  for (size_t dim = 0; dim < axes.size(); ++dim) {
    if (tile && axes[dim]) {
      bind_like(program, nest, dim, *tile, *axes[dim]);
    } else {
      bind_whole(program, nest, dim);
    }
  }
  if (tile)
    nest.block.predicates.insert(nest.block.predicates.end(), tile->fixed.begin(),
                                 tile->fixed.end());
  return nest;
}

}  // namespace

namespace {

// A layout in tiles may have elements that nothing writes, so a copy of the whole is no copy of
// values.
Result<void> check_layout(std::string_view primitive, const Program& program, BufferId buffer) {
  bool in_tiles = false;
  for (const BlockId writer : writers_of(program, buffer))
    for (const Store& store : program.blocks[writer].body)
      for (const Expr& index : store.indices)
        walk(index, [&](const ExprNode& node) {
          in_tiles = in_tiles || (store.buffer == buffer && node.op == Op::mod);
        });
  if (!in_tiles) return {};
  return fail("{}: '{}' is laid out in tiles: copy first, then transform the layout", primitive,
              program.buffers[buffer].name);
}

}  // namespace

Result<BlockId> cache_read(Program& program, BlockId id, BufferId buffer, Scope scope) {
  const Block& block = program.blocks[id];
  const std::string& name = program.buffers[buffer].name;
  if (!block.alive) return fail("cache_read: block '{}' is gone: it was inlined", block.name);
  if (has(writes_of(block), buffer))
    return fail("cache_read: block '{}' writes '{}' itself", block.name, name);
  if (!has(reads_of(block), buffer))
    return fail("cache_read: block '{}' does not read '{}'", block.name, name);
  TRYV(check_layout("cache_read", program, buffer));
  const Place place = outermost_without(program, id, writers_of(program, buffer));
  TRYV(check_place(kRead, program, id, place));

  const Box box = box_of(program, id, buffer, path_to(program, place.loop));
  Nest nest = start_nest(reading_block(program, buffer, next_buffer(program), box));
  for (size_t dim = 0; dim < box.region.size(); ++dim)
    bind(program, nest, dim, box.region[dim], Tail::exact);
  TRYV(check_reads(kRead, program, nest, BlockId{}, place));

  const BufferId copy = add_copy_of(program, buffer, box.shape, scope);
  replace_loads(program.blocks[id].init, buffer, copy, box.offsets);
  replace_loads(program.blocks[id].body, buffer, copy, box.offsets);
  const BlockId result = add_block(program, nest.block);
  build(program, std::move(nest), result, place);
  return result;
}

Result<BlockId> cache_write(Program& program, BlockId id, BufferId buffer, Scope scope) {
  TRYV(check_write(program, id, buffer));
  TRYV(check_layout("cache_write", program, buffer));
  const Block& block = program.blocks[id];
  const auto axes = TRY(written_axes(program, block, buffer));
  Place place = outermost_without(program, id, other_readers(program, buffer, id));
  ++place.position;
  TRYV(check_place(kWrite, program, id, place));
  for (const LoopId loop : path_to(program, place.loop))
    if (const Axis* axis = reduce_axis_of(block, loop))
      return fail(
          "cache_write: '{}' is read inside loop '{}', which drives reduce axis '{}' of block '{}'",
          program.buffers[buffer].name, program.loops[loop].name, axis->name, block.name);
  Block copy = writing_block(program, block, next_buffer(program), buffer, axes);
  Nest nest =
      TRY(plan_copy(program, block, std::move(copy), axes, buffer, path_to(program, place.loop)));

  const std::vector<int64_t> shape = program.buffers[buffer].shape;
  const BufferId written = add_copy_of(program, buffer, shape, scope);
  for (std::vector<Store>* stores : {&program.blocks[id].init, &program.blocks[id].body}) {
    replace_loads(*stores, buffer, written, std::vector<int64_t>(shape.size(), 0));
    replace_stores(*stores, buffer, written);
  }
  const BlockId result = add_block(program, nest.block);
  build(program, std::move(nest), result, place);
  return result;
}

Result<void> set_scope(Program& program, BufferId buffer, Scope scope) {
  ENSURE(program.buffers.contains(buffer));
  Buffer& row = program.buffers[buffer];
  if (row.kind != BufferKind::temp)
    return fail("set_scope: buffer '{}' is not a temp: the caller says where it lives", row.name);
  row.scope = scope;
  return {};
}

}  // namespace hone
