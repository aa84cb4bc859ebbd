// SPDX-License-Identifier: Apache-2.0
//
// How a Tile is proved. The running part of an axis is a sum of digits of loops. It takes all
// values of [0, n), whatever other axes do, if (1) its scales, from the smallest on, step at most
// one beyond what lies below them, (2) digits of one loop that stand in several axes are separate
// places of one mixed radix number that the loop counts through to the end, and (3) every predicate
// is either an axis' own domain, or cuts such a partial sum at a constant, or concerns loops that
// stand still, or can be met by the reduce loops whatever the spatial ones do.
#include "schedule/nest.h"

#include <algorithm>
#include <map>
#include <span>

#include "schedule/legality.h"

namespace hone {
namespace {

bool contains(std::span<const LoopId> loops, LoopId loop) {
  return std::find(loops.begin(), loops.end(), loop) != loops.end();
}

struct Parts {
  Affine standing;  // with the constant
  Affine running;
};

// nullopt: a term with loops of both kinds.
std::optional<Parts> parts_of(const Affine& form, const std::vector<LoopId>& fixed) {
  Parts parts{affine_constant(form.base), affine_constant(0)};
  for (const AffineTerm& term : form.terms) {
    std::vector<LoopId> loops;
    collect_loops(Affine{{term}, 0}, loops);
    const auto stands = std::count_if(loops.begin(), loops.end(),
                                      [&](LoopId loop) { return contains(fixed, loop); });
    if (stands != 0 && stands != std::ssize(loops)) return std::nullopt;
    (stands != 0 ? parts.standing : parts.running).terms.push_back(term);
  }
  return parts;
}

// Digits of one loop, over all spatial axes: separate places of one number (see above).
bool are_separate(std::vector<AffineTerm> digits, int64_t extent) {
  std::sort(digits.begin(), digits.end(),
            [](const AffineTerm& a, const AffineTerm& b) { return a.div < b.div; });
  for (size_t i = 0; i < digits.size(); ++i) {
    const bool last = i + 1 == digits.size();
    const int64_t above = digits[i].mod == 0 ? digits[i].div : digits[i].div * digits[i].mod;
    if (digits[i].mod == 0 && !last) return false;
    if ((last ? extent : digits[i + 1].div) % above != 0) return false;
  }
  return true;
}

class TileProof {
 public:
  TileProof(const Program& program, const Block& block, const std::vector<LoopId>& fixed,
            const LoopExtents& extents)
      : program_(program), block_(block), fixed_(fixed), extents_(extents) {}

  std::optional<Tile> run() {
    tile_.axes.resize(block_.axes.size());
    tile_.tails.resize(block_.axes.size(), Tail::exact);
    parts_.resize(block_.axes.size());
    for (size_t axis = 0; axis < block_.axes.size(); ++axis)
      if (block_.axes[axis].kind == AxisKind::spatial && !take_axis(axis)) return std::nullopt;
    for (const auto& [loop, digits] : digits_)
      if (!are_separate(digits, extents_(loop))) return std::nullopt;
    for (const Predicate& predicate : block_.predicates)
      if (!take_predicate(predicate)) return std::nullopt;
    for (size_t axis = 0; axis < block_.axes.size(); ++axis)
      if (block_.axes[axis].kind == AxisKind::spatial && !measure(axis)) return std::nullopt;
    if (!cuts_.empty()) return std::nullopt;  // a predicate that cuts no partial sum
    return std::move(tile_);
  }

 private:
  struct Cut {
    Affine running;
    Affine standing;
    int64_t bound = 0;
  };

  bool take_axis(size_t axis) {
    const std::optional<Parts> parts = parts_of(block_.axes[axis].binding, fixed_);
    if (!parts) return false;
    parts_[axis] = *parts;
    for (const AffineTerm& term : parts->running.terms) {
      if (term.inner || term.scale < 0) return false;
      digits_[term.loop].push_back(term);
      if (term.loop.value < program_.loops.size())
        tile_.tails[axis] = common_tail(tile_.tails[axis], program_.loops[term.loop].tail);
    }
    return true;
  }

