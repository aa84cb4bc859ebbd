// SPDX-License-Identifier: Apache-2.0
//
// loop-kinds: a nest that no other rule shaped
//
//   for i, for j: …   →   for f (i and the outer part of j, fused, parallel): for j1 (vectorised):
//   …
//
// The vector part's size, several registers wide, is a decision. Of a reduction the spatial loops
// run in parallel, and the innermost reduce loop is vectorised where it is the last one: lanes add
// up terms of their own. What makes constants ahead of time stays as it is: it runs once.
#include <algorithm>

#include "space/analysis.h"
#include "space/rule.h"

namespace hone {
namespace {

constexpr int64_t kWidestVectors = 8;  // native registers in one vectorised loop

bool has_kind_above(const Program& program, BlockId block) {
  const std::vector<LoopId> loops = loops_above(program, Node{{}, block});
  return std::any_of(loops.begin(), loops.end(),
                     [&](LoopId loop) { return program.loops[loop].kind != LoopKind::serial; });
}

// Splits the loop of the contiguous axis and vectorises its inner part; gives the outer part.
Result<LoopVar> vectorize_part(Schedule& s, LoopVar loop, int64_t extent, int64_t lanes) {
  const int64_t multiple = extent >= lanes ? lanes : 1;
  const std::vector<IntVar> sizes =
      TRY(s.sample_tile(loop, tile_of(2, kWidestVectors * lanes, multiple)));
  const std::vector<LoopVar> parts = TRY(s.split(loop, params(sizes), Tail::peel));
  TRYV(s.vectorize(parts[1]));
  return parts[0];
}

}  // namespace

Result<RuleAnswer> run_loop_kinds(const Schedule& schedule, const std::string& name,
                                  const Target& target) {
  const BlockId id = *find_block(schedule.program(), name);
  if (has_kind_above(schedule.program(), id)) return skip("its loops have their kinds");
  const Block block = schedule.program().blocks[id];
  if (block.axes.empty()) return skip("no loops");
  if (schedule.program().buffers[block.body[0].buffer].scope == Scope::constant)
    return skip("it runs once, ahead of all calls");
  Schedule s = schedule;
  const BlockVar var = TRY(s.block(name));
  const std::vector<LoopVar> loops = TRY(s.loops(var));
  if (loops.size() != block.axes.size()) return skip("its loops were rewritten already");

  const auto contiguous = contiguous_axis(block);
  const int64_t lanes = target.lanes(schedule.program().buffers[block.body[0].buffer].dtype);
  std::vector<LoopVar> outer;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (block.axes[i].kind != AxisKind::spatial) break;
    const bool in_vectors =
        !block.is_reduction() && contiguous == i && block.axes[i].extent > 1 && lanes > 1;
    outer.push_back(in_vectors ? TRY(vectorize_part(s, loops[i], block.axes[i].extent, lanes))
                               : loops[i]);
  }
  const bool terms_in_lanes =
      block.is_reduction() && lanes > 1 && block.axes.back().kind == AxisKind::reduce &&
      block.axes.back().extent > lanes && s.vectorize(loops.back()).has_value();
  if (outer.empty() && !terms_in_lanes) return skip("no spatial loop outside");
  if (!outer.empty()) {
    const LoopVar fused = outer.size() == 1 ? outer[0] : TRY(s.fuse(outer));
    TRYV(s.parallel(fused));
  }
  return apply_and_stop({std::move(s)}, "parallel outside, vectors inside");
}

}  // namespace hone
