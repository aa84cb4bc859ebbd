// SPDX-License-Identifier: Apache-2.0
//
// compute_at, reverse_compute_at: a block moves under a loop of those that read it, or that it
// reads.
//
//   compute_at A y_0                            reverse_compute_at R y_0
//     for y in 18                                 for y_0 in 4, y_1 in 4
//       block A  spatial y=y                        block A  spatial y=y_0*4+y_1
//     for y_0 in 4, y_1 in 4                      for y in 16
//       block B  spatial y=y_0*4+y_1                block R  spatial y=y
//         update B[y] = A[y] + A[y+2]                 update R[y] = A[y] * 2
//   -->                                         -->
//     for y_0 in 4                                for y_0 in 4
//       for y_A in 6                                for y_1 in 4
//         block A  spatial y=y_0*4+y_A                block A  spatial y=y_0*4+y_1
//       for y_1 in 4                                for y_R in 4
//         block B  spatial y=y_0*4+y_1                block R  spatial y=y_0*4+y_R
//
// The new loops, one an axis, run through what is needed in one iteration of the loop, and always
// through all of a reduction. A producer may run again for elements that several iterations need:
// it gives the same values again. A consumer writes for others, perhaps in parallel, and must run
// exactly once for each element: it takes exactly the tile that its producer has just written, and
// tiles must not overlap.
//
// The block's old loops and predicates are dropped. That is right because predicates only ever say
// which part of an axis runs, never that some elements are not wanted.
#include <algorithm>

#include "schedule/legality.h"
#include "schedule/nest.h"
#include "schedule/primitives.h"

