// SPDX-License-Identifier: Apache-2.0
//
// Tails. Take the predicate i0*56 + i1*14 + i2 < 512, with i2 unrolled. Inside i1, the part i0*56 +
// i1*14 is known and i2 runs over 0…13, so a tile is
//   full       if part ≤ 512 - 14,
//   cut        else; and since the part is a multiple of 14, the cut tile is the one at 504, where
//   i2
//              stops at 8, a constant.
// peel writes both versions under one test at that point, which lies outside every loop below;
// shift lets the part be at most 498, so that all tiles are full and the last overlaps its
// neighbour.
#include <algorithm>
#include <numeric>

#include "base/hash.h"
#include "lower/emitter.h"

namespace hone {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return fold_int(Op::div, DType::i64, a, b); }

bool is_written_out(LoopKind kind) {
  return kind == LoopKind::unrolled || kind == LoopKind::vectorized;
}

uint64_t hash_of_predicate(const Predicate& predicate) {
  return hash_combine(hash_of(predicate.form), static_cast<uint64_t>(predicate.bound));
}

// The plain term of `loop` in a form, if that is the only place where it stands.
std::optional<int64_t> plain_scale(const Affine& form, LoopId loop, Affine& rest) {
  rest = form;
  std::optional<int64_t> scale;
  for (size_t i = 0; i < rest.terms.size(); ++i) {
    const AffineTerm& term = rest.terms[i];
    if (term.loop != loop || term.div != 1 || term.mod != 0) continue;
    scale = term.scale;
    rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  if (!scale || uses(rest, loop)) return std::nullopt;
  return scale;
}

bool reads_own_output(const Block& block) {
  bool found = false;
  for (const Store& store : block.body)
    walk(store.value, [&](const ExprNode& node) {
      found = found || (node.op == Op::load && node.id == store.buffer.value);
    });
  return found;
}

// A block of the same list clears what `adds` adds to.
bool is_cleared(const Program& program, const std::vector<Node>& list, const Block& adds) {
  for (const Node& node : list) {
    for (const BlockId id : blocks_below(program, node)) {
      const Block& row = program.blocks[id];
      if (&row == &adds || reads_own_output(row)) continue;
      for (const BufferId buffer : writes_of(row))
        if (buffer == adds.body[0].buffer) return true;
    }
  }
  return false;
}

// Whether a form takes every value from its lowest to its highest.
bool is_gapless(const Affine& form, const LoopExtents& extents) {
  std::vector<std::pair<int64_t, int64_t>> digits;  // scale, largest value
  for (const AffineTerm& term : form.terms) {
    const Interval range =
        range_of(Affine{{AffineTerm{term.loop, term.inner, term.div, term.mod, 1}}, 0}, extents);
    digits.emplace_back(term.scale, range.high - range.low);
  }
  std::sort(digits.begin(), digits.end());
  int64_t reach = 1;
  for (const auto& [scale, high] : digits) {
    if (scale < 0 || scale > reach) return false;
    reach += scale * high;
  }
  return true;
}

}  // namespace

// Whether another predicate, of any block of the list, takes iterations out of the tile itself.
bool Emitter::is_cut_again(const std::vector<Node>& list, const Predicate& predicate,
                           const Affine& tile) const {
  std::vector<LoopId> loops;
  collect_loops(tile, loops);
  for (const Node& node : list)
    for (const BlockId id : blocks_in(node))
      for (const Predicate& other : program_.blocks[id].predicates) {
        if (equal(other.form, predicate.form)) continue;
        for (const LoopId loop : loops)
          if (uses(other.form, loop)) return true;
      }
  return false;
}

