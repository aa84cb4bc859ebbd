// SPDX-License-Identifier: Apache-2.0
//
// Runs a Kernel statement by statement, so that lowering is tested without a code generator. It is
// stricter than a machine: an element out of its buffer, a temp or a register that is read before
// it is written, and a temp whose workspace another buffer has overwritten are errors with the
// place named.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "lower/kernel.h"

namespace hone::test {

using Elements = std::vector<ScalarValue>;

class KernelInterpreter {
 public:
  explicit KernelInterpreter(const Kernel& kernel)
      : kernel_(kernel),
        vars_(static_cast<size_t>(kernel.vars.size())),
        registers_(static_cast<size_t>(kernel.registers.size())) {}

  struct Cell {  // what the bytes at an offset hold
    int32_t buffer = -1;
    ScalarValue value;
  };
  using Memory = std::unordered_map<int64_t, Cell>;  // by byte

  // `arguments` by slot, each with all its elements; those that are written come back changed, as
  // do `constants`.
  Result<void> run(std::vector<Elements>& arguments, Memory& constants) {
    arguments_ = &arguments;
    constants_ = &constants;
    return body(kernel_.body);
  }

  int64_t statements() const { return statements_; }

 private:
  using Lanes = std::vector<ScalarValue>;
  Result<void> body(const KernelBody& statements) {
    for (const KernelStmt& stmt : statements) TRYV(statement(stmt));
    return {};
  }

  Result<void> statement(const KernelStmt& stmt) {
    ++statements_;
    if (const auto* loop = std::get_if<KernelFor>(&stmt.node)) {
      const int64_t begin = TRY(scalar(loop->begin));
      const int64_t end = TRY(scalar(loop->end));
      for (int64_t i = begin; i < end; ++i) {
        vars_[static_cast<size_t>(loop->var.value)] = i;
        if (loop->parallel) per_worker_.clear();  // another worker's part holds something else
        TRYV(body(loop->body));
      }
      return {};
    }
    if (const auto* branch = std::get_if<KernelIf>(&stmt.node)) {
      const bool taken = TRY(scalar(branch->condition)) != 0;
      return body(taken ? branch->then_body : branch->else_body);
    }
    if (const auto* let = std::get_if<KernelLet>(&stmt.node)) {
      vars_[static_cast<size_t>(let->var.value)] = TRY(scalar(let->value));
      return {};
    }
    if (const auto* set = std::get_if<KernelSet>(&stmt.node)) {
      registers_[static_cast<size_t>(set->reg.value)] = TRY(value(set->value, {}));
      return {};
    }
    return store(std::get<KernelStore>(stmt.node));
  }

  Result<int64_t> scalar(const Expr& expr) {
    if (expr->lanes != 1) return fail("a scalar is wanted, this has {} lanes", expr->lanes);
    return TRY(value(expr, {}))[0].as_int;
  }

  Result<void> store(const KernelStore& store) {
    const size_t lanes = static_cast<size_t>(store.value->lanes);
    const Lanes values = TRY(value(store.value, {}));
    const Lanes index = TRY(value(store.index, {}));
    const Lanes mask = store.mask ? TRY(value(store.mask, {})) : Lanes(lanes, {1, 0});
    for (size_t lane = 0; lane < lanes; ++lane) {
      if (mask[lane].as_int == 0) continue;
      TRYV(write(store.buffer, element(index, lane), values[lane]));
    }
    return {};
  }

  static int64_t element(const Lanes& index, size_t lane) {
    return index.size() == 1 ? index[0].as_int + static_cast<int64_t>(lane) : index[lane].as_int;
  }

  Result<void> check_place(BufferId id, int64_t at, const char* what) const {
    const KernelBuffer& buffer = kernel_.buffers[id];
    if (at >= 0 && at < buffer.elements) return {};
    return fail("{} of element {} of '{}', which has {}", what, at, buffer.name, buffer.elements);
  }

