// SPDX-License-Identifier: Apache-2.0
//
// The primitives as functions on a Program with concrete ids: check legality, then edit in place.
// On an error the Program is unchanged, and the message names block, loop and rule. trace.h gives
// each a place in a trace. Each family has its own .cpp with a before/after picture.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/program.h"

namespace hone {

// -- loops (loops.cpp)
// ------------------------------------------------------------------------------ factors: outermost
// first; factors[0] = 0 means "as many as needed": ceil(extent / product of the rest). The product
// must reach the extent; Tail::exact demands equality. Gives the new loops, outermost first.
Result<std::vector<LoopId>> split(Program& program, LoopId loop, std::span<const int64_t> factors,
                                  Tail tail);
Result<LoopId> fuse(Program& program, std::span<const LoopId> loops);
// Puts the loops, which lie on one path, into the given order at the places that they occupy now.
Result<void> reorder(Program& program, std::span<const LoopId> loops);
Result<LoopId> add_unit_loop(Program& program, Node above);  // around a block or a loop

// -- loop kinds (loop_kinds.cpp)
// ----------------------------------------------------------------------
Result<void> parallel(Program& program, LoopId loop);
Result<void> vectorize(Program& program, LoopId loop);
Result<void> unroll(Program& program, LoopId loop);

// -- compute location (compute_at.cpp)
// ---------------------------------------------------------------- Moves a producer under a loop of
// its consumers / a consumer under a loop of its producers, and makes loops for just the region
// that is needed there. Gives nothing; the new loops are those above the block.
Result<void> compute_at(Program& program, BlockId block, LoopId loop);
Result<void> reverse_compute_at(Program& program, BlockId block, LoopId loop);
// Every loop that compute_at (reverse = false) or reverse_compute_at accepts, outermost first.
std::vector<LoopId> compute_locations(const Program& program, BlockId block, bool reverse);

// -- inlining (inline.cpp)
// ----------------------------------------------------------------------------
Result<void> compute_inline(Program& program, BlockId block);          // into its consumers
Result<void> reverse_compute_inline(Program& program, BlockId block);  // into its producer

// -- caches (cache.cpp)
// ------------------------------------------------------------------------------- A copy of what
// `block` reads of `buffer`, made by a new block before it; `block` reads the copy.
Result<BlockId> cache_read(Program& program, BlockId block, BufferId buffer, Scope scope);
// `block` writes a new buffer, and a new block copies it to `buffer`. Gives the copying block.
Result<BlockId> cache_write(Program& program, BlockId block, BufferId buffer, Scope scope);
Result<void> set_scope(Program& program, BufferId buffer, Scope scope);

// -- layouts (layout.cpp)
// ----------------------------------------------------------------------------- tiles: one a
// dimension of a temp, 0 where it stays whole. Its parts are the dimensions (tiled ones by the
// number of tiles), then the insides of the tiled ones; `order` says which part stands where
// (empty: as they are). A dimension that a tile does not divide gets elements that nothing reads.
Result<void> transform_layout(Program& program, BufferId buffer, std::span<const int64_t> tiles,
                              std::span<const int64_t> order);

// -- reductions (reduction.cpp)
// ----------------------------------------------------------------------- Moves the init of a
// reduction into a block of its own, just before `loop`. Gives that block.
Result<BlockId> decompose_reduction(Program& program, BlockId block, LoopId loop);

// -- annotations (annotate.cpp)
// -----------------------------------------------------------------------
Result<void> annotate(Program& program, Node node, const std::string& key, int64_t value);

}  // namespace hone