// Whether tiles that end at the bound of this predicate reach all that the blocks of the list
// write: one may go on further than another.
bool Emitter::shift_reaches(const std::vector<Node>& list, const LoopEnvironment& env,
                            const Cut& cut) const {
  const int64_t full = cut.predicate.bound - 1 - cut.rest.high;
  for (const Node& node : list) {
    for (const BlockId id : blocks_in(node)) {
      const Block& row = program_.blocks[id];
      for (const Axis& axis : row.axes) {
        Affine rest;
        const auto times = multiple_of(axis.binding, cut.part, rest);
        if (!times || *times < 0) continue;
        int64_t wanted = std::min(axis.extent - 1, env.range(axis.binding).high);
        for (const Predicate& predicate : row.predicates)
          if (equal(predicate.form, axis.binding)) wanted = std::min(wanted, predicate.bound - 1);
        if (*times * full + env.range(rest).high < wanted) return false;
      }
    }
  }
  return true;
}

std::optional<Cut> Emitter::find_cut(const std::vector<Node>& list,
                                     const LoopEnvironment& env) const {
  std::optional<Cut> second_best;
  for (const Node& node : list) {
    for (const BlockId id : blocks_in(node)) {
      for (const Predicate& predicate : program_.blocks[id].predicates) {
        const Resolved resolved = env.resolve(predicate.form);
        if (resolved.range.low >= 0 && resolved.range.high < predicate.bound) continue;
        if (resolved.terms.empty() || given_up_.contains(hash_of_predicate(predicate))) continue;
        Cut cut;
        cut.predicate = predicate;
        Affine rest;
        env.split(predicate.form, cut.part, rest);
        if (cut.part.terms.empty()) continue;
        std::vector<LoopId> loops;
        collect_loops(rest, loops);
        bool has_unbound = false;
        bool all_written_out = true;
        bool all_vectors = true;
        cut.tail = Tail::exact;
        for (const LoopId loop : loops) {
          if (env.binding(loop).kind != Binding::Kind::unbound) continue;
          if (program_.loops[loop].extent == 1) continue;
          has_unbound = true;
          const LoopKind kind = program_.loops[loop].kind;
          all_written_out = all_written_out && is_written_out(kind);
          all_vectors = all_vectors && kind == LoopKind::vectorized;
          if (cut.tail == Tail::exact) cut.tail = program_.loops[loop].tail;
          cut.loop = loop;
        }
        if (!has_unbound || !all_written_out) continue;
        if (cut.tail == Tail::exact) cut.tail = Tail::peel;
        if (cut.tail == Tail::predicate && target_.masks && all_vectors) continue;
        if (cut.tail == Tail::predicate) cut.tail = Tail::peel;
        // Only a tile without gaps covers, moved back, what it covered before.
        if (cut.tail == Tail::shift &&
            (!is_gapless(rest, program_.extents()) || is_cut_again(list, predicate, rest)))
          cut.tail = Tail::peel;
        cut.rest = env.range(rest);
        if (env.is_settled(cut.part, predicate.bound - 1 - cut.rest.high)) continue;
        if (env.range(cut.part).low + cut.rest.low < 0) continue;
        if (cut.tail == Tail::shift && !shift_reaches(list, env, cut)) {
          cut.tail = Tail::peel;
          if (!second_best) second_best = cut;
          continue;
        }
        return cut;
      }
    }
  }
  return second_best;
}

