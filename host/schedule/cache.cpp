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
// The new buffer has the shape and the indices of the old one; lowering shrinks it to the part that
// is live. The copy stands as far out as it can: before (after) the outermost loop around the block
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

void replace_buffer(std::vector<Store>& stores, BufferId from, BufferId to, bool loads_only) {
  const auto replaced = [&](const Expr& expr) {
    return rewrite(expr, [&](const Expr& node) {
      if (node->op != Op::load || node->id != from.value) return node;
      return load_expr(to, node->dtype, node->args);
    });
  };
  for (Store& store : stores) {
    for (Expr& index : store.indices) index = replaced(index);
    store.value = replaced(store.value);
    if (!loads_only && store.buffer == from) store.buffer = to;
  }
}

// The id that the next buffer gets: a plan names it before the buffer is there.
BufferId next_buffer(const Program& program) { return BufferId{program.buffers.size()}; }

BufferId add_copy_of(Program& program, BufferId buffer, Scope scope) {
  Buffer copy = program.buffers[buffer];
  copy.name = fresh_buffer_name(program, copy.name + "_cache");
  copy.kind = BufferKind::temp;
  copy.scope = scope;
  return program.buffers.add(std::move(copy));
}

// A block with one axis a dimension, `to[…] = from[…]`. Without bindings yet.
Block copy_block(const Program& program, std::string name, BufferId from, BufferId to,
                 BufferId shaped, const std::vector<std::string>& axis_names) {
  const Buffer& buffer = program.buffers[shaped];
  Block block;
  block.name = std::move(name);
  std::vector<Expr> indices;
  for (size_t dim = 0; dim < buffer.shape.size(); ++dim) {
    block.axes.push_back({axis_names[dim], AxisKind::spatial, buffer.shape[dim], {}});
    indices.push_back(axis_expr(static_cast<int32_t>(dim)));
  }
  block.body.push_back({to, indices, load_expr(from, buffer.dtype, indices)});
  return block;
}

// -- cache_write
// ----------------------------------------------------------------------------------------

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

std::vector<std::string> names_of_axes(const Block& block,
                                       const std::vector<std::optional<size_t>>& axes) {
  std::vector<std::string> names;
  for (size_t dim = 0; dim < axes.size(); ++dim)
    names.push_back(axes[dim] ? block.axes[*axes[dim]].name : fmt::format("d{}", dim));
  return names;
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
  const Place place = outermost_without(program, id, writers_of(program, buffer));
  TRYV(check_place(kRead, program, id, place));

  std::vector<std::string> names;
  const Region region = region_of(program, id, buffer, false, path_to(program, place.loop));
  for (size_t dim = 0; dim < region.size(); ++dim) names.push_back(fmt::format("d{}", dim));
  Nest nest = start_nest(copy_block(program, fresh_block_name(program, name + "_cache"), buffer,
                                    next_buffer(program), buffer, names));
  for (size_t dim = 0; dim < region.size(); ++dim)
    bind(program, nest, dim, region[dim], Tail::exact);
  TRYV(check_reads(kRead, program, nest, BlockId{}, place));

  const BufferId copy = add_copy_of(program, buffer, scope);
  replace_buffer(program.blocks[id].init, buffer, copy, true);
  replace_buffer(program.blocks[id].body, buffer, copy, true);
  const BlockId result = add_block(program, nest.block);
  build(program, std::move(nest), result, place);
  return result;
}

Result<BlockId> cache_write(Program& program, BlockId id, BufferId buffer, Scope scope) {
  TRYV(check_write(program, id, buffer));
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
  Block copy =
      copy_block(program, fresh_block_name(program, program.buffers[buffer].name + "_copy"),
                 next_buffer(program), buffer, buffer, names_of_axes(block, axes));
  Nest nest =
      TRY(plan_copy(program, block, std::move(copy), axes, buffer, path_to(program, place.loop)));

  const BufferId written = add_copy_of(program, buffer, scope);
  replace_buffer(program.blocks[id].init, buffer, written, false);
  replace_buffer(program.blocks[id].body, buffer, written, false);
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
