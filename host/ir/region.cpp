// SPDX-License-Identifier: Apache-2.0
//
// An index becomes a form over loops; each term of the form goes to the base if its loops are
// fixed, and to an interval if they run. A quotient or remainder of a sum of both kinds is bounded
// by
//   floor(F/d) ≤ floor((F+v)/d) ≤ floor(F/d) + floor((F mod d + V) / d)   for 0 ≤ v ≤ V,
// which keeps tiles of fused loops small. Interval arithmetic on axes instead of loops was
// rejected: it forgets that two axes of one fused loop move together.
#include "ir/region.h"

#include <algorithm>

namespace hone {
namespace {

enum class Motion : uint8_t { fixed, running, mixed };

Motion motion_of(const AffineTerm& term, const std::vector<LoopId>& fixed) {
  std::vector<LoopId> loops;
  collect_loops(Affine{{term}, 0}, loops);
  const auto is_fixed = [&](LoopId loop) {
    return std::find(fixed.begin(), fixed.end(), loop) != fixed.end();
  };
  if (std::all_of(loops.begin(), loops.end(), is_fixed)) return Motion::fixed;
  return std::any_of(loops.begin(), loops.end(), is_fixed) ? Motion::mixed : Motion::running;
}

// A digit (F + v) / div % mod, unscaled, of a source with fixed and running parts.
RegionDim span_of_digit(const AffineTerm& term, const std::vector<LoopId>& fixed,
                        const LoopExtents& extents) {
  const RegionDim source = span_of(*term.inner, fixed, extents);
  const int64_t offset = range_of(remainder(source.base, term.div, extents), extents).high;
  const int64_t reach = (offset + source.extent - 1) / term.div;
  const Affine low = quotient(source.base, term.div, extents);
  if (term.mod == 0) return {low, reach + 1};
  const Affine digit = remainder(low, term.mod, extents);
  if (range_of(digit, extents).high + reach < term.mod) return {digit, reach + 1};
  return {affine_constant(0), term.mod};
}

RegionDim within_shape(RegionDim dim, int64_t size) {
  if (dim.extent >= size) return {affine_constant(0), size};
  if (!dim.base.is_constant()) return dim;
  const int64_t low = std::clamp<int64_t>(dim.base.base, 0, size - 1);
  const int64_t end = std::clamp<int64_t>(dim.base.base + dim.extent, low + 1, size);
  return {affine_constant(low), end - low};
}

using Indices = std::vector<Expr>;

void collect_loads(const Expr& expr, BufferId buffer, std::vector<const Indices*>& accesses) {
  walk(expr, [&](const ExprNode& node) {
    if (node.op == Op::load && node.id == buffer.value) accesses.push_back(&node.args);
  });
}

std::vector<const Indices*> accesses_of(const Block& block, BufferId buffer, bool writes) {
  std::vector<const Indices*> accesses;
  for (const std::vector<Store>* stores : {&block.init, &block.body}) {
    for (const Store& store : *stores) {
      if (writes) {
        if (store.buffer == buffer) accesses.push_back(&store.indices);
        continue;
      }
      for (const Expr& index : store.indices) collect_loads(index, buffer, accesses);
      collect_loads(store.value, buffer, accesses);
    }
  }
  return accesses;
}

}  // namespace

RegionDim span_of(const Affine& form, const std::vector<LoopId>& fixed,
                  const LoopExtents& extents) {
  Affine base = affine_constant(form.base);
  Interval reach;  // of what runs, beside the base
  for (const AffineTerm& term : form.terms) {
    const Motion motion = motion_of(term, fixed);
    Interval range;
    if (motion == Motion::fixed) {
      base = add(base, Affine{{term}, 0});
    } else if (motion == Motion::running) {
      range = range_of(Affine{{term}, 0}, extents);
    } else {
      const RegionDim digit = span_of_digit(term, fixed, extents);
      base = add(base, scale(digit.base, term.scale));
      const int64_t last = (digit.extent - 1) * term.scale;
      range = {std::min<int64_t>(0, last), std::max<int64_t>(0, last)};
    }
    reach.low += range.low;
    reach.high += range.high;
  }
  return {add(base, affine_constant(reach.low)), reach.high - reach.low + 1};
}

std::optional<Affine> index_form(const Block& block, const Expr& index,
                                 const LoopExtents& extents) {
  if (index->dtype != DType::i64) return std::nullopt;
  if (index->op == Op::constant) return affine_constant(index->int_value);
  if (index->op == Op::axis) return block.axes[static_cast<size_t>(index->id)].binding;
  const bool is_linear = index->op == Op::neg || index->op == Op::add || index->op == Op::sub ||
                         index->op == Op::mul || index->op == Op::div || index->op == Op::mod;
  if (!is_linear) return std::nullopt;
  const std::optional<Affine> left = index_form(block, index->args[0], extents);
  if (!left) return std::nullopt;
  if (index->op == Op::neg) return scale(*left, -1);
  const std::optional<Affine> right = index_form(block, index->args[1], extents);
  if (!right) return std::nullopt;
  switch (index->op) {
    case Op::add:
      return add(*left, *right);
    case Op::sub:
      return add(*left, scale(*right, -1));
    case Op::mul:
      if (right->is_constant()) return scale(*left, right->base);
      if (left->is_constant()) return scale(*right, left->base);
      return std::nullopt;
    default:
      if (!right->is_constant() || right->base <= 0) return std::nullopt;
      return index->op == Op::div ? quotient(*left, right->base, extents)
                                  : remainder(*left, right->base, extents);
  }
}

std::optional<Affine> index_form(const Program& program, const Block& block, const Expr& index) {
  return index_form(block, index, program.extents());
}

Region region_of(const Program& program, const Block& block, BufferId buffer, bool writes,
                 const std::vector<LoopId>& fixed, const LoopExtents& extents) {
  const std::vector<int64_t>& shape = program.buffers[buffer].shape;
  Region region(shape.size(), RegionDim{affine_constant(0), 0});
  for (const Indices* indices : accesses_of(block, buffer, writes)) {
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      const std::optional<Affine> form = index_form(block, (*indices)[dim], extents);
      const RegionDim span = form ? within_shape(span_of(*form, fixed, extents), shape[dim])
                                  : RegionDim{affine_constant(0), shape[dim]};
      region[dim] = hull(region[dim], span, shape[dim]);
    }
  }
  return region;
}

Region region_of(const Program& program, BlockId block, BufferId buffer, bool writes,
                 const std::vector<LoopId>& fixed) {
  return region_of(program, program.blocks[block], buffer, writes, fixed, program.extents());
}

RegionDim hull(const RegionDim& left, const RegionDim& right, int64_t size) {
  if (left.extent == 0) return right;
  if (right.extent == 0) return left;
  const Affine ahead = add(right.base, scale(left.base, -1));
  if (!ahead.is_constant()) return {affine_constant(0), size};
  const int64_t low = std::min<int64_t>(0, ahead.base);
  const int64_t end = std::max(left.extent, ahead.base + right.extent);
  return within_shape({add(left.base, affine_constant(low)), end - low}, size);
}

Region hull(const Program& program, BufferId buffer, const Region& left, const Region& right) {
  const std::vector<int64_t>& shape = program.buffers[buffer].shape;
  Region region;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    region.push_back(hull(left[dim], right[dim], shape[dim]));
  return region;
}

}  // namespace hone
