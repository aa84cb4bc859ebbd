// SPDX-License-Identifier: Apache-2.0
//
// A vectorised loop that reduces: each lane adds up its own terms in a register, and the lanes are
// added once at the end. Several accumulators in turn, so that an addition need not wait for the
// last.
//   for k in 1000 vectorized                 acc0 = x[0..15], acc1 = x[16..31], …
//     S[i] = S[i] + x[k]             -->     for g: acc0 = acc0 + x[…], acc1 = acc1 + x[…], …
//                                            S[i] = S[i] + reduce_add(acc0 + acc1 + …) + the rest
// Terms in any order are what a reduction allows. Anything else, also tuples, is done lane by lane.
#include <algorithm>

#include "lower/emitter.h"

namespace hone {
namespace {

constexpr int64_t kAccumulators = 4;

std::optional<Op> over_lanes(Op op) {
  switch (op) {
    case Op::add:
      return Op::reduce_add;
    case Op::mul:
      return Op::reduce_mul;
    case Op::min:
      return Op::reduce_min;
    case Op::max:
      return Op::reduce_max;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Emitter::Sum> Emitter::sum_over(LoopId id, BlockId block) const {
  const Block& row = program_.blocks[block];
  if (row.body.size() != 1 || !drives(block, id, AxisKind::reduce) ||
      drives(block, id, AxisKind::spatial))
    return std::nullopt;
  const Store& store = row.body[0];
  const DType dtype = store.value->dtype;
  if (!over_lanes(store.value->op) || dtype == DType::f16 || dtype == DType::bf16)
    return std::nullopt;
  const auto is_self = [&](const Expr& expr) {
    if (expr->op != Op::load || expr->id != store.buffer.value) return false;
    for (size_t i = 0; i < store.indices.size(); ++i)
      if (!equal(expr->args[i], store.indices[i])) return false;
    return true;
  };
  for (size_t i = 0; i < 2; ++i) {
    if (!is_self(store.value->args[i])) continue;
    const Sum sum{store.value->op, store.value->args[i], store.value->args[1 - i]};
    bool again = false;
    walk(sum.term, [&](const ExprNode& node) {
      again = again || (node.op == Op::load && node.id == store.buffer.value);
    });
    if (!again) return sum;
  }
  return std::nullopt;
}

// True: the loop is written. Only where it holds nothing but the block, with all predicates
// decided.
Result<bool> Emitter::vector_reduction(LoopId id, const LoopEnvironment& env, int64_t limit,
                                       KernelBody& out) {
  const std::vector<Node>& inside = program_.loops[id].body;
  if (only_init_.valid() || inside.size() != 1 || !inside[0].block.valid()) return false;
  const BlockId block = inside[0].block;
  const Block& row = program_.blocks[block];
  const std::optional<Sum> sum = sum_over(id, block);
  if (!sum || (!row.init.empty() && !init_done_.contains(block.value))) return false;
  const int native = lanes_for(id);
  const int64_t chunks = limit / native;
  if (native == 1 || chunks == 0) return false;
  LoopEnvironment whole = env;
  whole.bind_lanes(id, 0, static_cast<int>(limit));
  for (const Predicate& predicate : row.predicates) {
    const Interval range = whole.range(predicate.form);
    if (range.low < 0 || range.high >= predicate.bound) return false;
  }

  KernelBody code;
  const auto loads = loads_;
  lanes_bend_ = false;
  const auto term = [&](const Binding& binding, KernelBody& into) -> Result<Expr> {
    LoopEnvironment inner = env;
    inner.bind(id, binding);
    lane_loop_ = id;
    lanes_ = binding.lanes;
    Result<Expr> value = translate(row, sum->term, inner, into);
    if (value && (*value)->lanes != lanes_) *value = spread(*value, lanes_, into);
    lane_loop_.reset();
    lanes_ = 1;
    return value;
  };
  const auto chunk_at = [&](int64_t first, int lanes) {
    return Binding{Binding::Kind::lanes, first, first + lanes - 1, {}, 1, first, lanes};
  };
  const int64_t accumulators = std::min(kAccumulators, chunks);
  std::vector<Expr> partial;
  for (int64_t i = 0; i < accumulators; ++i) {
    const Expr first = TRY(term(chunk_at(i * native, native), code));
    const RegId reg = kernel_.registers.add({"sum", first->dtype, native});
    code.push_back({KernelSet{reg, first}});
    partial.push_back(reg_expr(reg.value, first->dtype, native));
  }
  const auto accumulate = [&](int64_t which, const Binding& binding,
                              KernelBody& into) -> Result<void> {
    const Expr& so_far = partial[static_cast<size_t>(which)];
    const Expr more = TRY(term(binding, into));
    into.push_back({KernelSet{RegId{so_far->id}, combine(sum->op, so_far, more)}});
    return {};
  };
  int64_t done = accumulators;
  const int64_t rounds = chunks / accumulators - 1;
  if (rounds > 1) {
    KernelFor statement;
    statement.var = kernel_.vars.add(program_.loops[id].name);
    statement.begin = index_constant(1);
    statement.end = index_constant(rounds + 1);
    const int64_t step = accumulators * native;
    forget_loads();
    for (int64_t i = 0; i < accumulators; ++i)
      TRYV(accumulate(i,
                      {Binding::Kind::lanes, step, chunks * native - 1, statement.var, step,
                       i * native, native},
                      statement.body));
    forget_loads();
    code.push_back({std::move(statement)});
    done += rounds * accumulators;
  }
  for (; done < chunks; ++done)
    TRYV(accumulate(done % accumulators, chunk_at(done * native, native), code));

  Expr total = partial[0];
  for (size_t i = 1; i < partial.size(); ++i) total = binary(sum->op, total, partial[i]);
  total = unary(*over_lanes(sum->op), total);
  for (int64_t at = chunks * native; at < limit;) {
    int lanes = native;
    while (lanes > limit - at) lanes /= 2;
    Expr rest = TRY(term(
        lanes > 1 ? chunk_at(at, lanes) : Binding{Binding::Kind::constant, at, at, {}, 1, at, 1},
        code));
    if (lanes > 1) rest = unary(*over_lanes(sum->op), rest);
    total = binary(sum->op, total, rest);
    at += lanes;
  }
  if (lanes_bend_) {
    lanes_bend_ = false;
    loads_ = loads;
    return false;
  }
  LoopEnvironment at_store = env;
  at_store.bind_constant(id, 0);
  const Expr self = TRY(translate(row, sum->self, at_store, code));
  const Store& target = row.body[0];
  TRYV(store(row, access_of(row, nullptr, target.buffer, target.indices), at_store,
             binary(sum->op, self, total), code));
  for (KernelStmt& stmt : code) out.push_back(std::move(stmt));
  return true;
}

}  // namespace hone
