// SPDX-License-Identifier: Apache-2.0
//
// Which part of a buffer is touched: per dimension a base (a form over the loops that are held
// fixed) and a constant extent. Used by compute-at (what must be computed here) and by lowering
// (how much of a temp is live here).
#pragma once

#include <optional>
#include <vector>

#include "ir/program.h"

namespace hone {

struct RegionDim {
  Affine base;         // over fixed loops only; lowest index touched
  int64_t extent = 1;  // indices base … base+extent-1 cover all that is touched
};
using Region = std::vector<RegionDim>;  // one a dimension of the buffer

// Region of `buffer` that `block` reads (or writes, if `writes`) while the loops in `fixed` keep
// their values and the other loops above the block take all of theirs. Predicates of the block do
// not narrow it below what bindings say, but extents never pass the buffer's shape. An index that
// is not quasi-affine in the axes (data-dependent, or a product of axes) gives the whole dimension.
// A buffer that the block does not touch gives extents of 0.
Region region_of(const Program& program, BlockId block, BufferId buffer, bool writes,
                 const std::vector<LoopId>& fixed);
// The same for a block that is only planned: its bindings may use loops that `extents` alone knows.
Region region_of(const Program& program, const Block& block, BufferId buffer, bool writes,
                 const std::vector<LoopId>& fixed, const LoopExtents& extents);

// The smallest region of this form that covers both; whole dimensions where bases do not compare.
Region hull(const Program& program, BufferId buffer, const Region& left, const Region& right);
RegionDim hull(const RegionDim& left, const RegionDim& right, int64_t size);  // of one dimension

// An index expression over axes as a form over loops, by the axes' bindings; nullopt if not
// quasi-affine.
std::optional<Affine> index_form(const Program& program, const Block& block, const Expr& index);
std::optional<Affine> index_form(const Block& block, const Expr& index, const LoopExtents& extents);

// The values that a form takes while the loops in `fixed` stand still.
RegionDim span_of(const Affine& form, const std::vector<LoopId>& fixed, const LoopExtents& extents);

}  // namespace hone