  Memory& pool_of(const KernelBuffer& buffer) {
    if (buffer.space == Space::constants) return *constants_;
    if (buffer.space == Space::workspace) return workspace_;
    return buffer.space == Space::per_worker ? per_worker_ : stack_;
  }
  // Stack buffers never share bytes: each gets a range of its own.
  static int64_t address(BufferId id, const KernelBuffer& buffer, int64_t at) {
    const int64_t base = buffer.space == Space::stack ? int64_t{id.value} << 40 : buffer.offset;
    return base + at * bytes_of(buffer.dtype);
  }

  Result<void> write(BufferId id, int64_t at, ScalarValue what) {
    TRYV(check_place(id, at, "store"));
    const KernelBuffer& buffer = kernel_.buffers[id];
    if (!buffer.written) return fail("store to '{}', which is only read", buffer.name);
    if (buffer.space == Space::argument) {
      (*arguments_)[static_cast<size_t>(buffer.slot)][static_cast<size_t>(at)] = what;
      return {};
    }
    const int64_t limit = buffer.space == Space::constants    ? kernel_.constants_bytes
                          : buffer.space == Space::workspace  ? kernel_.workspace_bytes
                          : buffer.space == Space::per_worker ? kernel_.workspace_bytes_per_worker
                                                              : INT64_MAX;
    const int64_t begin = address(id, buffer, at);
    if (begin + bytes_of(buffer.dtype) > limit)
      return fail("'{}' leaves its workspace", buffer.name);
    for (int64_t byte = 0; byte < bytes_of(buffer.dtype); ++byte)
      pool_of(buffer)[begin + byte] = Cell{id.value, what};
    return {};
  }

  Result<ScalarValue> read(BufferId id, int64_t at) {
    TRYV(check_place(id, at, "load"));
    const KernelBuffer& buffer = kernel_.buffers[id];
    if (buffer.space == Space::argument)
      return (*arguments_)[static_cast<size_t>(buffer.slot)][static_cast<size_t>(at)];
    const int64_t begin = address(id, buffer, at);
    const Memory& pool = pool_of(buffer);
    for (int64_t byte = begin; byte < begin + bytes_of(buffer.dtype); ++byte) {
      const auto cell = pool.find(byte);
      if (cell == pool.end())
        return fail("load of element {} of '{}' before it is written", at, buffer.name);
      if (cell->second.buffer != id.value)
        return fail("element {} of '{}' was overwritten by '{}'", at, buffer.name,
                    kernel_.buffers[BufferId{cell->second.buffer}].name);
    }
    return pool.at(begin).value;
  }

  // `active`: lanes that count (empty: all); others may hold anything and touch no memory.
  static bool counts(const Lanes& active, size_t lane) {
    return active.empty() || active[active.size() == 1 ? 0 : lane].as_int != 0;
  }

  Result<Lanes> value(const Expr& expr, const Lanes& active) {
    const size_t lanes = static_cast<size_t>(expr->lanes);
    switch (expr->op) {
      case Op::constant:
        return Lanes(lanes, {expr->int_value, expr->float_value});
      case Op::var: {
        const auto& var = vars_[static_cast<size_t>(expr->id)];
        if (!var) return fail("variable '{}' is not bound", kernel_.vars[VarId{expr->id}]);
        return Lanes{{*var, 0}};
      }
      case Op::reg: {
        const Lanes& held = registers_[static_cast<size_t>(expr->id)];
        if (held.empty())
          return fail("register '{}' is read before it is set",
                      kernel_.registers[RegId{expr->id}].name);
        if (held.size() != lanes) return fail("register {} has {} lanes", expr->id, held.size());
        return held;
      }
      case Op::load:
        return load(expr, active);
      case Op::select:
        return select(expr, active);
      default:
        break;
    }
    std::vector<Lanes> args;
    for (const Expr& arg : expr->args)
      args.push_back(TRY(value(arg, arg->lanes == expr->lanes ? active : Lanes{})));
    if (expr->op >= Op::reduce_add && expr->op <= Op::reduce_max) return reduce(expr, args[0]);
    Lanes result(lanes);
    for (size_t lane = 0; lane < lanes; ++lane) result[lane] = operation(expr, args, lane);
    return result;
  }