  bool take_predicate(const Predicate& predicate) {
    for (const Axis& axis : block_.axes)
      if (predicate.bound >= axis.extent && equal(predicate.form, axis.binding)) return true;
    const Interval range = range_of(predicate.form, extents_);
    if (range.low >= 0 && range.high < predicate.bound) return true;
    const std::optional<Parts> parts = parts_of(predicate.form, fixed_);
    if (!parts) return false;
    if (parts->running.terms.empty()) {
      tile_.fixed.push_back(predicate);
      return true;
    }
    std::vector<LoopId> loops;
    collect_loops(parts->running, loops);
    const bool spatial = std::any_of(loops.begin(), loops.end(),
                                     [&](LoopId loop) { return digits_.contains(loop); });
    if (!spatial)  // the instance with all of these loops at 0 runs
      return parts->standing.is_constant() && parts->standing.base >= 0 &&
             parts->standing.base < predicate.bound;
    cuts_.push_back({parts->running, parts->standing, predicate.bound});
    return true;
  }

  bool measure(size_t axis) {
    std::vector<AffineTerm> terms = parts_[axis].running.terms;
    std::sort(terms.begin(), terms.end(),
              [](const AffineTerm& a, const AffineTerm& b) { return a.scale < b.scale; });
    int64_t extent = 1;  // the terms so far take all values of [0, extent)
    Affine sum = affine_constant(0);
    for (size_t i = 0; i < terms.size(); ++i) {
      if (terms[i].scale > extent) return false;
      const Interval range = range_of(Affine{{terms[i]}, 0}, extents_);
      if (range.low != 0) return false;
      extent += range.high;
      sum = add(sum, Affine{{terms[i]}, 0});
      if (!apply_cuts(axis, sum, i + 1 == terms.size(), extent)) return false;
    }
    tile_.axes[axis] = {parts_[axis].standing, extent};
    return true;
  }

