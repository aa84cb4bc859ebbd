// SPDX-License-Identifier: Apache-2.0
//
// Questions that rules ask about blocks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "schedule/schedule.h"
#include "target/target.h"

namespace hone {

// No reduction, one store, and its indices are its axes in order (so instances and elements are one).
bool is_elementwise(const Block& block);

// Operations of a body: exp and the like count as expensive.
struct BodyCost {
  int64_t cheap = 0;
  int64_t expensive = 0;
  bool has_condition = false;
};
BodyCost body_cost(const Block& block);

// Blocks that read what `block` writes.
std::vector<BlockId> consumers_of(const Program& program, BlockId block);

// The only consumer, if it is elementwise and reads each element of `block` exactly once, at its own
// indices: it can be run on a tile of results.
std::optional<BlockId> epilogue_of(const Program& program, BlockId block);

// A reduction in which some operand does not depend on some spatial axis: tiles save loads.
bool has_reuse(const Block& block);

// Some operand is read consecutively along `axis`: its last index, and no other, is that axis plus what
// does not depend on it.
bool reads_along(const Block& block, size_t axis);

// The spatial axis along which the store is contiguous: the last index; nullopt for a scalar result.
std::optional<size_t> contiguous_axis(const Block& block);

// Operands (buffers that `block` reads) whose elements do not depend on all large spatial axes and are
// read along the contiguous axis: packing them into panels makes their reads consecutive.
std::vector<BufferId> packable_operands(const Block& block);

TileOptions tile_of(int64_t parts, int64_t max, int64_t multiple_of);

// Accumulators of `dtype` that a register tile may use on this target, leaving room for operands.
int64_t accumulator_registers(const Target& target, DType dtype);

}  // namespace hone
