// SPDX-License-Identifier: Apache-2.0
//
// split, fuse, reorder, unit loop. Only loops and bindings change; a block's body never does.
//
//   split i [3, 4] tail=peel                    fuse i j
//     for i in 10                                 for i in 3, j in 4
//       block b  spatial v=i                        block b  spatial v=i w=j
//   -->                                         -->
//     for i_0 in 3, i_1 in 4 peel                 for i_j in 12
//       block b  spatial v=i_0*4+i_1                block b  spatial v=i_j/4 w=i_j%4
//         where i_0*4+i_1 < 10
//
//   reorder j i                                 unit_loop b
//     for i in 3, j in 4                          block b
//       block b  spatial v=i w=j                -->
//   -->                                           for u in 1
//     for j in 4, i in 3                            block b
//       block b  spatial v=i w=j
//
// What reorder must keep. A reduction may take its terms in any order, but (1) the instance whose
// reduce axes are all 0 runs `init` and has to be the first of its element, and (2) no term may be
// added twice after one init. Both hold when below the outermost reduce loop each iteration is an
// instance of its own (no overlapping or repeated elements), and when loops that drive spatial and
// reduce axes at once keep their order. Iterations of several blocks may be exchanged when none
// reads what another iteration wrote.
#include <algorithm>

#include "ir/text.h"
#include "schedule/legality.h"
#include "schedule/nest.h"
#include "schedule/primitives.h"

namespace hone {
namespace {

// Products of factors stay far below what i64 index arithmetic can hold.
constexpr int64_t kLargestExtent = int64_t{1} << 40;

// The value of a loop variable: 0 where the loop runs once, so that such loops never show in
// bindings.
Affine value_of(const Program& program, LoopId loop) {
  return program.loops[loop].extent == 1 ? affine_constant(0) : affine_loop(loop);
}

Result<void> check_serial(const Program& program, LoopId loop, std::string_view what) {
  const Loop& row = program.loops[loop];
  if (row.kind == LoopKind::serial) return {};
  return fail("loop {} is {}: {} comes before a loop is given its kind", row.name,
              to_string(row.kind), what);
}

Result<std::vector<int64_t>> complete_factors(const Loop& loop, std::span<const int64_t> factors,
                                              Tail tail) {
  if (factors.size() < 2) return fail("split of loop {} needs at least two factors", loop.name);
  std::vector<int64_t> result(factors.begin(), factors.end());
  int64_t inner = 1;
  for (size_t i = 1; i < result.size(); ++i) {
    if (result[i] < 1)
      return fail("split of loop {}: factor {} is {}, only the first may be 0", loop.name, i,
                  result[i]);
    if (result[i] > kLargestExtent / inner)
      return fail("split of loop {}: the product of the factors is too large", loop.name);
    inner *= result[i];
  }
  if (result[0] < 0) return fail("split of loop {}: factor 0 is {}", loop.name, result[0]);
  if (result[0] == 0) result[0] = (loop.extent + inner - 1) / inner;
  if (result[0] > kLargestExtent / inner)
    return fail("split of loop {}: the product of the factors is too large", loop.name);
  const int64_t product = result[0] * inner;
  if (product < loop.extent)
    return fail("split of loop {}: the factors' product {} does not reach the extent {}", loop.name,
                product, loop.extent);
  if (tail == Tail::exact && product != loop.extent)
    return fail("split of loop {} with tail=exact: the factors' product {} is not the extent {}",
                loop.name, product, loop.extent);
  return result;
}

bool loads(const Block& block, BufferId buffer) {
  bool found = false;
  for (const Store& store : block.body)
    walk(store.value, [&](const ExprNode& node) {
      found = found || (node.op == Op::load && node.id == buffer.value);
    });
  return found;
}

// The last tile moves back and computes some elements twice: each must come out the same again.
Result<void> check_shift(const Program& program, LoopId loop) {
  for (const BlockId id : blocks_below(program, Node{loop, {}})) {
    const Block& block = program.blocks[id];
    if (const Axis* axis = reduce_axis_of(block, loop))
      return fail(
          "split of loop {} with tail=shift: it drives reduce axis {} of block {}, whose terms "
          "would be added twice",
          program.loops[loop].name, axis->name, block.name);
    for (const BufferId buffer : writes_of(block))
      if (block.init.empty() && loads(block, buffer))
        return fail(
            "split of loop {} with tail=shift: block {} updates what {} holds, and would do so "
            "twice",
            program.loops[loop].name, block.name, program.buffers[buffer].name);
  }
  return {};
}

void set_parent(Program& program, Node node, LoopId parent) {
  (node.loop.valid() ? program.loops[node.loop].parent : program.blocks[node.block].parent) =
      parent;
}

void move_body(Program& program, LoopId from, LoopId to) {
  program.loops[to].body = std::move(program.loops[from].body);
  program.loops[from].body.clear();
  for (const Node& child : program.loops[to].body) set_parent(program, child, to);
}

void put_in_place_of(Program& program, LoopId old, LoopId replacement) {
  std::vector<Node>& siblings = siblings_of(program, Node{old, {}});
  std::replace(siblings.begin(), siblings.end(), Node{old, {}}, Node{replacement, {}});
  program.loops[replacement].parent = program.loops[old].parent;
  program.loops[old].parent = LoopId{};
  program.loops[old].alive = false;
}

// -- reorder
// ------------------------------------------------------------------------------------------

// The path from the outermost to the innermost of `loops`; Error if they do not lie on one, or if
// anything else stands on it.
Result<std::vector<LoopId>> path_through(const Program& program, std::span<const LoopId> loops) {
  std::vector<LoopId> path;
  LoopId innermost = loops[0];
  for (const LoopId loop : loops)
    if (is_inside(program, Node{loop, {}}, innermost)) innermost = loop;
  size_t found = 0;
  for (LoopId at = innermost; at.valid(); at = program.loops[at].parent) {
    path.push_back(at);
    found += std::find(loops.begin(), loops.end(), at) != loops.end() ? 1 : 0;
    if (found == loops.size()) break;
  }
  if (found != loops.size()) {
    for (const LoopId loop : loops)
      if (std::find(path.begin(), path.end(), loop) == path.end())
        return fail("loops {} and {} do not lie on one path", program.loops[loop].name,
                    program.loops[innermost].name);
  }
  std::reverse(path.begin(), path.end());
  for (size_t i = 0; i + 1 < path.size(); ++i)
    if (program.loops[path[i]].body.size() != 1)
      return fail(
          "loop {} holds more than loop {}: loops are exchanged only where nothing stands "
          "between them",
          program.loops[path[i]].name, program.loops[path[i + 1]].name);
  return path;
}

bool in(const std::vector<LoopId>& loops, LoopId loop) {
  return std::find(loops.begin(), loops.end(), loop) != loops.end();
}

// What the loops around a reduction drive.
struct Roles {
  explicit Roles(const Block& block)
      : reduce(loops_of_axes(block, AxisKind::reduce)),
        spatial(loops_of_axes(block, AxisKind::spatial)) {}
  bool is_mixed(LoopId loop) const { return in(reduce, loop) && in(spatial, loop); }