  bool apply_cuts(size_t axis, const Affine& sum, bool whole, int64_t& extent) {
    for (size_t i = 0; i < cuts_.size();) {
      const Cut& cut = cuts_[i];
      if (!equal(cut.running, sum)) {
        ++i;
        continue;
      }
      if (cut.standing.is_constant()) {
        if (cut.standing.base < 0 || cut.bound <= cut.standing.base) return false;
        extent = std::min(extent, cut.bound - cut.standing.base);
      } else if (whole) {
        tile_.clips.push_back({axis, cut.standing, cut.bound});
      } else {
        return false;
      }
      cuts_.erase(cuts_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return true;
  }

  const Program& program_;
  const Block& block_;
  const std::vector<LoopId>& fixed_;
  const LoopExtents& extents_;
  Tile tile_;
  std::vector<Parts> parts_;
  std::map<LoopId, std::vector<AffineTerm>> digits_;
  std::vector<Cut> cuts_;
};

bool covers(const RegionDim& there, const RegionDim& needed, int64_t size,
            const LoopExtents& extents) {
  const Interval ahead = range_of(add(needed.base, scale(there.base, -1)), extents);
  const Interval base = range_of(there.base, extents);
  const bool from_start = ahead.low >= 0 || base.high <= 0;
  const bool to_end = ahead.high + needed.extent <= there.extent || base.low + there.extent >= size;
  return from_start && to_end;
}

bool has_predicate(const Block& block, const Affine& form, int64_t bound) {
  return std::any_of(block.predicates.begin(), block.predicates.end(),
                     [&](const Predicate& p) { return p.bound <= bound && equal(p.form, form); });
}

// Dimensions of `buffer` as spatial axes of the block that writes it, each once and over the whole
// dimension; nothing for a dimension of extent 1 that is written at a constant.
std::optional<std::vector<std::optional<size_t>>> axes_of_store(const Program& program,
                                                                const Block& writer,
                                                                BufferId buffer) {
  const auto store = std::find_if(writer.body.begin(), writer.body.end(),
                                  [&](const Store& row) { return row.buffer == buffer; });
  if (store == writer.body.end()) return std::nullopt;
  std::vector<std::optional<size_t>> axes;
  for (size_t dim = 0; dim < store->indices.size(); ++dim) {
    const std::optional<size_t> axis = plain_axis(store->indices[dim]);
    const int64_t size = program.buffers[buffer].shape[dim];
    const bool fits = axis ? writer.axes[*axis].kind == AxisKind::spatial &&
                                 writer.axes[*axis].extent == size &&
                                 std::find(axes.begin(), axes.end(), axis) == axes.end()
                           : size == 1;
    if (!fits) return std::nullopt;
    axes.push_back(axis);
  }
  return axes;
}

// Whether what the nest reads at one index was written along `axis`.
bool index_is_written(const Nest& nest, const Expr& index, const Tile& tile, size_t axis,
                      int64_t size, const std::vector<LoopId>& fixed, const LoopExtents& extents) {
  const std::optional<Affine> form = index_form(nest.block, index, extents);
  const RegionDim read =
      form ? span_of(*form, fixed, extents) : RegionDim{affine_constant(0), size};
  if (!covers(tile.axes[axis], read, size, extents)) return false;
  return std::all_of(tile.clips.begin(), tile.clips.end(), [&](const Tile::Clip& clip) {
    if (clip.axis != axis) return true;
    const Affine offset = add(clip.base, scale(tile.axes[axis].base, -1));
    return form && has_predicate(nest.block, add(*form, offset), clip.bound);
  });
}

// Whether `writer` has written all that the nest reads of `buffer` while `fixed` stand still.
bool has_written(const Program& program, const Block& writer, const Nest& nest, BufferId buffer,
                 const std::vector<LoopId>& fixed) {
  const LoopExtents extents = extents_of(program, nest);
  const std::optional<Tile> tile = tile_of(program, writer, fixed, extents);
  const auto axes = axes_of_store(program, writer, buffer);
  if (!tile || !axes) return false;
  for (const Predicate& predicate : tile->fixed)
    if (!has_predicate(nest.block, predicate.form, predicate.bound)) return false;
  for (const Tile::Clip& clip : tile->clips)
    if (std::find(axes->begin(), axes->end(), clip.axis) == axes->end()) return false;
  bool written = true;
  visit_loads(nest.block, buffer, [&](const ExprNode& load) {
    for (size_t dim = 0; dim < axes->size(); ++dim)
      if (const std::optional<size_t> axis = (*axes)[dim])
        written = written && index_is_written(nest, load.args[dim], *tile, *axis,
                                              program.buffers[buffer].shape[dim], fixed, extents);
  });
  return written;
}

}  // namespace

Nest start_nest(Block block) {
  Nest nest{std::move(block), {}, {}};
  nest.block.predicates.clear();
  nest.block.parent = LoopId{};
  for (Axis& axis : nest.block.axes) axis.binding = affine_constant(0);
  return nest;
}

LoopExtents extents_of(const Program& program, const Nest& nest) {
  return [&program, &nest](LoopId loop) {
    const int32_t ahead = loop.value - program.loops.size();
    return ahead < 0 ? program.loops[loop].extent
                     : nest.loops.at(static_cast<size_t>(ahead)).extent;
  };
}

void bind(const Program& program, Nest& nest, size_t axis, const RegionDim& range, Tail tail) {
  Axis& row = nest.block.axes[axis];
  Affine base = range.base;
  Loop loop;
  loop.extent = range.extent;
  if (base.is_constant()) {
    const int64_t low = std::clamp<int64_t>(base.base, 0, row.extent - 1);
    loop.extent = std::clamp<int64_t>(base.base + range.extent, low + 1, row.extent) - low;
    base = affine_constant(low);
  }
  const LoopId id{program.loops.size() + static_cast<int32_t>(nest.loops.size())};
  row.binding = loop.extent == 1 ? base : add(base, affine_loop(id));
  nest.loops.push_back(std::move(loop));
  nest.names.push_back(fmt::format("{}_{}", row.name, nest.block.name));
  const Interval values = range_of(row.binding, extents_of(program, nest));
  if (values.low >= 0 && values.high < row.extent) return;
  nest.loops.back().tail = tail == Tail::exact ? Tail::predicate : tail;
  nest.block.predicates.push_back({row.binding, row.extent});
}

void bind_whole(const Program& program, Nest& nest, size_t axis) {
  bind(program, nest, axis, {affine_constant(0), nest.block.axes[axis].extent}, Tail::exact);
}

void bind_like(const Program& program, Nest& nest, size_t axis, const Tile& tile, size_t like) {
  bind(program, nest, axis, tile.axes[like], tile.tails[like]);
  for (const Tile::Clip& clip : tile.clips) {
    if (clip.axis != like) continue;
    const Affine offset = add(clip.base, scale(tile.axes[like].base, -1));
    nest.block.predicates.push_back({add(nest.block.axes[axis].binding, offset), clip.bound});
    nest.loops.back().tail = common_tail(nest.loops.back().tail, tile.tails[like]);
  }
}

void build(Program& program, Nest nest, BlockId block, Place place) {
  ENSURE(!nest.loops.empty() || nest.names.empty());
  LoopId parent = place.loop;
  size_t position = place.position;
  for (size_t i = 0; i < nest.loops.size(); ++i) {
    nest.loops[i].name = fresh_loop_name(program, nest.names[i]);
    const LoopId loop = add_loop(program, std::move(nest.loops[i]));
    hone::place(program, Node{loop, {}}, parent, position);
    parent = loop;
    position = 0;
  }
  program.blocks[block] = std::move(nest.block);
  hone::place(program, Node{{}, block}, parent, position);
}

std::optional<Tile> tile_of(const Program& program, const Block& block,
                            const std::vector<LoopId>& fixed, const LoopExtents& extents) {
  return TileProof(program, block, fixed, extents).run();
}

Result<void> check_reads(std::string_view primitive, const Program& program, const Nest& nest,
                         BlockId self, Place place) {
  const std::vector<LoopId> path = path_to(program, place.loop);
  for (const BufferId buffer : reads_of(nest.block)) {
    std::vector<BlockId> writers = writers_of(program, buffer);
    std::erase(writers, self);
    std::vector<LoopId> fixed;
    for (const BlockId id : writers) {
      const Block& writer = program.blocks[id];
      const bool inside = !place.loop.valid() || is_inside(program, Node{{}, id}, place.loop);
      const bool before = inside ? position_in(program, place.loop, id) < place.position
                                 : comes_before(program, Node{{}, id}, Node{place.loop, {}});
      if (!before)
        return fail("{}: block '{}' reads '{}', which block '{}' writes only after that place",
                    primitive, nest.block.name, program.buffers[buffer].name, writer.name);
      fixed = common_path(path, loops_above(program, Node{{}, id}));
      for (const LoopId loop : fixed)
        if (const Axis* axis = reduce_axis_of(writer, loop))
          return fail(
              "{}: block '{}' would read '{}' before it is complete: loop '{}' drives reduce "
              "axis '{}' of block '{}'",
              primitive, nest.block.name, program.buffers[buffer].name, program.loops[loop].name,
              axis->name, writer.name);
    }
    if (!fixed.empty() &&
        !has_written(program, program.blocks[writers.back()], nest, buffer, fixed))
      return fail(
          "{}: block '{}' may read elements of '{}' there that block '{}' does not write in the "
          "same iteration of loop '{}'",
          primitive, nest.block.name, program.buffers[buffer].name,
          program.blocks[writers.back()].name, program.loops[fixed.back()].name);
  }
  return {};
}

Result<void> check_leaves_no_producer(std::string_view primitive, const Program& program,
                                      BlockId block, const std::vector<LoopId>& new_path) {
  const std::vector<LoopId> old_path = loops_above(program, Node{{}, block});
  for (const BufferId buffer : reads_of(program.blocks[block]))
    for (const BlockId writer : writers_of(program, buffer))
      for (const LoopId loop : common_path(old_path, loops_above(program, Node{{}, writer})))
        if (!contains(new_path, loop))
          return fail(
              "{}: block '{}' reads '{}', which block '{}' writes inside loop '{}', and would "
              "leave that loop",
              primitive, program.blocks[block].name, program.buffers[buffer].name,
              program.blocks[writer].name, program.loops[loop].name);
  return {};
}

std::vector<LoopId> path_to(const Program& program, LoopId loop) {
  if (!loop.valid()) return {};
  std::vector<LoopId> path = loops_above(program, Node{loop, {}});
  path.push_back(loop);
  return path;
}

std::vector<LoopId> common_path(const std::vector<LoopId>& a, const std::vector<LoopId>& b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return {a.begin(), end};
}

size_t position_in(const Program& program, LoopId loop, BlockId block) {
  Node node{{}, block};
  while (parent_of(program, node) != loop) node = Node{parent_of(program, node), {}};
  const std::vector<Node>& siblings = siblings_of(program, node);
  const auto at = std::find(siblings.begin(), siblings.end(), node);
  ENSURE(at != siblings.end());
  return static_cast<size_t>(at - siblings.begin());
}

LoopId vectorized_in(const Program& program, const std::vector<LoopId>& path) {
  for (const LoopId loop : path)
    if (program.loops[loop].kind == LoopKind::vectorized) return loop;
  return {};
}

void visit_loads(const Block& block, BufferId buffer,
                 const std::function<void(const ExprNode&)>& visit) {
  const auto visit_node = [&](const ExprNode& node) {
    if (node.op == Op::load && node.id == buffer.value) visit(node);
  };
  for (const std::vector<Store>* stores : {&block.body, &block.init}) {
    for (const Store& store : *stores) {
      for (const Expr& index : store.indices) walk(index, visit_node);
      walk(store.value, visit_node);
    }
  }
}

std::optional<size_t> plain_axis(const Expr& index) {
  if (index->op != Op::axis) return std::nullopt;
  return static_cast<size_t>(index->id);
}

Tail common_tail(Tail a, Tail b) {
  if (a == b || b == Tail::exact) return a;
  return a == Tail::exact ? b : Tail::predicate;
}

}  // namespace hone
