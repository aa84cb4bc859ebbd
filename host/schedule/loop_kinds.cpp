// SPDX-License-Identifier: Apache-2.0
//
//   parallel i:   for i in 64   -->   for i in 64 parallel       (vectorize, unroll likewise)
//
// parallel: iterations run on several workers, in any order and at once. vectorize: they run as the
// lanes of one. Both need iterations that do not meet: no iteration reads what another writes, and
// no two write one element. A temp that is written and read inside a single iteration is private to
// it (lowering gives each worker its own), so parallel does not ask that its elements differ; lanes
// have no such private memory, so vectorize does. A vectorized loop may also add up the terms of
// one reduction, in any order: lanes have sums of their own. unroll: the body is repeated in order,
// which is always legal.
//
// A kind is the last thing that happens to a loop: split, fuse and reorder refuse loops that have
// one, and so does giving it a second.
#include <algorithm>

#include "ir/region.h"
#include "ir/text.h"
#include "schedule/legality.h"
#include "schedule/primitives.h"

namespace hone {
namespace {

Result<void> check_no_kind_yet(const Program& program, LoopId loop, LoopKind wanted) {
  TRYV(check_alive(program, loop));
  const Loop& row = program.loops[loop];
  if (row.kind == LoopKind::serial) return {};
  return fail("loop {} is {} already and cannot become {}", row.name, to_string(row.kind),
              to_string(wanted));
}

// First loop above or below that has one of two kinds; invalid: none.
LoopId find_kind_above(const Program& program, LoopId loop, LoopKind a, LoopKind b) {
  for (const LoopId above : loops_above(program, Node{loop, {}}))
    if (program.loops[above].kind == a || program.loops[above].kind == b) return above;
  return {};
}

LoopId find_kind_below(const Program& program, LoopId loop, LoopKind a, LoopKind b) {
  for (const Node& child : program.loops[loop].body) {
    if (!child.loop.valid()) continue;
    const LoopKind kind = program.loops[child.loop].kind;
    if (kind == a || kind == b) return child.loop;
    if (const LoopId found = find_kind_below(program, child.loop, a, b); found.valid())
      return found;
  }
  return {};
}

// A temp that no block outside the loop touches.
bool is_private(const Program& program, BufferId buffer, LoopId loop) {
  if (program.buffers[buffer].kind != BufferKind::temp) return false;
  const auto inside = [&](BlockId block) { return is_inside(program, Node{{}, block}, loop); };
  const std::vector<BlockId> readers = readers_of(program, buffer);
  const std::vector<BlockId> writers = writers_of(program, buffer);
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), inside) &&
         std::all_of(writers.begin(), writers.end(), inside);
}

// No two iterations of `loop` write one element, while the loops above it stand still.
Result<void> check_writes_apart(const Program& program, LoopId loop, LoopKind kind) {
  for (const BlockId id : blocks_below(program, Node{loop, {}})) {
    const Block& block = program.blocks[id];
    if (const Axis* axis = reduce_axis_of(block, loop))
      return fail(
          "loop {} cannot be {}: it drives reduce axis {} of block {}, so that its iterations "
          "write the same elements",
          program.loops[loop].name, to_string(kind), axis->name, block.name);
    std::vector<LoopId> varying = loops_above(program, Node{{}, id});
    varying.erase(varying.begin(), std::find(varying.begin(), varying.end(), loop));
    for (const std::vector<Store>* stores : {&block.init, &block.body}) {
      for (const Store& store : *stores) {
        if (kind == LoopKind::parallel && is_private(program, store.buffer, loop)) continue;
        std::vector<Affine> forms;
        for (const Expr& index : store.indices)
          if (const auto form = index_form(program, block, index)) forms.push_back(*form);
        if (!determines(program, forms, varying, std::span(&loop, 1)))
          return fail(
              "loop {} cannot be {}: different iterations may write the same element of {} in "
              "block {}",
              program.loops[loop].name, to_string(kind), program.buffers[store.buffer].name,
              block.name);
      }
    }
  }
  return {};
}

Result<void> check_independent(const Program& program, LoopId loop, LoopKind kind) {
  TRYV(check_writes_apart(program, loop, kind));
  std::vector<LoopId> fixed = loops_above(program, Node{loop, {}});
  fixed.push_back(loop);
  if (auto apart = check_iterations_apart(program, loop, fixed); !apart)
    return std::unexpected(
        within(apart.error(), "loop {} cannot be {}", program.loops[loop].name, to_string(kind)));
  return {};
}

// The loop holds one reduction and nothing else, runs over its terms alone, and they may be taken
// in any order.
bool adds_up_terms(const Program& program, LoopId loop) {
  const std::vector<Node>& inside = program.loops[loop].body;
  if (inside.size() != 1 || !inside[0].block.valid()) return false;
  const Block& block = program.blocks[inside[0].block];
  const bool drives_element = std::any_of(
      block.axes.begin(), block.axes.end(),
      [&](const Axis& axis) { return axis.kind == AxisKind::spatial && uses(axis.binding, loop); });
  return reduce_axis_of(block, loop) && !drives_element && is_order_free(block);
}

}  // namespace

Result<void> parallel(Program& program, LoopId loop) {
  TRYV(check_no_kind_yet(program, loop, LoopKind::parallel));
  const std::string& name = program.loops[loop].name;
  if (const LoopId above = find_kind_above(program, loop, LoopKind::parallel, LoopKind::vectorized);
      above.valid())
    return fail("loop {} cannot be parallel: it lies in {} loop {}", name,
                to_string(program.loops[above].kind), program.loops[above].name);
  if (const LoopId below = find_kind_below(program, loop, LoopKind::parallel, LoopKind::parallel);
      below.valid())
    return fail("loop {} cannot be parallel: loop {} below it is parallel", name,
                program.loops[below].name);
  TRYV(check_independent(program, loop, LoopKind::parallel));
  program.loops[loop].kind = LoopKind::parallel;
  return {};
}

Result<void> vectorize(Program& program, LoopId loop) {
  TRYV(check_no_kind_yet(program, loop, LoopKind::vectorized));
  const std::string& name = program.loops[loop].name;
  if (const LoopId above =
          find_kind_above(program, loop, LoopKind::vectorized, LoopKind::vectorized);
      above.valid())
    return fail("loop {} cannot be vectorized: it lies in vectorized loop {}", name,
                program.loops[above].name);
  if (const LoopId below = find_kind_below(program, loop, LoopKind::parallel, LoopKind::vectorized);
      below.valid())
    return fail("loop {} cannot be vectorized: loop {} below it is {}", name,
                program.loops[below].name, to_string(program.loops[below].kind));
  if (!adds_up_terms(program, loop)) TRYV(check_independent(program, loop, LoopKind::vectorized));
  program.loops[loop].kind = LoopKind::vectorized;
  return {};
}

Result<void> unroll(Program& program, LoopId loop) {
  TRYV(check_no_kind_yet(program, loop, LoopKind::unrolled));
  program.loops[loop].kind = LoopKind::unrolled;
  return {};
}

}  // namespace hone
