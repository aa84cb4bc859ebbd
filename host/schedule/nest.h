// SPDX-License-Identifier: Apache-2.0
//
// What the primitives share that make new loops for a block (compute-at, caches, decompose):
//   Nest   a block with bindings over loops that are not in the Program yet. Planning reads the
//   Program
//          and never copies it; a plan that passes its checks is then built.
//   Tile   exactly which elements of a block's spatial axes run while some loops stand still.
// Regions (ir/region.h) may be too large, which is right for "what is needed"; a Tile is exact,
// which is what "what is there" and "what may be overwritten" need. Where no proof is found there
// is no Tile.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/program.h"
#include "ir/region.h"

namespace hone {

struct Nest {
  Block block;                     // bindings may use the loops below
  std::vector<Loop> loops;         // outermost first; ids follow those of the Program
  std::vector<std::string> names;  // what the loops are to be called, if that is free
};

// A block without bindings and predicates, ready for bind().
Nest start_nest(Block block);
LoopExtents extents_of(const Program& program, const Nest& nest);

// A new innermost loop that takes an axis through `range`, cut to the axis' domain by the base
// where that is constant and by a predicate where it is not. `tail` says how lowering removes the
// predicate. Always one loop, also of extent 1: how many loops there are must not depend on tile
// sizes.
void bind(const Program& program, Nest& nest, size_t axis, const RegionDim& range, Tail tail);
void bind_whole(const Program& program, Nest& nest, size_t axis);

struct Place {  // where a node is to be inserted
  LoopId loop;  // invalid: at the top
  size_t position = 0;
};
// `block` is new, or detached from where it was. Puts nest and block there.
void build(Program& program, Nest nest, BlockId block, Place place);

struct Tile {
  struct Clip {  // 0 ≤ base + (running part of the axis) < bound
    size_t axis = 0;
    Affine base;
    int64_t bound = 0;
  };
  std::vector<RegionDim> axes;   // one an axis of the block; those of reduce axes are not set
  std::vector<Tail> tails;       // of the loops that run
  std::vector<Clip> clips;       // beside the axes' domains, which always hold
  std::vector<Predicate> fixed;  // over loops that stand still only
};
// nullopt: not known to be a box.
std::optional<Tile> tile_of(const Program& program, const Block& block,
                            const std::vector<LoopId>& fixed, const LoopExtents& extents);
// bind() for an axis that runs like axis `like` of a tile, with its clips.
void bind_like(const Program& program, Nest& nest, size_t axis, const Tile& tile, size_t like);

// Whether each load of a temp in the nest would find its value at that place: every writer comes
// before, is done with its reduction, and has written all that is read in the iteration at hand.
// `self` is the block that the nest is for (it may still stand elsewhere), or invalid.
Result<void> check_reads(std::string_view primitive, const Program& program, const Nest& nest,
                         BlockId self, Place place);
// A block that goes elsewhere, or into others, must not leave a loop in which something is written
// that it reads: what is local to an iteration would have to be kept for all.
Result<void> check_leaves_no_producer(std::string_view primitive, const Program& program,
                                      BlockId block, const std::vector<LoopId>& new_path);

// The loops above a place, outermost first.
std::vector<LoopId> path_to(const Program& program, LoopId loop);
// The leading loops of both paths that are the same.
std::vector<LoopId> common_path(const std::vector<LoopId>& a, const std::vector<LoopId>& b);
// Position of the child of `loop` (invalid: of the top) that is or holds `block`.
size_t position_in(const Program& program, LoopId loop, BlockId block);
// The first vectorized loop among `path`; invalid: none.
LoopId vectorized_in(const Program& program, const std::vector<LoopId>& path);
// Every load of a buffer in a block, body first.
void visit_loads(const Block& block, BufferId buffer,
                 const std::function<void(const ExprNode&)>& visit);
// Axis number that an index consists of; nullopt: anything else.
std::optional<size_t> plain_axis(const Expr& index);
// One loop's tail strategy for the iterations of several.
Tail common_tail(Tail a, Tail b);

}  // namespace hone
