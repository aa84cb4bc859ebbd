// SPDX-License-Identifier: Apache-2.0
#include "ir/verify.h"

#include <algorithm>
#include <set>

#include "ir/index_range.h"
#include "ir/text.h"

namespace hone {
namespace {

// -- structure
// -------------------------------------------------------------------------------------

class Structure {
 public:
  explicit Structure(const Program& program) : program_(program) {}

  Result<void> check() {
    if (!is_name(program_.name)) return fail("'{}' is no name for a program", program_.name);
    TRYV(check_buffers());
    TRYV(check_body(program_.body, LoopId{}));
    TRYV(check_all_reached(program_.loops, loops_, "loop"));
    return check_all_reached(program_.blocks, blocks_, "block");
  }

 private:
  Result<void> check_buffers() {
    std::set<std::string> names;
    for (const Buffer& buffer : program_.buffers) {
      TRYV(check_name("buffer", buffer.name, names));
      double elements = 1;
      for (const int64_t extent : buffer.shape) {
        if (extent < 1) return fail("buffer {} has a dimension of {}", buffer.name, extent);
        elements *= static_cast<double>(extent);
      }
      if (elements > 0x1p40) return fail("buffer {} is too large", buffer.name);
      if (buffer.scope != Scope::workspace && buffer.kind != BufferKind::temp)
        return fail("buffer {} is an {} and cannot live in scope {}: only temps can", buffer.name,
                    to_string(buffer.kind), to_string(buffer.scope));
    }
    return {};
  }

  Result<void> check_name(std::string_view what, const std::string& name,
                          std::set<std::string>& names) {
    if (!is_name(name)) return fail("'{}' is no name for a {}", name, what);
    if (!names.insert(name).second) return fail("two {}s are called {}", what, name);
    return {};
  }

  Result<void> check_body(const std::vector<Node>& body, LoopId parent) {
    const std::string place =
        parent.valid() ? "loop " + program_.loops[parent].name : std::string("the program");
    for (const Node& node : body) {
      const bool is_loop = program_.loops.contains(node.loop) && !node.block.valid();
      const bool is_block = program_.blocks.contains(node.block) && !node.loop.valid();
      if (!is_loop && !is_block)
        return fail("{} holds a node that is neither a loop nor a block (loop {}, block {})", place,
                    node.loop.value, node.block.value);
      TRYV(is_loop ? check_loop(node.loop, parent, place) : check_block(node.block, parent, place));
    }
    return {};
  }

  Result<void> check_loop(LoopId id, LoopId parent, const std::string& place) {
    const Loop& loop = program_.loops[id];
    if (!loop.alive) return fail("{} holds loop {}, which is dead", place, loop.name);
    if (!loops_.insert(id.value).second) return fail("loop {} stands in two places", loop.name);
    if (loop.parent != parent) return fail("loop {} in {} has another parent", loop.name, place);
    TRYV(check_name("loop", loop.name, loop_names_));
    if (loop.extent < 1) return fail("loop {} has an extent of {}", loop.name, loop.extent);
    if (loop.body.empty()) return fail("loop {} holds nothing", loop.name);
    if (loop.kind == LoopKind::parallel)
      for (const LoopId above : loops_above(program_, Node{id, {}}))
        if (program_.loops[above].kind == LoopKind::parallel)
          return fail("parallel loop {} lies in parallel loop {}", loop.name,
                      program_.loops[above].name);
    return check_body(loop.body, id);
  }

  Result<void> check_block(BlockId id, LoopId parent, const std::string& place) {
    const Block& block = program_.blocks[id];
    if (!block.alive) return fail("{} holds block {}, which is dead", place, block.name);
    if (!blocks_.insert(id.value).second) return fail("block {} stands in two places", block.name);
    if (block.parent != parent) return fail("block {} in {} has another parent", block.name, place);
    return check_name("block", block.name, block_names_);
  }