Result<void> Emitter::version(const std::vector<Node>& list, const LoopEnvironment& env,
                              const Cut& cut, KernelBody& out) {
  const int64_t full = cut.predicate.bound - 1 - cut.rest.high;  // largest part of a full tile
  const int64_t last = cut.predicate.bound - 1 - cut.rest.low;   // largest part of any tile
  const Interval part = env.range(cut.part);
  if (cut.tail == Tail::shift && part.low <= full) return shifted(list, env, cut, out);

  int64_t unit = 0;
  for (const AffineTerm& term : cut.part.terms) unit = std::gcd(unit, term.scale);
  const int64_t cut_at = floor_div(full, unit) * unit + unit;  // first multiple beyond full tiles
  const bool one_cut = cut_at <= last && cut_at + unit > last;
  const Expr value = LoopEnvironment::scalar(env.resolve(cut.part));

  KernelIf test;
  const auto saved = tiles_;
  forget_loads();
  if (part.low <= full) {
    LoopEnvironment inner = env;
    inner.add_fact({cut.part, false, {}, INT64_MIN, full});
    TRYV(nodes(list, inner, test.then_body));
    tiles_ = saved;
  }
  forget_loads();
  KernelBody rest;
  if (cut_at <= last) {
    LoopEnvironment inner = env;
    const uint64_t key = hash_of_predicate(cut.predicate);
    bool fresh = false;
    if (one_cut) {
      inner.add_fact({cut.part, true, {}, cut_at, cut_at});
    } else {
      fresh = given_up_.insert(key).second;
    }
    TRYV(nodes(list, inner, rest));
    if (fresh) given_up_.erase(key);
    tiles_ = saved;
  }
  forget_loads();
  if (one_cut && part.high > cut_at &&
      !rest.empty()) {  // tiles that hold nothing may come behind it
    KernelIf exact;
    exact.condition = binary(Op::eq, value, index_constant(cut_at));
    exact.then_body = std::move(rest);
    rest.clear();
    rest.push_back({std::move(exact)});
  }
  if (part.low > full) {
    for (KernelStmt& stmt : rest) out.push_back(std::move(stmt));
    return {};
  }
  test.condition = binary(Op::le, value, index_constant(full));
  test.else_body = std::move(rest);
  out.push_back({std::move(test)});
  return {};
}

Result<void> Emitter::check_shift(const std::vector<Node>& list, const LoopEnvironment& env,
                                  const Cut& cut) const {
  std::vector<LoopId> part_loops;
  collect_loops(cut.part, part_loops);
  const std::string& loop_name = program_.loops[cut.loop].name;
  const auto uses_part = [&](const Affine& form) {
    return std::any_of(part_loops.begin(), part_loops.end(),
                       [&](LoopId loop) { return uses(form, loop); });
  };
  for (const Node& node : list) {
    for (const BlockId id : blocks_in(node)) {
      const Block& row = program_.blocks[id];
      bool writes_cut_tile = false;
      for (const Axis& axis : row.axes) {
        if (!uses_part(axis.binding)) continue;
        writes_cut_tile = true;
        Affine rest;
        if (!multiple_of(axis.binding, cut.part, rest))
          return fail(
              "shift tail of loop '{}': block '{}' uses the tile in another way for axis '{}'",
              loop_name, row.name, axis.name);
      }
      if (!writes_cut_tile) continue;
      for (const Predicate& predicate : row.predicates) {
        Affine rest;
        if (!uses_part(predicate.form) || multiple_of(predicate.form, cut.part, rest)) continue;
        if (env.has_unbound(predicate.form))
          return fail("shift tail of loop '{}': block '{}' tests the tile in another way",
                      loop_name, row.name);
      }
      const bool accumulates = row.is_reduction() || reads_own_output(row);
      for (const Axis& axis : row.axes) {
        if (axis.kind != AxisKind::reduce) continue;
        std::vector<LoopId> loops;
        collect_loops(axis.binding, loops);
        for (const LoopId loop : loops)
          if (env.binding(loop).kind == Binding::Kind::variable)
            return fail(
                "shift tail of loop '{}': block '{}' reduces over loop '{}' outside of it, so "
                "a tile that is computed twice would be added twice",
                loop_name, row.name, program_.loops[loop].name);
      }
      if (accumulates && row.init.empty() && !is_cleared(program_, list, row))
        return fail(
            "shift tail of loop '{}': block '{}' adds to a tile that is not cleared inside it",
            loop_name, row.name);
    }
  }
  return {};
}