  std::vector<LoopId> reduce;
  std::vector<LoopId> spatial;
};

// Whether the value of the loop is the same for all terms of an element: then it may stand
// anywhere.
bool said_by_element(const Program& program, const Block& block, std::span<const LoopId> loops,
                     LoopId loop) {
  std::vector<Affine> element;
  for (const Axis& axis : block.axes)
    if (axis.kind == AxisKind::spatial) element.push_back(axis.binding);
  return determines(program, element, loops, std::span(&loop, 1));
}

// For two loops that change places.
Result<void> check_exchange(const Program& program, const Block& block, const Roles& roles,
                            std::span<const LoopId> loops, LoopId a, LoopId b) {
  for (const auto& [mixed, other] : {std::pair(a, b), std::pair(b, a)}) {
    if (!roles.is_mixed(mixed)) continue;
    if (!in(roles.reduce, other) && said_by_element(program, block, loops, other)) continue;
    return fail(
        "loops {} and {} cannot change places: {} drives both spatial and reduce axes of block {}, "
        "whose init would no longer come first",
        program.loops[a].name, program.loops[b].name, program.loops[mixed].name, block.name);
  }
  if (in(roles.reduce, a) && in(roles.reduce, b) && !is_order_free(block))
    return fail(
        "loops {} and {} cannot change places: the update of block {} is not known to allow its "
        "terms in any order",
        program.loops[a].name, program.loops[b].name, block.name);
  return {};
}

Result<void> check_reduction_order(const Program& program, const Block& block, const Roles& roles,
                                   std::span<const LoopId> before, std::span<const LoopId> after) {
  for (size_t i = 0; i < after.size(); ++i) {
    for (size_t j = i + 1; j < after.size(); ++j) {
      const auto first = std::find(before.begin(), before.end(), after[i]);
      if (first < std::find(before.begin(), before.end(), after[j])) continue;
      TRYV(check_exchange(program, block, roles, after, after[j], after[i]));
    }
  }
  return {};
}

// Below the outermost reduce loop every iteration has to be an instance of its own; checked if a
// loop came below it that was above it.
Result<void> check_instances_apart(const Program& program, const Block& block, const Roles& roles,
                                   std::span<const LoopId> before, std::span<const LoopId> after) {
  const auto below_reduce = [&](std::span<const LoopId> loops) {
    const auto outermost = std::find_if(loops.begin(), loops.end(),
                                        [&](LoopId loop) { return in(roles.reduce, loop); });
    return std::vector<LoopId>(outermost, loops.end());
  };
  const std::vector<LoopId> old_inner = below_reduce(before);
  const std::vector<LoopId> inner = below_reduce(after);
  std::vector<LoopId> came = inner;
  std::erase_if(came, [&](LoopId loop) { return in(old_inner, loop); });
  if (came.empty()) return {};
  std::vector<Affine> forms;
  for (const Axis& axis : block.axes) forms.push_back(axis.binding);
  if (determines(program, forms, inner, came)) return {};
  for (const LoopId loop : came)
    if (!determines(program, forms, inner, std::span(&loop, 1)))
      return fail(
          "loop {} cannot move below a reduce loop of block {}: it computes elements again that "
          "other iterations compute",
          program.loops[loop].name, block.name);
  return {};
}

Result<void> check_order(const Program& program, const std::vector<LoopId>& path,
                         const std::vector<LoopId>& new_path) {
  for (const BlockId id : blocks_below(program, Node{path.back(), {}})) {
    const Block& block = program.blocks[id];
    if (!block.is_reduction()) continue;
    std::vector<LoopId> before = loops_above(program, Node{{}, id});
    std::vector<LoopId> after = before;
    const auto at = std::find(after.begin(), after.end(), path[0]);
    std::copy(new_path.begin(), new_path.end(), at);
    const Roles roles(block);
    TRYV(check_reduction_order(program, block, roles, before, after));
    if (!block.init.empty()) TRYV(check_instances_apart(program, block, roles, before, after));
  }
  std::vector<LoopId> fixed = loops_above(program, Node{path.back(), {}});
  fixed.push_back(path.back());
  return check_iterations_apart(program, path.back(), fixed);
}

}  // namespace

// Where the factors divide, the tail is exact whatever was asked for. An inner part of an earlier
// split stays one: its parts keep that split's tail where their own split adds none.
Result<std::vector<LoopId>> split(Program& program, LoopId loop, std::span<const int64_t> factors,
                                  Tail tail) {
  TRYV(check_alive(program, loop));
  TRYV(check_serial(program, loop, "split"));
  const std::vector<int64_t> parts = TRY(complete_factors(program.loops[loop], factors, tail));
  int64_t product = 1;
  for (const int64_t part : parts) product *= part;
  const bool divides = product == program.loops[loop].extent;
  if (tail == Tail::shift && !divides) TRYV(check_shift(program, loop));

  const Loop old = program.loops[loop];
  std::vector<LoopId> loops;
  Affine value = affine_constant(0);
  for (size_t i = 0; i < parts.size(); ++i) {
    Loop part;
    part.name = fresh_loop_name(program, fmt::format("{}_{}", old.name, i));
    part.extent = parts[i];
    part.tail = i == 0 || divides ? old.tail : tail;
    if (i == 0) part.annotations = old.annotations;
    loops.push_back(add_loop(program, std::move(part)));
    value = add(scale(value, parts[i]), value_of(program, loops.back()));
  }
  put_in_place_of(program, loop, loops[0]);
  for (size_t i = 1; i < loops.size(); ++i) place(program, Node{loops[i], {}}, loops[i - 1], 0);
  move_body(program, loop, loops.back());

  const Node root{loops[0], {}};
  substitute_loop(program, root, loop, value);
  if (!divides)
    for (const BlockId block : blocks_below(program, root))
      program.blocks[block].predicates.push_back(Predicate{value, old.extent});
  return loops;
}

Result<LoopId> fuse(Program& program, std::span<const LoopId> loops) {
  if (loops.size() < 2) return fail("fuse needs at least two loops");
  Loop fused;
  for (size_t i = 0; i < loops.size(); ++i) {
    TRYV(check_alive(program, loops[i]));
    TRYV(check_serial(program, loops[i], "fuse"));
    const Loop& loop = program.loops[loops[i]];
    if (i > 0 && loop.parent != loops[i - 1])
      return fail(
          "loop {} does not stand directly in loop {}: fuse takes loops from the outside to "
          "the inside",
          loop.name, program.loops[loops[i - 1]].name);
    if (i + 1 < loops.size() && loop.body.size() != 1)
      return fail("loop {} holds more than the next loop to fuse", loop.name);
    if (loop.extent > kLargestExtent / fused.extent)
      return fail("the product of the extents of the loops to fuse is too large");
    fused.extent *= loop.extent;
    fused.name += (i == 0 ? "" : "_") + loop.name;
    fused.tail = common_tail(fused.tail, loop.tail);
    fused.annotations.insert(fused.annotations.end(), loop.annotations.begin(),
                             loop.annotations.end());
  }
  fused.name = fresh_loop_name(program, fused.name);
  const LoopId result = add_loop(program, std::move(fused));
  put_in_place_of(program, loops[0], result);
  move_body(program, loops.back(), result);

  int64_t inner = 1;  // extent of what lies inside the loop at hand
  for (size_t i = loops.size(); i-- > 0;) {
    const int64_t extent = program.loops[loops[i]].extent;
    Affine value = quotient(value_of(program, result), inner, program.extents());
    if (i > 0) value = remainder(value, extent, program.extents());
    substitute_loop(program, Node{result, {}}, loops[i], value);
    inner *= extent;
    if (i > 0) {
      program.loops[loops[i]].alive = false;
      program.loops[loops[i]].parent = LoopId{};
      program.loops[loops[i - 1]].body.clear();
    }
  }
  return result;
}

Result<void> reorder(Program& program, std::span<const LoopId> loops) {
  if (loops.size() < 2) return fail("reorder needs at least two loops");
  for (size_t i = 0; i < loops.size(); ++i) {
    TRYV(check_alive(program, loops[i]));
    if (std::find(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(i), loops[i]) !=
        loops.begin() + static_cast<std::ptrdiff_t>(i))
      return fail("loop {} is named twice in reorder", program.loops[loops[i]].name);
  }
  const std::vector<LoopId> path = TRY(path_through(program, loops));
  for (const LoopId loop : path) TRYV(check_serial(program, loop, "reorder"));
  std::vector<LoopId> new_path = path;
  size_t next = 0;
  for (LoopId& loop : new_path)
    if (std::find(loops.begin(), loops.end(), loop) != loops.end()) loop = loops[next++];
  if (new_path == path) return {};
  TRYV(check_order(program, path, new_path));

  const LoopId parent = program.loops[path[0]].parent;
  std::vector<Node>& siblings = siblings_of(program, Node{path[0], {}});
  std::replace(siblings.begin(), siblings.end(), Node{path[0], {}}, Node{new_path[0], {}});
  std::vector<Node> body = std::move(program.loops[path.back()].body);
  for (size_t i = 0; i < new_path.size(); ++i) {
    Loop& loop = program.loops[new_path[i]];
    loop.parent = i == 0 ? parent : new_path[i - 1];
    loop.body = i + 1 < new_path.size() ? std::vector{Node{new_path[i + 1], {}}} : body;
  }
  for (const Node& child : body) set_parent(program, child, new_path.back());
  return {};
}

Result<LoopId> add_unit_loop(Program& program, Node above) {
  if (above.loop.valid()) TRYV(check_alive(program, above.loop));
  Loop unit;
  unit.name = fresh_loop_name(program, "u");
  unit.parent = parent_of(program, above);
  unit.body = {above};
  const LoopId result = add_loop(program, std::move(unit));
  std::vector<Node>& siblings = siblings_of(program, above);
  std::replace(siblings.begin(), siblings.end(), above, Node{result, {}});
  set_parent(program, above, result);
  return result;
}

}  // namespace hone