namespace hone {
namespace {

constexpr std::string_view kForward = "compute_at";
constexpr std::string_view kReverse = "reverse_compute_at";

struct Plan {
  Nest nest;
  Place place;
};

bool contains(const std::vector<LoopId>& loops, LoopId loop) {
  return std::find(loops.begin(), loops.end(), loop) != loops.end();
}

// What holds for both directions and any loop: each value comes from one run of the block alone.
Result<void> check_self_contained(std::string_view primitive, const Program& program, BlockId id) {
  const Block& block = program.blocks[id];
  if (!block.alive) return fail("{}: block '{}' is gone: it was inlined", primitive, block.name);
  if (block.is_reduction() && block.init.empty())
    return fail("{}: block '{}' is a reduction whose init stands elsewhere", primitive, block.name);
  for (const BufferId buffer : writes_of(block))
    for (const BlockId writer : writers_of(program, buffer))
      if (writer != id)
        return fail("{}: block '{}' writes '{}', which block '{}' writes as well", primitive,
                    block.name, program.buffers[buffer].name, program.blocks[writer].name);
  return {};
}

Result<void> check_target(std::string_view primitive, const Program& program, BlockId block,
                          LoopId loop) {
  TRYV(check_alive(program, loop));
  const std::string& name = program.blocks[block].name;
  if (is_inside(program, Node{{}, block}, loop))
    return fail("{}: block '{}' is inside loop '{}' already", primitive, name,
                program.loops[loop].name);
  const std::vector<LoopId> path = path_to(program, loop);
  if (const LoopId vector = vectorized_in(program, path); vector.valid())
    return fail("{}: block '{}' cannot go into loop '{}': loop '{}' is vectorized", primitive, name,
                program.loops[loop].name, program.loops[vector].name);
  for (const LoopId shared : common_path(path, loops_above(program, Node{{}, block})))
    if (const Axis* axis = reduce_axis_of(program.blocks[block], shared))
      return fail(
          "{}: loop '{}' drives reduce axis '{}' of block '{}', which would not move with it",
          primitive, program.loops[shared].name, axis->name, name);
  return {};
}

// -- compute_at -----------------------------------------------------------------------------------

std::vector<BlockId> consumers_of(const Program& program, BlockId block) {
  std::vector<BlockId> consumers = all_blocks(program);
  const std::vector<BufferId> writes = writes_of(program.blocks[block]);
  std::erase_if(consumers, [&](BlockId consumer) {
    const std::vector<BufferId> reads = reads_of(program.blocks[consumer]);
    return consumer == block || std::none_of(writes.begin(), writes.end(), [&](BufferId buffer) {
             return std::find(reads.begin(), reads.end(), buffer) != reads.end();
           });
  });
  return consumers;
}

// What is needed of each axis, as far as it can be read off the elements that are needed.
struct Needed {
  std::optional<RegionDim> range;
  Tail tail = Tail::exact;
  bool whole = false;  // an index that is not just this axis
};

// The strategy of those loops that run through dimension `dim` in what a consumer reads.
Tail tail_of_reads(const Program& program, const Block& consumer, BufferId buffer, size_t dim,
                   const std::vector<LoopId>& fixed) {
  Tail tail = Tail::exact;
  visit_loads(consumer, buffer, [&](const ExprNode& load) {
    const std::optional<Affine> form = index_form(program, consumer, load.args[dim]);
    std::vector<LoopId> loops;
    if (form) collect_loops(*form, loops);
    for (const LoopId loop : loops)
      if (!contains(fixed, loop)) tail = common_tail(tail, program.loops[loop].tail);
  });
  return tail;
}

void add_store(const Program& program, const Store& store, const std::vector<BlockId>& consumers,
               const std::vector<LoopId>& fixed, std::vector<Needed>& needed) {
  const std::vector<int64_t>& shape = program.buffers[store.buffer].shape;
  Region region;
  for (const BlockId consumer : consumers) {
    const Region part = region_of(program, consumer, store.buffer, false, fixed);
    region = region.empty() ? part : hull(program, store.buffer, region, part);
  }
  for (size_t dim = 0; dim < store.indices.size(); ++dim) {
    const std::optional<size_t> axis = plain_axis(store.indices[dim]);
    if (!axis) {
      walk(store.indices[dim], [&](const ExprNode& node) {
        if (node.op == Op::axis) needed[static_cast<size_t>(node.id)].whole = true;
      });
      continue;
    }
    Needed& row = needed[*axis];
    row.range = row.range ? hull(*row.range, region[dim], shape[dim]) : region[dim];
    for (const BlockId consumer : consumers)
      row.tail = common_tail(
          row.tail, tail_of_reads(program, program.blocks[consumer], store.buffer, dim, fixed));
  }
}

Result<Plan> plan_compute_at(const Program& program, BlockId id, LoopId loop) {
  const Block& block = program.blocks[id];
  TRYV(check_target(kForward, program, id, loop));
  const std::vector<BlockId> consumers = consumers_of(program, id);
  Plan plan{start_nest(block), {loop, program.loops[loop].body.size()}};
  for (const BlockId consumer : consumers) {
    if (!is_inside(program, Node{{}, consumer}, loop))
      return fail("compute_at: block '{}' is read by '{}', which is not inside loop '{}'",
                  block.name, program.blocks[consumer].name, program.loops[loop].name);
    plan.place.position = std::min(plan.place.position, position_in(program, loop, consumer));
  }
  const std::vector<LoopId> path = path_to(program, loop);
  TRYV(check_leaves_no_producer(kForward, program, id, path));

  std::vector<Needed> needed(block.axes.size());
  for (const std::vector<Store>* stores : {&block.init, &block.body})
    for (const Store& store : *stores) add_store(program, store, consumers, path, needed);
  for (const AxisKind kind : {AxisKind::spatial, AxisKind::reduce}) {
    for (size_t axis = 0; axis < block.axes.size(); ++axis) {
      if (block.axes[axis].kind != kind) continue;
      const Needed& row = needed[axis];
      if (kind == AxisKind::spatial && row.range && !row.whole && row.range->extent > 0) {
        bind(program, plan.nest, axis, *row.range, row.tail);
      } else {
        bind_whole(program, plan.nest, axis);
      }
    }
  }
  TRYV(check_reads(kForward, program, plan.nest, id, plan.place));
  return plan;
}

Result<void> check_producer(const Program& program, BlockId id) {
  TRYV(check_self_contained(kForward, program, id));
  const Block& block = program.blocks[id];
  for (const BufferId buffer : writes_of(block))
    if (program.buffers[buffer].kind == BufferKind::output)
      return fail("compute_at: block '{}' writes output '{}', which is wanted whole", block.name,
                  program.buffers[buffer].name);
  if (consumers_of(program, id).empty())
    return fail("compute_at: no block reads what block '{}' writes", block.name);
  return {};
}

// -- reverse_compute_at ---------------------------------------------------------------------------

struct Source {  // a buffer that the block reads and that is written inside the loop
  BufferId buffer;
  BlockId writer;  // the last one there
};

std::vector<Source> sources_inside(const Program& program, BlockId id, LoopId loop) {
  std::vector<Source> sources;
  for (const BufferId buffer : reads_of(program.blocks[id])) {
    Source source{buffer, {}};
    for (const BlockId writer : writers_of(program, buffer))
      if (writer != id && is_inside(program, Node{{}, writer}, loop)) source.writer = writer;
    if (source.writer.valid()) sources.push_back(source);
  }
  return sources;
}

// Axis of `block` that is, alone, index `dim` of its first load of `buffer`.
std::optional<size_t> loaded_axis(const Block& block, BufferId buffer, size_t dim) {
  std::optional<size_t> axis;
  bool seen = false;
  visit_loads(block, buffer, [&](const ExprNode& load) {
    if (!seen) axis = plain_axis(load.args[dim]);
    seen = true;
  });
  return axis;
}

struct Match {  // an axis that runs like an axis of a producer
  size_t tile = 0;
  size_t like = 0;
};

// Which axes of `block` follow which axes of its sources.
void match_axes(const Block& block, const Block& writer, const Source& source, size_t tile,
                std::vector<std::optional<Match>>& matches) {
  for (const Store& store : writer.body) {
    if (store.buffer != source.buffer) continue;
    for (size_t dim = 0; dim < store.indices.size(); ++dim) {
      const std::optional<size_t> from = plain_axis(store.indices[dim]);
      const std::optional<size_t> to = loaded_axis(block, source.buffer, dim);
      if (!from || !to || writer.axes[*from].kind != AxisKind::spatial) continue;
      if (block.axes[*to].kind != AxisKind::spatial || matches[*to]) continue;
      // A guard may leave elements unread that the block must run for all the same.
      if (block.axes[*to].extent > writer.axes[*from].extent) continue;
      matches[*to] = Match{tile, *from};
    }
  }
}

// The loops of the new path that the block was not inside of, and those that it was.
struct Paths {
  std::vector<LoopId> entered;
  std::vector<LoopId> kept;
};

// No element of the block may run in two iterations of the loops that it enters.
Result<void> check_runs_once(const Program& program, const Nest& nest, const Paths& paths) {
  Program scratch;  // loops only: what legality asks of extents, with the planned ones
  scratch.loops = program.loops;
  std::vector<LoopId> varying = paths.entered;
  for (const Loop& loop : nest.loops) varying.push_back(scratch.loops.add(loop));
  std::vector<Affine> forms;
  for (const Axis& axis : nest.block.axes)
    if (axis.kind == AxisKind::spatial) forms.push_back(axis.binding);
  for (const LoopId loop : paths.entered)
    if (!determines(scratch, forms, varying, std::span(&loop, 1)))
      return fail(
          "reverse_compute_at: block '{}' would run for the same elements in several iterations "
          "of loop '{}'",
          nest.block.name, program.loops[loop].name);
  return {};
}

// Within the loops that it stays in, the block has to run for just what it ran for.
Result<void> check_same_elements(const Program& program, const Block& old, const Nest& nest,
                                 const Paths& paths) {
  if (paths.kept.empty()) return {};
  const LoopExtents extents = extents_of(program, nest);
  const std::optional<Tile> before = tile_of(program, old, paths.kept, extents);
  const std::optional<Tile> after = tile_of(program, nest.block, paths.kept, extents);
  bool same = before && after && before->clips.empty() && after->clips.empty() &&
              before->fixed.size() == after->fixed.size();
  for (size_t axis = 0; same && axis < old.axes.size(); ++axis) {
    if (old.axes[axis].kind != AxisKind::spatial) continue;
    const RegionDim& a = before->axes[axis];
    const RegionDim& b = after->axes[axis];
    same = equal(a.base, b.base) && a.extent == b.extent;
  }
  for (size_t i = 0; same && i < before->fixed.size(); ++i)
    same = before->fixed[i].bound == after->fixed[i].bound &&
           equal(before->fixed[i].form, after->fixed[i].form);
  if (same) return {};
  return fail(
      "reverse_compute_at: inside loop '{}' block '{}' would run for other elements than before",
      program.loops[paths.kept.back()].name, old.name);
}

// Loops of the block in place of the producers' inside `loop`.
Result<Nest> nest_like_sources(const Program& program, BlockId id, LoopId loop,
                               const std::vector<Source>& sources) {
  const Block& block = program.blocks[id];
  const std::vector<LoopId> path = path_to(program, loop);
  std::vector<Tile> tiles;
  std::vector<std::optional<Match>> matches(block.axes.size());
  for (const Source& source : sources) {
    const Block& writer = program.blocks[source.writer];
    std::optional<Tile> tile = tile_of(program, writer, path, program.extents());
    if (!tile)
      return fail(
          "reverse_compute_at: what block '{}' writes of '{}' in one iteration of loop '{}' is "
          "not known to be a box",
          writer.name, program.buffers[source.buffer].name, program.loops[loop].name);
    tiles.push_back(std::move(*tile));
    match_axes(block, writer, source, tiles.size() - 1, matches);
  }
  Nest nest = start_nest(block);
  for (const AxisKind kind : {AxisKind::spatial, AxisKind::reduce}) {
    for (size_t axis = 0; axis < block.axes.size(); ++axis) {
      if (block.axes[axis].kind != kind) continue;
      if (matches[axis]) {
        bind_like(program, nest, axis, tiles[matches[axis]->tile], matches[axis]->like);
      } else {
        bind_whole(program, nest, axis);
      }
    }
  }
  for (const Tile& tile : tiles)
    nest.block.predicates.insert(nest.block.predicates.end(), tile.fixed.begin(), tile.fixed.end());
  return nest;
}

Result<Plan> plan_reverse(const Program& program, BlockId id, LoopId loop) {
  const Block& block = program.blocks[id];
  TRYV(check_target(kReverse, program, id, loop));
  if (!comes_before(program, Node{loop, {}}, Node{{}, id}))
    return fail("reverse_compute_at: block '{}' does not come after loop '{}'", block.name,
                program.loops[loop].name);
  const std::vector<Source> sources = sources_inside(program, id, loop);
  if (sources.empty())
    return fail("reverse_compute_at: block '{}' reads nothing that is written inside loop '{}'",
                block.name, program.loops[loop].name);
  Place place{loop, 0};
  for (const Source& source : sources)
    place.position = std::max(place.position, position_in(program, loop, source.writer) + 1);
  const std::vector<LoopId> path = path_to(program, loop);
  TRYV(check_leaves_no_producer(kReverse, program, id, path));

  Plan plan{TRY(nest_like_sources(program, id, loop, sources)), place};
  TRYV(check_reads(kReverse, program, plan.nest, id, place));
  Paths paths;
  paths.kept = common_path(path, loops_above(program, Node{{}, id}));
  paths.entered.assign(path.begin() + std::ssize(paths.kept), path.end());
  TRYV(check_runs_once(program, plan.nest, paths));
  TRYV(check_same_elements(program, block, plan.nest, paths));
  return plan;
}

void carry_out(Program& program, BlockId block, Plan plan) {
  remove(program, Node{{}, block});
  build(program, std::move(plan.nest), block, plan.place);
}

// Loops above the blocks that a location could be found with, outermost first, each once.
std::vector<LoopId> candidates(const Program& program, BlockId id, bool reverse) {
  std::vector<BlockId> partners;
  if (!reverse) {
    partners = consumers_of(program, id);
    if (!partners.empty()) partners.resize(1);  // the loop has to hold all of them
  } else {
    for (const BufferId buffer : reads_of(program.blocks[id]))
      for (const BlockId writer : writers_of(program, buffer)) partners.push_back(writer);
  }
  std::vector<LoopId> loops;
  for (const BlockId partner : partners)
    for (const LoopId loop : loops_above(program, Node{{}, partner}))
      if (!contains(loops, loop)) loops.push_back(loop);
  return loops;
}

}  // namespace

Result<void> compute_at(Program& program, BlockId block, LoopId loop) {
  TRYV(check_producer(program, block));
  carry_out(program, block, TRY(plan_compute_at(program, block, loop)));
  return {};
}

Result<void> reverse_compute_at(Program& program, BlockId block, LoopId loop) {
  TRYV(check_self_contained(kReverse, program, block));
  carry_out(program, block, TRY(plan_reverse(program, block, loop)));
  return {};
}

std::vector<LoopId> compute_locations(const Program& program, BlockId block, bool reverse) {
  const bool movable = reverse ? check_self_contained(kReverse, program, block).has_value()
                               : check_producer(program, block).has_value();
  if (!movable) return {};
  std::vector<LoopId> loops = candidates(program, block, reverse);
  std::erase_if(loops, [&](LoopId loop) {
    return reverse ? !plan_reverse(program, block, loop) : !plan_compute_at(program, block, loop);
  });
  return loops;
}

}  // namespace hone