  template <typename Table>
  Result<void> check_all_reached(const Table& table, const std::set<int32_t>& reached,
                                 std::string_view what) {
    for (int32_t id = 0; id < table.size(); ++id) {
      const auto& row = table.begin()[id];
      if (row.alive && !reached.contains(id))
        return fail("{} {} is alive but stands nowhere", what, row.name);
    }
    return {};
  }

  const Program& program_;
  std::set<int32_t> loops_, blocks_;
  std::set<std::string> loop_names_, block_names_;
};

// -- bindings
// --------------------------------------------------------------------------------------

// Where every axis of one block is when its predicates hold.
class Bindings {
 public:
  Bindings(const Program& program, const Block& block)
      : program_(program), block_(block), above_(loops_of(program, block)) {}

  Result<void> check() {
    std::set<std::string> names;
    for (const Axis& axis : block_.axes) {
      if (!is_name(axis.name)) return fail("'{}' is no name for an axis", axis.name);
      if (!names.insert(axis.name).second) return fail("two axes are called {}", axis.name);
      if (axis.extent < 1) return fail("axis {} has an extent of {}", axis.name, axis.extent);
      TRYV(check_form(axis.binding, fmt::format("the binding of axis {}", axis.name)));
    }
    for (const Predicate& predicate : block_.predicates) {
      TRYV(check_form(predicate.form, "a predicate"));
      if (predicate.bound < 1)
        return fail("predicate {} < {} never holds", print_form(program_, predicate.form),
                    predicate.bound);
    }
    for (const Axis& axis : block_.axes) {
      TRYV(check_domain(axis));
      TRYV(check_reduce(axis));
    }
    return {};
  }

 private:
  static std::vector<LoopId> loops_of(const Program& program, const Block& block) {
    std::vector<LoopId> loops;
    for (LoopId loop = block.parent; loop.valid(); loop = program.loops[loop].parent)
      loops.push_back(loop);
    return loops;
  }

  Result<void> check_form(const Affine& form, const std::string& what) {
    for (const AffineTerm& term : form.terms) {
      if (term.div < 1 || term.mod < 0 || term.mod == 1 || term.scale == 0)
        return fail("{} has a term that is not canonical: {}", what, print_form(program_, form));
      if (term.inner) {
        TRYV(check_form(*term.inner, what));
      } else if (std::find(above_.begin(), above_.end(), term.loop) == above_.end()) {
        const bool known = program_.loops.contains(term.loop);
        return fail("{} uses loop {}, which is not around the block", what,
                    known ? program_.loops[term.loop].name : fmt::format("?{}", term.loop.value));
      }
    }
    return {};
  }

  // A parallel loop would add to one element from several workers. (Lanes of a vectorized one add
  // up apart, lowering sees to it.)
  Result<void> check_reduce(const Axis& axis) {
    if (axis.kind != AxisKind::reduce) return {};
    std::vector<LoopId> loops;
    collect_loops(axis.binding, loops);
    for (const LoopId loop : loops) {
      if (program_.loops[loop].kind == LoopKind::parallel)
        return fail("parallel loop {} carries reduce axis {}", program_.loops[loop].name,
                    axis.name);
    }
    return {};
  }

  Result<void> check_domain(const Axis& axis) {
    const Interval range = clipped_range(axis.binding);
    if (range.low >= 0 && range.high < axis.extent) return {};
    if (holds_everywhere(axis)) return {};
    return fail("axis {}={} is between {} and {} as far as can be shown, outside its domain of {}",
                axis.name, print_form(program_, axis.binding), range.low, range.high, axis.extent);
  }

  // Interval arithmetic in which every form that a predicate speaks of, up to a constant, is cut.
  Interval clipped_range(const Affine& form) const {
    Interval total{form.base, form.base};
    for (const AffineTerm& term : form.terms) {
      const Interval source =
          clipped_range(term.inner ? *term.inner : affine_loop(term.loop), term.inner != nullptr);
      Interval value{floor_div(source.low, term.div), floor_div(source.high, term.div)};
      if (term.mod != 0) {
        const int64_t turn = floor_div(value.low, term.mod);
        value = turn == floor_div(value.high, term.mod)
                    ? Interval{value.low - turn * term.mod, value.high - turn * term.mod}
                    : Interval{0, term.mod - 1};
      }
      total.low += term.scale * (term.scale > 0 ? value.low : value.high);
      total.high += term.scale * (term.scale > 0 ? value.high : value.low);
    }
    return clip(form, total);
  }

