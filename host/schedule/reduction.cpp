// SPDX-License-Identifier: Apache-2.0
//
// decompose_reduction: the init of a reduction becomes a block of its own, before a loop.
//
//   decompose_reduction C k                       -->
//     for i_0 in 4, k in 9, i_1 in 4                for i_0 in 4
//       block C  spatial i=i_0*4+i_1  reduce k=k      for i_C_init in 4
//         where i_0*4+i_1 < 14                          block C_init  spatial i=i_0*4+i_C_init
//         init   C[i] = 0                                 where i_0*4+i_C_init < 14
//         update C[i] = C[i] + A[i,k]                     update C[i] = 0
//                                                     for k in 9, i_1 in 4
//                                                       block C  spatial i=i_0*4+i_1  reduce k=k
//                                                         where i_0*4+i_1 < 14
//                                                         update C[i] = C[i] + A[i,k]
//
// Init must set exactly the elements that the block adds to inside `loop`: one more would destroy a
// neighbour's sum. Where these are a box (schedule/nest.h) each axis gets one loop, whatever number
// of loops it had. Otherwise the loops that drive spatial axes are repeated as they are, and the
// others stay at 0, where the instance is that ran init before.
#include <algorithm>
#include <span>

#include "schedule/legality.h"
#include "schedule/nest.h"
#include "schedule/primitives.h"

namespace hone {
namespace {

constexpr std::string_view kName = "decompose_reduction";

bool contains(const std::vector<LoopId>& loops, LoopId loop) {
  return std::find(loops.begin(), loops.end(), loop) != loops.end();
}

Result<void> check(const Program& program, BlockId id, LoopId loop,
                   const std::vector<LoopId>& outer, const std::vector<LoopId>& inner) {
  const Block& block = program.blocks[id];
  for (const LoopId above : outer)
    if (const Axis* axis = reduce_axis_of(block, above))
      return fail(
          "decompose_reduction: loop '{}' outside loop '{}' drives reduce axis '{}' of block "
          "'{}', so that init would run again in the middle of the reduction",
          program.loops[above].name, program.loops[loop].name, axis->name, block.name);
  std::vector<Affine> forms;
  for (const Axis& axis : block.axes) forms.push_back(axis.binding);
  for (const LoopId below : inner)
    if (!determines(program, forms, inner, std::span(&below, 1)))
      return fail(
          "decompose_reduction: block '{}' may run several times for one element in loop '{}', "
          "and would add its terms again without an init between",
          block.name, program.loops[below].name);
  return {};
}

// A tail that moves back computes elements again. That is right only where init moves back with it:
// not if a whole split lies below the new place of init.
Result<void> check_shifts(const Program& program, const Block& block,
                          const std::vector<LoopId>& inner) {
  for (const Predicate& predicate : block.predicates) {
    std::vector<LoopId> loops;
    collect_loops(predicate.form, loops);
    std::erase_if(loops, [&](LoopId loop) { return !contains(inner, loop); });
    if (loops.size() < 2) continue;
    for (const LoopId loop : loops)
      if (program.loops[loop].tail == Tail::shift)
        return fail(
            "decompose_reduction: loop '{}' has tail=shift, and block '{}' would add terms "
            "again to elements that are not set again",
            program.loops[loop].name, block.name);
  }
  return {};
}

// The block that sets what init set: spatial axes only, reduce axes are 0 in what it says.
Block init_block(const Program& program, const Block& block) {
  Block result;
  result.name = fresh_block_name(program, block.name + "_init");
  std::vector<Expr> axes;
  for (const Axis& axis : block.axes) {
    const bool spatial = axis.kind == AxisKind::spatial;
    axes.push_back(spatial ? axis_expr(static_cast<int32_t>(result.axes.size()))
                           : index_constant(0));
    if (spatial) result.axes.push_back(axis);
  }
  for (const Store& store : block.init) {
    Store copy{store.buffer, {}, substitute_axes(store.value, axes)};
    for (const Expr& index : store.indices) copy.indices.push_back(substitute_axes(index, axes));
    result.body.push_back(std::move(copy));
  }
  return result;
}

Nest nest_of_tile(const Program& program, const Block& block, Block init, const Tile& tile) {
  Nest nest = start_nest(std::move(init));
  size_t next = 0;
  for (size_t axis = 0; axis < block.axes.size(); ++axis)
    if (block.axes[axis].kind == AxisKind::spatial) bind_like(program, nest, next++, tile, axis);
  nest.block.predicates.insert(nest.block.predicates.end(), tile.fixed.begin(), tile.fixed.end());
  return nest;
}

Nest nest_of_copied_loops(const Program& program, const Block& block, Block init,
                          const std::vector<LoopId>& inner) {
  const std::vector<LoopId> spatial = loops_of_axes(block, AxisKind::spatial);
  Nest nest{std::move(init), {}, {}};
  std::vector<Affine> forms;
  for (const Axis& axis : nest.block.axes) forms.push_back(axis.binding);
  for (const Predicate& predicate : block.predicates) forms.push_back(predicate.form);
  for (const LoopId loop : inner) {
    Affine value = affine_constant(0);
    if (contains(spatial, loop)) {
      value = affine_loop(LoopId{program.loops.size() + static_cast<int32_t>(nest.loops.size())});
      Loop copy;
      copy.extent = program.loops[loop].extent;
      copy.tail = program.loops[loop].tail;
      nest.loops.push_back(copy);
      nest.names.push_back(fmt::format("{}_{}", program.loops[loop].name, nest.block.name));
    }
    for (Affine& form : forms) form = substitute(form, loop, value, extents_of(program, nest));
  }
  size_t next = 0;
  for (Axis& axis : nest.block.axes) axis.binding = forms[next++];
  for (const Predicate& predicate : block.predicates) {
    const Affine& form = forms[next++];
    const Interval range = range_of(form, extents_of(program, nest));
    if (range.low < 0 || range.high >= predicate.bound)
      nest.block.predicates.push_back({form, predicate.bound});
  }
  return nest;
}

}  // namespace

Result<BlockId> decompose_reduction(Program& program, BlockId id, LoopId loop) {
  const Block& block = program.blocks[id];
  if (!block.alive)
    return fail("decompose_reduction: block '{}' is gone: it was inlined", block.name);
  TRYV(check_alive(program, loop));
  if (!block.is_reduction())
    return fail("decompose_reduction: block '{}' is not a reduction", block.name);
  if (block.init.empty())
    return fail("decompose_reduction: block '{}' has no init of its own any more", block.name);
  if (!is_inside(program, Node{{}, id}, loop))
    return fail("decompose_reduction: block '{}' is not inside loop '{}'", block.name,
                program.loops[loop].name);
  const std::vector<LoopId> outer = loops_above(program, Node{loop, {}});
  std::vector<LoopId> inner = loops_above(program, Node{{}, id});
  inner.erase(inner.begin(), inner.begin() + std::ssize(outer));
  TRYV(check(program, id, loop, outer, inner));
  TRYV(check_shifts(program, block, inner));

  Block init = init_block(program, block);
  const std::optional<Tile> tile = tile_of(program, block, outer, program.extents());
  Nest nest = tile ? nest_of_tile(program, block, std::move(init), *tile)
                   : nest_of_copied_loops(program, block, std::move(init), inner);
  const LoopId parent = program.loops[loop].parent;
  const Place place{parent, position_in(program, parent, id)};
  TRYV(check_reads(kName, program, nest, id, place));

  const BlockId result = add_block(program, nest.block);
  program.blocks[id].init.clear();
  build(program, std::move(nest), result, place);
  return result;
}

}  // namespace hone