  Result<Lanes> load(const Expr& expr, const Lanes& active) {
    const size_t lanes = static_cast<size_t>(expr->lanes);
    const Lanes index = TRY(value(expr->args[0], {}));
    const Lanes mask = expr->args.size() > 1 ? TRY(value(expr->args[1], {})) : Lanes(lanes, {1, 0});
    Lanes result(lanes);
    for (size_t lane = 0; lane < lanes; ++lane)
      if (mask[lane].as_int != 0 && counts(active, lane))
        result[lane] = TRY(read(BufferId{expr->id}, element(index, lane)));
    return result;
  }

  Result<Lanes> select(const Expr& expr, const Lanes& active) {
    const size_t lanes = static_cast<size_t>(expr->lanes);
    const Lanes condition = TRY(value(expr->args[0], active));
    if (condition.size() == 1 && counts(active, 0))
      return value(expr->args[condition[0].as_int != 0 ? 1 : 2], active);
    Lanes picks(lanes);
    Lanes others(lanes);
    for (size_t lane = 0; lane < lanes; ++lane) {
      const bool picked = condition[condition.size() == 1 ? 0 : lane].as_int != 0;
      picks[lane].as_int = picked && counts(active, lane);
      others[lane].as_int = !picked && counts(active, lane);
    }
    const Lanes if_true = TRY(value(expr->args[1], picks));
    const Lanes if_false = TRY(value(expr->args[2], others));
    Lanes result(lanes);
    for (size_t lane = 0; lane < lanes; ++lane)
      result[lane] = picks[lane].as_int != 0 ? if_true[lane] : if_false[lane];
    return result;
  }

  static Lanes reduce(const Expr& expr, const Lanes& operand) {
    const Op ops[] = {Op::add, Op::mul, Op::min, Op::max};
    const Op op = ops[static_cast<size_t>(expr->op) - static_cast<size_t>(Op::reduce_add)];
    ScalarValue sum = operand[0];
    for (size_t lane = 1; lane < operand.size(); ++lane) {
      if (is_float(expr->dtype)) {
        sum.as_float = fold_float(op, expr->dtype, sum.as_float, operand[lane].as_float);
      } else {
        sum.as_int = fold_int(op, expr->dtype, sum.as_int, operand[lane].as_int);
      }
    }
    return {sum};
  }

  static ScalarValue operation(const Expr& expr, const std::vector<Lanes>& args, size_t lane) {
    const auto arg = [&](size_t i) { return args[i][args[i].size() == 1 ? 0 : lane]; };
    switch (expr->op) {
      case Op::broadcast:
        return args[0][0];
      case Op::ramp:
        return {args[0][0].as_int + static_cast<int64_t>(lane) * args[1][0].as_int, 0};
      case Op::extract:
        return args[0][static_cast<size_t>(args[1][0].as_int)];
      case Op::cast:
      case Op::saturate:
      case Op::bitcast:
        return fold_cast(expr->op, expr->dtype, expr->args[0]->dtype, arg(0));
      case Op::fma:
        return {0, fold_fma(expr->dtype, arg(0).as_float, arg(1).as_float, arg(2).as_float)};
      case Op::eq:
      case Op::ne:
      case Op::lt:
      case Op::le: {
        const ScalarValue a = arg(0);
        const ScalarValue b = arg(1);
        return {fold_compare(expr->op, expr->args[0]->dtype, a.as_int, b.as_int, a.as_float,
                             b.as_float),
                0};
      }
      default:
        break;
    }
    const ScalarValue a = arg(0);
    const ScalarValue b = args.size() > 1 ? arg(1) : ScalarValue{};
    if (is_float(expr->args[0]->dtype))
      return {0, fold_float(expr->op, expr->dtype, a.as_float, b.as_float)};
    return {fold_int(expr->op, expr->dtype, a.as_int, b.as_int), 0};
  }

  const Kernel& kernel_;
  std::vector<Elements>* arguments_ = nullptr;
  std::vector<std::optional<int64_t>> vars_;
  std::vector<Lanes> registers_;  // empty: not set yet
  Memory* constants_ = nullptr;
  Memory workspace_;
  Memory per_worker_;
  Memory stack_;
  int64_t statements_ = 0;
};

}  // namespace hone::test