  Interval clipped_range(const Affine& source, bool is_form) const {
    if (is_form) return clipped_range(source);
    return clip(source, {0, program_.loops[source.as_loop()].extent - 1});
  }

  Interval clip(const Affine& form, Interval range) const {
    for (const Predicate& predicate : block_.predicates) {
      const Affine difference = add(form, scale(predicate.form, -1));
      if (!difference.is_constant()) continue;
      range.low = std::max(range.low, difference.base);
      range.high = std::min(range.high, difference.base + predicate.bound - 1);
    }
    return range;
  }

  static int64_t floor_div(int64_t a, int64_t b) { return fold_int(Op::div, DType::i64, a, b); }

  // Tries all values of the loops that the binding and the predicates use.
  bool holds_everywhere(const Axis& axis) const {
    std::vector<LoopId> loops;
    collect_loops(axis.binding, loops);
    for (const Predicate& predicate : block_.predicates) collect_loops(predicate.form, loops);
    double points = 1;
    for (const LoopId loop : loops) points *= static_cast<double>(program_.loops[loop].extent);
    if (points > static_cast<double>(kMostTried)) return false;
    std::vector<int64_t> values(static_cast<size_t>(program_.loops.size()), 0);
    const auto value_of = [&](LoopId loop) { return values[static_cast<size_t>(loop.value)]; };
    for (;;) {
      const int64_t value = evaluate(axis.binding, value_of);
      const bool runs = std::all_of(block_.predicates.begin(), block_.predicates.end(),
                                    [&](const Predicate& predicate) {
                                      const int64_t tested = evaluate(predicate.form, value_of);
                                      return tested >= 0 && tested < predicate.bound;
                                    });
      if (runs && (value < 0 || value >= axis.extent)) return false;
      size_t i = 0;
      for (; i < loops.size(); ++i) {
        int64_t& slot = values[static_cast<size_t>(loops[i].value)];
        slot = slot + 1 == program_.loops[loops[i]].extent ? 0 : slot + 1;
        if (slot != 0) break;
      }
      if (i == loops.size()) return true;
    }
  }

  const Program& program_;
  const Block& block_;
  std::vector<LoopId> above_;
};

// -- bodies
// ----------------------------------------------------------------------------------------

class Bodies {
 public:
  Bodies(const Program& program, const Block& block) : program_(program), block_(block) {}

  Result<void> check() {
    if (block_.body.empty()) return fail("it stores nothing");
    for (const std::vector<Store>* stores : {&block_.init, &block_.body})
      for (const Store& store : *stores) TRYV(check_store(store));
    for (size_t i = 0; i < block_.body.size(); ++i)
      for (size_t k = i + 1; k < block_.body.size(); ++k)
        if (block_.body[i].buffer == block_.body[k].buffer)
          return fail("it stores to {} twice", name_of(block_.body[i].buffer));
    return check_init();
  }

 private:
  const std::string& name_of(BufferId buffer) const { return program_.buffers[buffer].name; }
  std::string text(const Expr& expr) const { return print(expr, names_of(program_, block_)); }

  Result<void> check_store(const Store& store) {
    if (!program_.buffers.contains(store.buffer))
      return fail("it stores to a buffer that does not exist (?{})", store.buffer.value);
    const Buffer& buffer = program_.buffers[store.buffer];
    if (buffer.kind == BufferKind::input || buffer.kind == BufferKind::param)
      return fail("it stores to {}, which is an {}", buffer.name, to_string(buffer.kind));
    if (!store.value) return fail("a store to {} has no value", buffer.name);
    if (store.value->dtype != buffer.dtype)
      return fail("it stores {} to {}, which holds {}", to_string(store.value->dtype), buffer.name,
                  to_string(buffer.dtype));
    std::vector<Guard> guards;
    for (const Expr& index : store.indices) {
      TRYV(check_expr(index, guards));
      if (uses_reduce_axis(index))
        return fail("the index {} of a store to {} uses a reduce axis", text(index), buffer.name);
    }
    TRYV(check_indices(buffer, store.indices, guards, false));
    return check_expr(store.value, guards);
  }

