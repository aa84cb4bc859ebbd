// SPDX-License-Identifier: Apache-2.0
//
// One instance of a block, or as many as there are lanes. Scalars stay scalars until they meet a
// vector. f16 and bf16 compute in f32: loads convert, stores convert back (ir/expr.h allows more
// precision between).
#include <algorithm>

#include "lower/emitter.h"

namespace hone {
namespace {

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
DType computing_type(DType dtype) { return is_half(dtype) ? DType::f32 : dtype; }

Expr widen(const Expr& expr, int lanes) {
  return expr->lanes == lanes ? expr : broadcast_expr(expr, lanes);
}

Expr both(const Expr& a, const Expr& b) {
  if (!a) return b;
  const int lanes = std::max(a->lanes, b->lanes);
  return binary(Op::logical_and, widen(a, lanes), widen(b, lanes));
}

}  // namespace

Result<void> Emitter::block(BlockId id, const LoopEnvironment& env, KernelBody& out) {
  if (++statements_ > 200'000) return fail("the schedule expands to too much code");
  Expr test;
  const Expr outer_mask = mask_;
  for (const Predicate& predicate : program_.blocks[id].predicates) {
    const Resolved form = env.resolve(predicate.form);
    if (form.range.low >= 0 && form.range.high < predicate.bound) continue;
    if (form.range.high < 0 || form.range.low >= predicate.bound) {
      mask_ = outer_mask;
      return {};
    }
    if (form.lanes_bend || (form.lane_stride != 0 && !target_.masks)) {
      mask_ = outer_mask;
      return lane_by_lane(id, env, out);
    }
    const Expr value = at_lanes(form);
    Expr kept = binary(Op::lt, value, widen(index_constant(predicate.bound), value->lanes));
    if (form.range.low < 0)
      kept = both(binary(Op::le, widen(index_constant(0), value->lanes), value), kept);
    if (value->lanes > 1) {
      mask_ = both(mask_, kept);
    } else {
      test = both(test, kept);
    }
  }
  if (mask_ && mask_ != outer_mask) mask_ = remember(mask_, out);
  KernelBody body;
  lanes_bend_ = false;
  const auto loads = loads_;
  const auto done = instance(id, env, body);
  const bool bends = lanes_bend_;
  mask_ = outer_mask;
  if (!done) return done;
  if (bends) {
    loads_ = loads;
    return lane_by_lane(id, env, out);
  }
  if (!test) {
    for (KernelStmt& stmt : body) out.push_back(std::move(stmt));
    return {};
  }
  forget_loads();  // what the test guards was not done for sure, and may have stored
  KernelIf guarded;
  guarded.condition = test;
  guarded.then_body = std::move(body);
  out.push_back({std::move(guarded)});
  return {};
}

Result<void> Emitter::lane_by_lane(BlockId id, const LoopEnvironment& env, KernelBody& out) {
  ENSURE(lane_loop_.has_value());
  const LoopId loop = *lane_loop_;
  const int lanes = lanes_;
  const Binding chunk = env.binding(loop);
  lane_loop_.reset();
  lanes_ = 1;
  Result<void> done;
  for (int lane = 0; lane < lanes && done; ++lane) {
    LoopEnvironment inner = env;
    if (chunk.var.valid()) {
      inner.bind(loop, {Binding::Kind::variable, chunk.low + lane, chunk.high - lanes + 1 + lane,
                        chunk.var, chunk.step, chunk.offset + lane, 1});
    } else {
      inner.bind_constant(loop, chunk.offset + lane);
    }
    done = block(id, inner, out);
  }
  lane_loop_ = loop;
  lanes_ = lanes;
  lanes_bend_ = false;
  return done;
}

Result<void> Emitter::instance(BlockId id, const LoopEnvironment& env, KernelBody& out) {
  const Block& row = program_.blocks[id];
  if (only_init_.valid()) return init(id, env, out);
  if (!row.init.empty() && !init_done_.contains(id.value)) {
    Expr first;
    bool never = false;
    for (const Axis& axis : row.axes) {
      if (axis.kind != AxisKind::reduce) continue;
      const Resolved form = env.resolve(axis.binding);
      if (form.lane_stride != 0 || form.lanes_bend) {
        lanes_bend_ = true;
        return {};
      }
      if (form.terms.empty()) {
        never = never || form.constant != 0;
        continue;
      }
      first = both(first, binary(Op::eq, LoopEnvironment::scalar(form), index_constant(0)));
    }
    if (!never) {
      KernelIf guarded;
      TRYV(init(id, env, guarded.then_body));
      guarded.condition = first;
      if (first) {
        forget_loads();
        out.push_back({std::move(guarded)});
      } else {
        for (KernelStmt& stmt : guarded.then_body) out.push_back(std::move(stmt));
      }
    }
  }
  return stores(row, row.body, env, out);
}

Result<void> Emitter::init(BlockId id, const LoopEnvironment& env, KernelBody& out) {
  const Block& row = program_.blocks[id];
  return stores(row, row.init, env, out);
}

Result<void> Emitter::stores(const Block& row, const std::vector<Store>& list,
                             const LoopEnvironment& env, KernelBody& out) {
  std::vector<Expr> values;
  for (const Store& one : list) {
    Expr value = TRY(translate(row, one.value, env, out));
    if (list.size() > 1) {  // all values are read before any is written
      const RegId reg = kernel_.registers.add({"t", value->dtype, value->lanes});
      out.push_back({KernelSet{reg, value}});
      value = reg_expr(reg.value, value->dtype, value->lanes);
    }
    values.push_back(std::move(value));
  }
  for (size_t i = 0; i < list.size(); ++i)
    TRYV(store(row, access_of(row, nullptr, list[i].buffer, list[i].indices), env, values[i], out));
  return {};
}

Result<void> Emitter::store(const Block& row, const Access& access, const LoopEnvironment& env,
                            Expr value, KernelBody& out) {
  const Storage& storage = storage_[static_cast<size_t>(access.buffer.value)];
  const Buffer& buffer = program_.buffers[access.buffer];
  if (storage.in_registers) {
    const Resolved place = env.resolve(access.flat);
    if (!place.terms.empty() || !access.loose.empty()) return not_constant(access, env);
    const int lanes = place.lane_stride == 1 ? lanes_ : 1;
    if (place.lanes_bend || (place.lane_stride != 0 && place.lane_stride != 1) ||
        value->lanes > lanes) {
      lanes_bend_ = true;
      return {};
    }
    const RegId reg = TRY(tile_register(access.buffer, place.constant, lanes, true));
    out.push_back({KernelSet{reg, widen(value, lanes)}});
    return {};
  }
  bool consecutive = true;
  Expr index = TRY(flat_index(row, access, env, out, consecutive));
  int lanes = std::max(value->lanes, index->lanes);
  if (consecutive && lane_loop_) lanes = lanes_;
  value = widen(value, lanes);
  if (lanes > 1 && !consecutive) {
    if (index->lanes == 1) {  // every lane stores to one element: the last one counts
      lanes_bend_ = true;
      return {};
    }
  }
  if (is_half(buffer.dtype)) value = cast_expr(Op::cast, buffer.dtype, value);
  std::erase_if(loads_,
                [&](const auto& known) { return known.load->id == storage.kernel_buffer.value; });
  out.push_back({KernelStore{storage.kernel_buffer, index, value, lanes > 1 ? mask_ : nullptr}});
  if (lanes == 1 && mask_) lanes_bend_ = true;  // a scalar cannot be masked
  return {};
}

Expr Emitter::at_lanes(const Resolved& form) {
  const Expr base = LoopEnvironment::scalar(form);
  if (form.lane_stride == 0) return base;
  return ramp_expr(base, index_constant(form.lane_stride), lanes_);
}

const Access& Emitter::access_of(const Block& row, const ExprNode* node, BufferId buffer,
                                 const std::vector<Expr>& indices) {
  const void* place = node != nullptr ? static_cast<const void*>(node) : indices.data();
  if (indices.empty() && node == nullptr) place = &program_.buffers[buffer];
  const Key key{&row, place};
  if (const auto known = accesses_.find(key); known != accesses_.end()) return known->second;
  Access access;
  access.buffer = buffer;
  access.flat = affine_constant(0);
  const Storage& storage = storage_[static_cast<size_t>(buffer.value)];
  for (size_t i = 0; i < indices.size(); ++i) {
    const int64_t stride = storage.strides[i];
    access.flat = add(access.flat, scale(storage.region[i].base, -stride));
    if (const auto form = index_form(program_, row, indices[i])) {
      access.flat = add(access.flat, scale(*form, stride));
    } else {
      access.loose.emplace_back(indices[i], stride);
    }
  }
  return accesses_.emplace(key, std::move(access)).first->second;
}

// The element index: a scalar, with `consecutive` where lanes follow each other; or a vector.
Result<Expr> Emitter::flat_index(const Block& row, const Access& access, const LoopEnvironment& env,
                                 KernelBody& out, bool& consecutive) {
  const Resolved place = env.resolve(access.flat);
  if (place.lanes_bend) lanes_bend_ = true;
  Expr loose;
  for (const auto& [index, stride] : access.loose) {
    Expr value = TRY(translate(row, index, env, out));
    value = cast_expr(Op::cast, DType::i64, value);
    value = binary(Op::mul, value, widen(index_constant(stride), value->lanes));
    if (loose) {
      const int lanes = std::max(loose->lanes, value->lanes);
      loose = binary(Op::add, widen(loose, lanes), widen(value, lanes));
    } else {
      loose = value;
    }
  }
  consecutive = place.lane_stride == 1 && !place.lanes_bend && (!loose || loose->lanes == 1);
  Expr base =
      consecutive || place.lane_stride == 0 ? LoopEnvironment::scalar(place) : at_lanes(place);
  if (!loose) return base;
  const int lanes = std::max(loose->lanes, base->lanes);
  return binary(Op::add, widen(loose, lanes), widen(base, lanes));
}

Expr Emitter::remember(Expr load, KernelBody& out) {
  const uint64_t hash = hash_of(load);
  for (const DoneLoad& done : loads_)
    if (done.hash == hash && equal(done.load, load))
      return reg_expr(done.reg.value, load->dtype, load->lanes);
  const RegId reg = kernel_.registers.add({"v", load->dtype, load->lanes});
  known_.resize(static_cast<size_t>(reg.value) + 1);
  known_.back() = true;
  out.push_back({KernelSet{reg, load}});
  Expr value = reg_expr(reg.value, load->dtype, load->lanes);
  loads_.push_back({hash, std::move(load), reg});
  return value;
}

// Set once in this straight line, so that what is made of it may be kept as well.
bool Emitter::is_known(const Expr& expr) const {
  return expr->op == Op::reg && static_cast<size_t>(expr->id) < known_.size() &&
         known_[static_cast<size_t>(expr->id)];
}

Expr Emitter::spread(const Expr& expr, int lanes, KernelBody& out) {
  if (expr->lanes == lanes) return expr;
  Expr vector = broadcast_expr(expr, lanes);
  return is_known(expr) ? remember(std::move(vector), out) : vector;
}

Expr Emitter::convert(Op op, DType dtype, const Expr& expr, KernelBody& out) {
  Expr value = cast_expr(op, dtype, expr);
  return is_known(expr) && value != expr ? remember(std::move(value), out) : value;
}

Result<Expr> Emitter::load(const Block& row, const ExprNode& node, const LoopEnvironment& env,
                           KernelBody& out) {
  const BufferId id{node.id};
  const Access& access = access_of(row, &node, id, node.args);
  const Storage& storage = storage_[static_cast<size_t>(id.value)];
  const Buffer& buffer = program_.buffers[id];
  if (storage.in_registers) {
    const Resolved place = env.resolve(access.flat);
    if (!place.terms.empty() || !access.loose.empty()) return not_constant(access, env);
    if (place.lanes_bend || (place.lane_stride != 0 && place.lane_stride != 1)) {
      lanes_bend_ = true;
      return computing_type(buffer.dtype) == DType::f32 || is_float(buffer.dtype)
                 ? float_constant(0, computing_type(buffer.dtype))
                 : int_constant(0, buffer.dtype);
    }
    return read_tile(id, place.constant, place.lane_stride == 1 ? lanes_ : 1);
  }
  bool consecutive = false;
  const Expr index = TRY(flat_index(row, access, env, out, consecutive));
  const int lanes = consecutive ? lanes_ : index->lanes;
  Expr value = lanes == 1 ? load_expr(storage.kernel_buffer, buffer.dtype, {index})
                          : vector_load_expr(storage.kernel_buffer, buffer.dtype, lanes, index);
  if (mask_ && lanes > 1) value = with_args(value, {index, mask_});
  const bool once = guarded_ || !access.loose.empty();
  if (!once) value = remember(std::move(value), out);
  return is_half(buffer.dtype) ? convert(Op::cast, DType::f32, value, out) : value;
}

// A comparison of indices that ranges decide.
std::optional<bool> Emitter::decide(const Block& row, const Expr& comparison,
                                    const LoopEnvironment& env) {
  if (comparison->args[0]->dtype != DType::i64) return std::nullopt;
  auto [known, fresh] = differences_.try_emplace(Key{&row, comparison.get()});
  if (fresh)
    known->second =
        index_form(program_, row, binary(Op::sub, comparison->args[0], comparison->args[1]));
  if (!known->second) return std::nullopt;
  const Interval range = env.range(*known->second);
  switch (comparison->op) {
    case Op::lt:
      if (range.high < 0) return true;
      if (range.low >= 0) return false;
      return std::nullopt;
    case Op::le:
      if (range.high <= 0) return true;
      if (range.low > 0) return false;
      return std::nullopt;
    case Op::eq:
    case Op::ne: {
      const bool equal_sides = range.low == 0 && range.high == 0;
      if (!equal_sides && range.low <= 0 && range.high >= 0) return std::nullopt;
      return equal_sides == (comparison->op == Op::eq);
    }
    default:
      return std::nullopt;
  }
}

Result<Expr> Emitter::translate(const Block& row, const Expr& expr, const LoopEnvironment& env,
                                KernelBody& out) {
  switch (expr->op) {
    case Op::constant:
      return is_half(expr->dtype) ? float_constant(expr->float_value, DType::f32) : expr;
    case Op::axis: {
      const Resolved form = env.resolve(row.axes[static_cast<size_t>(expr->id)].binding);
      if (form.lanes_bend) lanes_bend_ = true;
      return at_lanes(form);
    }
    case Op::load:
      return load(row, *expr, env, out);
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
      if (const auto known = decide(row, expr, env)) return int_constant(*known, DType::b1);
      break;
    case Op::select: {
      const Expr condition = TRY(translate(row, expr->args[0], env, out));
      if (is_constant(condition))
        return translate(row, expr->args[condition->int_value != 0 ? 1 : 2], env, out);
      const bool outer = guarded_;
      guarded_ = true;  // arms may load what is not there: nothing of them is done outside
      Expr if_true = TRY(translate(row, expr->args[1], env, out));
      Expr if_false = TRY(translate(row, expr->args[2], env, out));
      guarded_ = outer;
      const int lanes = std::max({condition->lanes, if_true->lanes, if_false->lanes});
      return select_expr(condition, widen(if_true, lanes), widen(if_false, lanes));
    }
    default:
      break;
  }
  return translate_operation(row, expr, env, out);
}

Result<Expr> Emitter::translate_operation(const Block& row, const Expr& expr,
                                          const LoopEnvironment& env, KernelBody& out) {
  std::vector<Expr> args;
  int lanes = 1;
  for (const Expr& arg : expr->args) {
    args.push_back(TRY(translate(row, arg, env, out)));
    lanes = std::max<int>(lanes, args.back()->lanes);
  }
  if (expr->op == Op::cast || expr->op == Op::saturate || expr->op == Op::bitcast) {
    if (!is_half(expr->dtype)) {
      if (expr->op == Op::bitcast && is_half(expr->args[0]->dtype))
        args[0] = cast_expr(Op::cast, expr->args[0]->dtype, args[0]);
      return convert(expr->op, expr->dtype, args[0], out);
    }
    return cast_expr(Op::cast, DType::f32, cast_expr(expr->op, expr->dtype, args[0]));
  }
  if (args.size() == 1) return unary(expr->op, args[0]);
  if (expr->op == Op::logical_and || expr->op == Op::logical_or) {
    for (size_t i = 0; i < 2; ++i) {
      if (!is_constant(args[i])) continue;
      const bool decides = (args[i]->int_value != 0) == (expr->op == Op::logical_or);
      return decides ? args[i] : args[1 - i];
    }
  }
  for (Expr& arg : args) arg = spread(arg, lanes, out);
  if (expr->op == Op::fma) return fma_expr(args[0], args[1], args[2]);
  return combine(expr->op, args[0], args[1]);
}

// A multiplication under an addition becomes one fma where the machine has it for the type.
Expr Emitter::combine(Op op, const Expr& left, const Expr& right) const {
  if (op == Op::add && target_.fma && left->dtype == DType::f32) {
    if (left->op == Op::mul) return fma_expr(left->args[0], left->args[1], right);
    if (right->op == Op::mul) return fma_expr(right->args[0], right->args[1], left);
  }
  return binary(op, left, right);
}

}  // namespace hone
