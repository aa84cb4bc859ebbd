// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "lower/emitter.h"

namespace hone {
namespace {

constexpr int64_t kMostStatements = 60'000;  // of one Kernel: unrolling beyond is refused
constexpr int64_t kMostChunks = 8;           // of a vector loop written out
constexpr int64_t kMostPeeled = 2;           // iterations written out behind a loop of full ones

// Digits of `loop` that forms of these blocks use.
void collect_digits(const Affine& form, LoopId loop,
                    std::vector<std::pair<int64_t, int64_t>>& digits) {
  for (const AffineTerm& term : form.terms) {
    if (term.inner) {
      collect_digits(*term.inner, loop, digits);
    } else if (term.loop == loop && (term.div != 1 || term.mod != 0)) {
      const std::pair digit{term.div, term.mod};
      if (std::find(digits.begin(), digits.end(), digit) == digits.end()) digits.push_back(digit);
    }
  }
}

}  // namespace

Emitter::Emitter(const Program& program, const Target& target, Kernel& kernel,
                 std::vector<Storage> storage)
    : program_(program), target_(target), kernel_(kernel), storage_(std::move(storage)) {}

Result<void> Emitter::run(const std::vector<Node>& nests, bool parallel) {
  in_parallel_ = !parallel;
  return nodes(nests, LoopEnvironment(program_), kernel_.body);
}

std::vector<BlockId> Emitter::blocks_in(Node node) const {
  std::vector<BlockId> blocks = blocks_below(program_, node);
  if (only_init_.valid()) {
    const bool inside = std::find(blocks.begin(), blocks.end(), only_init_) != blocks.end();
    blocks.assign(inside ? 1 : 0, only_init_);
  }
  return blocks;
}

Result<void> Emitter::nodes(const std::vector<Node>& list, const LoopEnvironment& env,
                            KernelBody& out) {
  if (const auto cut = find_cut(list, env)) return version(list, env, *cut, out);
  for (const Node& node : list) {
    if (only_init_.valid() && blocks_in(node).empty()) continue;
    if (node.loop.valid()) {
      TRYV(loop(node.loop, env, out));
    } else {
      TRYV(block(node.block, env, out));
    }
  }
  return {};
}

Result<void> Emitter::loop(LoopId id, const LoopEnvironment& env, KernelBody& out) {
  const Loop& row = program_.loops[id];
  std::vector<BlockId> cleared;
  if (!only_init_.valid()) cleared = TRY(hoist_inits(id, env, out));
  const bool once =
      row.extent == 1 || (only_init_.valid() && drives(only_init_, id, AxisKind::reduce));
  if (once) {
    LoopEnvironment inner = env;
    inner.bind_constant(id, 0);
    TRYV(iteration(id, inner, out));
  } else if (row.kind == LoopKind::unrolled) {
    TRYV(unrolled_loop(id, env, limit_of(id, env).constant, out));
  } else if (row.kind == LoopKind::vectorized) {
    TRYV(vector_loop(id, env, limit_of(id, env).constant, out));
  } else {
    TRYV(counted_loop(id, env, out));
  }
  for (const BlockId block : cleared) init_done_.erase(block.value);
  return {};
}

Result<void> Emitter::iteration(LoopId id, const LoopEnvironment& env, KernelBody& out) {
  TRYV(nodes(program_.loops[id].body, env, out));
  // Registers of buffers that live inside an iteration are free again.
  for (size_t i = 0; i < storage_.size(); ++i)
    if (storage_[i].in_registers && storage_[i].place == id) tiles_.erase(static_cast<int32_t>(i));
  return {};
}

bool Emitter::drives(BlockId block, LoopId loop, AxisKind kind) const {
  for (const Axis& axis : program_.blocks[block].axes)
    if (axis.kind == kind && uses(axis.binding, loop)) return true;
  return false;
}

// In front of the outermost loop of a reduction its init runs for all elements that the loop adds
// to: the same nest without reduce loops. So no test for the first term stands inside. Where one
// loop drives spatial and reduce axes at once there is no such place, and the test stays with the
// block.
Result<std::vector<BlockId>> Emitter::hoist_inits(LoopId id, const LoopEnvironment& env,
                                                  KernelBody& out) {
  std::vector<BlockId> cleared;
  for (const BlockId block : blocks_below(program_, Node{id, {}})) {
    if (program_.blocks[block].init.empty() || init_done_.contains(block.value)) continue;
    if (!drives(block, id, AxisKind::reduce)) continue;
    bool apart = true;
    for (const LoopId loop : loops_above(program_, Node{{}, block})) {
      if (!drives(block, loop, AxisKind::reduce)) continue;
      apart = apart && !drives(block, loop, AxisKind::spatial) &&
              env.binding(loop).kind == Binding::Kind::unbound;
    }
    if (!apart) continue;
    only_init_ = block;
    const auto done = loop(id, env, out);
    only_init_ = BlockId{};
    if (!done) return std::unexpected(done.error());
    init_done_.insert(block.value);
    cleared.push_back(block);
  }
  return cleared;
}

void Emitter::bind_digits(LoopId id, VarId var, LoopEnvironment& env, KernelBody& out) {
  std::vector<std::pair<int64_t, int64_t>> digits;
  for (const BlockId block_id : blocks_in(Node{id, {}})) {
    const Block& row = program_.blocks[block_id];
    for (const Axis& axis : row.axes) collect_digits(axis.binding, id, digits);
    for (const Predicate& predicate : row.predicates) collect_digits(predicate.form, id, digits);
    for (const std::vector<BufferId>& buffers : {reads_of(row), writes_of(row)})
      for (const BufferId buffer : buffers)
        for (const RegionDim& dim : storage_[static_cast<size_t>(buffer.value)].region)
          collect_digits(dim.base, id, digits);
  }
  for (const auto& [div, mod] : digits) {
    if (env.has_digit(id, div, mod)) continue;
    Expr value = var_expr(var.value);
    if (div != 1) value = binary(Op::div, value, index_constant(div));
    if (mod != 0) value = binary(Op::mod, value, index_constant(mod));
    const VarId digit = kernel_.vars.add(fmt::format("{}_d{}", program_.loops[id].name, div));
    out.push_back({KernelLet{digit, value}});
    env.add_digit(id, div, mod, digit);
  }
}

// A serial or parallel loop: full iterations, then the few that are cut, each written out for
// itself.
Result<void> Emitter::counted_loop(LoopId id, const LoopEnvironment& env, KernelBody& out) {
  const Loop& row = program_.loops[id];
  const Limit limit = limit_of(id, env);
  if (limit.constant <= 0) return {};
  const bool parallel = row.kind == LoopKind::parallel && !in_parallel_;
  int64_t end = limit.constant;
  int64_t peel_from = end;
  if (!parallel && !limit.dynamic) {
    const auto full = full_iterations(id, env, end);
    if (full && end - *full <= kMostPeeled) {
      peel_from = end;
      end = *full;
    }
  }
  if (end == 1 && !limit.dynamic) {
    LoopEnvironment inner = env;
    inner.bind_constant(id, 0);
    TRYV(iteration(id, inner, out));
  } else if (end > 0) {
    KernelFor statement;
    statement.var = kernel_.vars.add(row.name);
    statement.begin = index_constant(0);
    statement.end = index_constant(end);
    if (limit.dynamic) statement.end = binary(Op::min, limit.dynamic, statement.end);
    statement.parallel = parallel;
    LoopEnvironment inner = env;
    inner.bind_variable(id, statement.var, {0, end - 1});
    bind_digits(id, statement.var, inner, statement.body);
    forget_loads();
    if (parallel) in_parallel_ = true;
    const auto done = iteration(id, inner, statement.body);
    if (parallel) in_parallel_ = false;
    forget_loads();
    if (!done) return done;
    if (!statement.body.empty()) out.push_back({std::move(statement)});
  }
  for (int64_t i = end; i < peel_from; ++i) {
    LoopEnvironment inner = env;
    inner.bind_constant(id, i);
    TRYV(iteration(id, inner, out));
  }
  return {};
}

Result<void> Emitter::unrolled_loop(LoopId id, const LoopEnvironment& env, int64_t limit,
                                    KernelBody& out) {
  for (int64_t i = 0; i < limit; ++i) {
    LoopEnvironment inner = env;
    inner.bind_constant(id, i);
    TRYV(iteration(id, inner, out));
    if (++statements_ > kMostStatements)
      return fail("loop '{}': unrolling gives more than {} statements", program_.loops[id].name,
                  kMostStatements);
  }
  return {};
}

// Lanes of the store's element type; of the block with the fewest where there are several.
int Emitter::lanes_for(LoopId id) const {
  const Loop& row = program_.loops[id];
  int lanes = INT32_MAX;
  for (const BlockId block : blocks_below(program_, Node{id, {}})) {
    DType dtype = program_.buffers[program_.blocks[block].body[0].buffer].dtype;
    if (dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::b1) dtype = DType::f32;
    lanes = std::min(lanes, target_.lanes(dtype));
  }
  if (const Annotation* wish = find_annotation(row.annotations, "vector_lanes"))
    lanes = std::min<int>(lanes, static_cast<int>(std::max<int64_t>(1, wish->value)));
  return std::max(1, lanes);
}

bool Emitter::touches_registers(LoopId id) const {
  for (const BlockId block : blocks_below(program_, Node{id, {}}))
    for (const std::vector<BufferId>& buffers :
         {reads_of(program_.blocks[block]), writes_of(program_.blocks[block])})
      for (const BufferId buffer : buffers)
        if (storage_[static_cast<size_t>(buffer.value)].in_registers) return true;
  return false;
}

// Chunks of native width, in a loop where there are many, then ever smaller powers of two; or,
// where lanes can be masked, one more whole vector, whose lanes beyond the limit a predicate takes
// out.
Result<void> Emitter::vector_loop(LoopId id, const LoopEnvironment& env, int64_t limit,
                                  KernelBody& out) {
  if (lane_loop_) return unrolled_loop(id, env, limit, out);  // vectors have one dimension
  if (TRY(vector_reduction(id, env, limit, out))) return {};
  const int native = lanes_for(id);
  int64_t at = 0;
  if (limit / native > kMostChunks && !touches_registers(id)) {
    const int64_t chunks = limit / native;
    KernelFor statement;
    statement.var = kernel_.vars.add(program_.loops[id].name);
    statement.begin = index_constant(0);
    statement.end = index_constant(chunks);
    at = chunks * native;
    LoopEnvironment inner = env;
    inner.bind(id, {native > 1 ? Binding::Kind::lanes : Binding::Kind::variable, 0, at - 1,
                    statement.var, native, 0, native});
    forget_loads();
    TRYV(vector_iteration(id, inner, native, statement.body));
    forget_loads();
    if (!statement.body.empty()) out.push_back({std::move(statement)});
  }
  while (at < limit) {
    int lanes = native;
    const bool masked = target_.masks && at + native <= program_.loops[id].extent;
    const bool one_narrower = std::has_single_bit(static_cast<uint64_t>(limit - at));
    while (lanes > limit - at && (one_narrower || !masked)) lanes /= 2;
    LoopEnvironment inner = env;
    if (lanes > 1) {
      inner.bind_lanes(id, at, lanes);
    } else {
      inner.bind_constant(id, at);
    }
    TRYV(vector_iteration(id, inner, lanes, out));
    at += lanes;
    if (++statements_ > kMostStatements)
      return fail("loop '{}': vectors give more than {} statements", program_.loops[id].name,
                  kMostStatements);
  }
  return {};
}

Result<void> Emitter::vector_iteration(LoopId id, const LoopEnvironment& env, int lanes,
                                       KernelBody& out) {
  if (lanes > 1) {
    lane_loop_ = id;
    lanes_ = lanes;
  }
  const auto done = iteration(id, env, out);
  lane_loop_.reset();
  lanes_ = 1;
  return done;
}

}  // namespace hone