  bool uses_reduce_axis(const Expr& expr) const {
    bool found = false;
    walk(expr, [&](const ExprNode& node) {
      found = found || (node.op == Op::axis &&
                        block_.axes[static_cast<size_t>(node.id)].kind == AxisKind::reduce);
    });
    return found;
  }

  Result<void> check_indices(const Buffer& buffer, const std::vector<Expr>& indices,
                             const std::vector<Guard>& guards, bool is_load) {
    if (indices.size() != buffer.shape.size())
      return fail("{} has {} dimensions, found {} indices", buffer.name, buffer.shape.size(),
                  indices.size());
    for (size_t i = 0; i < indices.size(); ++i) {
      if (!is_integer(indices[i]->dtype))
        return fail("the index {} of {} is {}", text(indices[i]), buffer.name,
                    to_string(indices[i]->dtype));
      const IndexRange range = prove_index(indices[i], buffer.shape[i], block_.axes, guards);
      if (range.proof == RangeProof::inside || (range.proof == RangeProof::data && is_load))
        continue;
      return fail(
          "index {} of {} is {}, between {} and {} as far as can be shown, outside its size of {}",
          i, buffer.name, text(indices[i]), range.found.low, range.found.high, buffer.shape[i]);
    }
    return {};
  }

  Result<void> check_expr(const Expr& expr, std::vector<Guard>& guards) {
    if (expr->lanes != 1 || expr->op == Op::var || expr->op == Op::reg)
      return fail("{} belongs in a Kernel, not in a Program", text(expr));
    if (expr->op == Op::axis &&
        (expr->id < 0 || static_cast<size_t>(expr->id) >= block_.axes.size()))
      return fail("it uses axis {}, which does not exist", expr->id);
    if (expr->op == Op::select) {
      TRYV(check_expr(expr->args[0], guards));
      for (const bool holds : {true, false}) {
        guards.push_back({expr->args[0], holds});
        TRYV(check_expr(expr->args[holds ? 1 : 2], guards));
        guards.pop_back();
      }
      return {};
    }
    for (const Expr& arg : expr->args) TRYV(check_expr(arg, guards));
    if (expr->op != Op::load) return {};
    const BufferId id{expr->id};
    if (!program_.buffers.contains(id))
      return fail("it reads a buffer that does not exist (?{})", expr->id);
    const Buffer& buffer = program_.buffers[id];
    if (expr->dtype != buffer.dtype)
      return fail("it reads {} as {}, which holds {}", buffer.name, to_string(expr->dtype),
                  to_string(buffer.dtype));
    return check_indices(buffer, expr->args, guards, true);
  }

  // An init belongs to a reduction, sets just the elements that the body updates, and the body
  // reads no others of them.
  Result<void> check_init() {
    if (block_.init.empty()) return {};
    if (!block_.is_reduction()) return fail("it has an init but no reduce axis");
    if (block_.init.size() != block_.body.size())
      return fail("{} stores in its init, {} in its body", block_.init.size(), block_.body.size());
    for (size_t i = 0; i < block_.init.size(); ++i) {
      const Store& init = block_.init[i];
      const Store& body = block_.body[i];
      if (init.buffer != body.buffer || !same(init.indices, body.indices))
        return fail("its init sets another element than {} updates", name_of(body.buffer));
      if (uses_reduce_axis(init.value))
        return fail("the init of {} uses a reduce axis", name_of(init.buffer));
      for (const Store& other : block_.body) TRYV(check_own_reads(other.value, body));
    }
    return {};
  }