Result<void> Emitter::shifted(const std::vector<Node>& list, LoopEnvironment env, const Cut& cut,
                              KernelBody& out) {
  TRYV(check_shift(list, env, cut));
  const int64_t full = cut.predicate.bound - 1 - cut.rest.high;
  const Interval part = env.range(cut.part);
  const VarId base = kernel_.vars.add(program_.loops[cut.loop].name + "_base");
  out.push_back({KernelLet{base, binary(Op::min, LoopEnvironment::scalar(env.resolve(cut.part)),
                                        index_constant(full))}});
  env.add_fact({cut.part, true, base, part.low, full});
  return nodes(list, env, out);
}

// Iterations beyond the limit do nothing for any block below.
Emitter::Limit Emitter::limit_of(LoopId id, const LoopEnvironment& env) const {
  const int64_t extent = program_.loops[id].extent;
  std::optional<Limit> common;
  for (const BlockId block_id : blocks_in(Node{id, {}})) {
    Limit own{extent, nullptr};
    for (const Predicate& predicate : program_.blocks[block_id].predicates) {
      Affine rest;
      const auto scale = plain_scale(predicate.form, id, rest);
      if (!scale || *scale <= 0) continue;
      const Resolved outer = env.resolve(rest);
      const int64_t slack = predicate.bound - 1;
      if (outer.range.high + *scale * (extent - 1) <= slack) continue;
      if (outer.terms.empty()) {
        own.constant = std::min(own.constant, floor_div(slack - outer.range.low, *scale) + 1);
        continue;
      }
      // A tile that was cut as a whole, or masks, need no limit inside unrolled and vectorised
      // loops.
      Affine bound;
      Affine free;
      env.split(rest, bound, free);
      const Interval least = env.range(free);
      Expr room = binary(Op::sub, index_constant(slack - least.low),
                         LoopEnvironment::scalar(env.resolve(bound)));
      Expr limit =
          binary(Op::add, binary(Op::div, room, index_constant(*scale)), index_constant(1));
      own.dynamic = own.dynamic ? binary(Op::min, own.dynamic, limit) : limit;
    }
    if (!common) {
      common = own;
      continue;
    }
    common->constant = std::max(common->constant, own.constant);
    const bool same = common->dynamic && own.dynamic && equal(common->dynamic, own.dynamic);
    if (!same) common->dynamic = nullptr;
  }
  if (!common) return {extent, nullptr};
  common->constant = std::max<int64_t>(0, common->constant);
  return *common;
}

// How many iterations, from the first on, are full for every predicate that a written-out loop
// below cuts; nullopt where none is cut by this loop alone.
std::optional<int64_t> Emitter::full_iterations(LoopId id, const LoopEnvironment& env,
                                                int64_t limit) const {
  std::optional<int64_t> full;
  for (const BlockId block_id : blocks_in(Node{id, {}})) {
    for (const Predicate& predicate : program_.blocks[block_id].predicates) {
      Affine rest;
      const auto scale = plain_scale(predicate.form, id, rest);
      if (!scale || *scale <= 0) continue;
      const Resolved outer = env.resolve(rest);
      if (!outer.terms.empty()) continue;
      std::vector<LoopId> loops;
      collect_loops(rest, loops);
      bool cuts = false;
      bool plain = true;
      Tail tail = Tail::exact;
      for (const LoopId loop : loops) {
        if (env.binding(loop).kind != Binding::Kind::unbound || program_.loops[loop].extent == 1)
          continue;
        cuts = true;
        plain = plain && is_written_out(program_.loops[loop].kind);
        if (tail == Tail::exact) tail = program_.loops[loop].tail;
      }
      if (!cuts || !plain || tail == Tail::shift) continue;
      if (tail == Tail::predicate && target_.masks) continue;
      const int64_t count = std::clamp<int64_t>(
          floor_div(predicate.bound - 1 - outer.range.high, *scale) + 1, 0, limit);
      if (count < limit) full = full ? std::min(*full, count) : count;
    }
  }
  return full;
}

}  // namespace hone