  static bool same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Expr& x, const Expr& y) { return equal(x, y); });
  }

  Result<void> check_own_reads(const Expr& value, const Store& store) {
    bool other = false;
    walk(value, [&](const ExprNode& node) {
      if (node.op == Op::load && node.id == store.buffer.value && !same(node.args, store.indices))
        other = true;
    });
    if (other)
      return fail("it reads another element of {} than the one that it updates",
                  name_of(store.buffer));
    return {};
  }

  const Program& program_;
  const Block& block_;
};

// -- order
// -----------------------------------------------------------------------------------------

Result<void> check_order(const Program& program) {
  std::set<BufferId> written;
  for (int32_t i = 0; i < program.buffers.size(); ++i) {
    const BufferKind kind = program.buffers[BufferId{i}].kind;
    if (kind == BufferKind::input || kind == BufferKind::param) written.insert(BufferId{i});
  }
  for (const BlockId id : all_blocks(program)) {
    const Block& block = program.blocks[id];
    std::set<BufferId> known = written;
    std::string missing;
    const auto look = [&](const ExprNode& node) {
      if (node.op == Op::load && !known.contains(BufferId{node.id}) && missing.empty())
        missing = program.buffers[BufferId{node.id}].name;
    };
    for (const std::vector<Store>* stores : {&block.init, &block.body}) {
      for (const Store& store : *stores) {
        for (const Expr& index : store.indices) walk(index, look);
        walk(store.value, look);
      }
      for (const Store& store : *stores) known.insert(store.buffer);  // an init, for the body
    }
    if (!missing.empty())
      return fail("block {}: it reads {}, which no block above it writes", block.name, missing);
    written = std::move(known);
  }
  for (int32_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[BufferId{i}];
    if (buffer.kind == BufferKind::output && !written.contains(BufferId{i}))
      return fail("output {} is never written", buffer.name);
  }
  return {};
}

// Every block of one nest, given that some block writes a constant.
Result<void> check_constant_nest(const Program& program, const std::vector<BlockId>& blocks) {
  const auto is_constant_buffer = [&](BufferId buffer) {
    return program.buffers[buffer].scope == Scope::constant;
  };
  for (const BlockId id : blocks) {
    const Block& block = program.blocks[id];
    for (const BufferId buffer : writes_of(block))
      if (!is_constant_buffer(buffer))
        return fail("block {} writes {} in a nest that makes constants ahead of time", block.name,
                    program.buffers[buffer].name);
    for (const BufferId buffer : reads_of(block))
      if (!is_constant_buffer(buffer) && program.buffers[buffer].kind != BufferKind::param)
        return fail("block {} makes a constant and reads {}, which is neither param nor constant",
                    block.name, program.buffers[buffer].name);
  }
  return {};
}

Result<void> verify_all(const Program& program) {
  TRYV(Structure(program).check());
  for (const BlockId id : all_blocks(program)) {
    const Block& block = program.blocks[id];
    auto checked = Bindings(program, block).check();
    if (checked) checked = Bodies(program, block).check();
    if (!checked) return std::unexpected(within(checked.error(), "block {}", block.name));
  }
  TRYV(check_order(program));
  return check_constants(program);
}

}  // namespace

bool makes_constants(const Program& program, const Node& nest) {
  const std::vector<BlockId> blocks = blocks_below(program, nest);
  return std::any_of(blocks.begin(), blocks.end(), [&](BlockId block) {
    const std::vector<BufferId> writes = writes_of(program.blocks[block]);
    return std::any_of(writes.begin(), writes.end(), [&](BufferId buffer) {
      return program.buffers[buffer].scope == Scope::constant;
    });
  });
}

Result<void> check_constants(const Program& program) {
  for (const Node& nest : program.body)
    if (makes_constants(program, nest))
      TRYV(check_constant_nest(program, blocks_below(program, nest)));
  return {};
}

Result<void> verify(const Program& program) {
  if (auto checked = verify_all(program); !checked)
    return std::unexpected(within(checked.error(), "program {}", program.name));
  return {};
}

}  // namespace hone
