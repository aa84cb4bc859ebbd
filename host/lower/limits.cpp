// SPDX-License-Identifier: Apache-2.0
//
// Counts live registers statement by statement, backwards: accumulators, operands that are kept,
// whatever is needed later. Exact for the statements as they stand; a code generator may reorder
// them, and does so to need fewer, hardly more.
#include "lower/limits.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace hone {
namespace {

enum File { vectors, floats, integers, kFiles };  // register files of a machine

class LiveRegisters {
 public:
  LiveRegisters(const Kernel& kernel, const Target& target)
      : kernel_(kernel), live_(static_cast<size_t>(kernel.registers.size())) {
    for (const Register& reg : kernel.registers) rows_.push_back(row_of(reg, target));
    limits_ = {target.vector_registers, target.float_registers, target.scalar_registers};
  }

  Result<void> check(const Target& target) {
    body(kernel_.body, false);
    constexpr std::string_view kNames[] = {"vector", "float", "scalar"};
    for (int file = 0; file < kFiles; ++file) {
      const size_t i = static_cast<size_t>(file);
      if (peak_[i] > limits_[i] && limits_[i] > 0)
        return fail("loop '{}' needs {} {} registers, {} has {}", where_[i], peak_[i], kNames[i],
                    target.name, limits_[i]);
    }
    return {};
  }

 private:
  struct Row {
    File file;
    int units;  // registers of the file
  };

  // Masks have a file of their own, or are cheap to make again: they count nothing.
  static Row row_of(const Register& reg, const Target& target) {
    if (reg.dtype == DType::b1) return {integers, 0};
    if (target.vector_bits == 0) return {is_float(reg.dtype) ? floats : integers, reg.lanes};
    if (reg.lanes == 1) return {is_float(reg.dtype) ? vectors : integers, 1};
    const int64_t bits = 8 * bytes_of(reg.dtype) * reg.lanes;
    return {vectors, static_cast<int>((bits + target.vector_bits - 1) / target.vector_bits)};
  }

  void set_live(int32_t reg, bool live) {
    const size_t i = static_cast<size_t>(reg);
    if (live_[i] == live) return;
    live_[i] = live;
    count_[rows_[i].file] += live ? rows_[i].units : -rows_[i].units;
  }
  void restore(const std::vector<bool>& live) {
    for (size_t i = 0; i < live.size(); ++i) set_live(static_cast<int32_t>(i), live[i]);
  }
  void use(const Expr& expr) {
    if (expr->op == Op::reg) set_live(expr->id, true);
    for (const Expr& arg : expr->args) use(arg);
  }
  void measure(bool counts) {
    for (size_t i = 0; counts && i < kFiles; ++i) {
      if (count_[i] <= peak_[i]) continue;
      peak_[i] = count_[i];
      where_[i] = loop_;
    }
  }

  // From what is live behind the statements to what is live before them.
  void body(const KernelBody& statements, bool counts) {
    for (size_t i = statements.size(); i-- > 0;) statement(statements[i], counts);
  }

  void statement(const KernelStmt& stmt, bool counts) {
    if (const auto* loop = std::get_if<KernelFor>(&stmt.node)) return for_loop(*loop);
    if (const auto* branch = std::get_if<KernelIf>(&stmt.node)) {
      const std::vector<bool> behind = live_;
      body(branch->then_body, counts);
      const std::vector<bool> then_live = live_;
      restore(behind);
      body(branch->else_body, counts);
      for (size_t i = 0; i < then_live.size(); ++i)
        if (then_live[i]) set_live(static_cast<int32_t>(i), true);
      return use(branch->condition);
    }
    measure(counts);
    if (const auto* set = std::get_if<KernelSet>(&stmt.node)) {
      set_live(set->reg.value, false);
      use(set->value);
    } else if (const auto* store = std::get_if<KernelStore>(&stmt.node)) {
      use(store->value);
      use(store->index);
      if (store->mask) use(store->mask);
    }
    measure(counts);
  }

  void for_loop(const KernelFor& loop) {
    std::vector<int32_t> carried;
    std::vector<bool> set(live_.size());
    find_carried(loop.body, set, carried);
    for (const int32_t reg : carried) set_live(reg, true);
    const std::vector<bool> around = live_;
    const std::string_view outer = std::exchange(loop_, kernel_.vars[loop.var]);
    const bool holds_tile = std::any_of(carried.begin(), carried.end(),
                                        [&](int32_t reg) { return set[static_cast<size_t>(reg)]; });
    body(loop.body, holds_tile);
    loop_ = outer;
    restore(around);
  }

  // Registers that an iteration reads as the one before, or what stands before the loop, left them.
  static void find_carried(const KernelBody& statements, std::vector<bool>& set,
                           std::vector<int32_t>& carried) {
    const auto read = [&](const Expr& expr) {
      walk(expr, [&](const ExprNode& node) {
        if (node.op == Op::reg && !set[static_cast<size_t>(node.id)]) carried.push_back(node.id);
      });
    };
    for (const KernelStmt& stmt : statements) {
      if (const auto* loop = std::get_if<KernelFor>(&stmt.node)) {
        find_carried(loop->body, set, carried);
      } else if (const auto* branch = std::get_if<KernelIf>(&stmt.node)) {
        find_carried(branch->then_body, set, carried);
        find_carried(branch->else_body, set, carried);
      } else if (const auto* value = std::get_if<KernelSet>(&stmt.node)) {
        read(value->value);
        set[static_cast<size_t>(value->reg.value)] = true;
      } else if (const auto* store = std::get_if<KernelStore>(&stmt.node)) {
        read(store->value);
      }
    }
  }

  const Kernel& kernel_;
  std::vector<Row> rows_;
  std::vector<bool> live_;
  std::array<int, kFiles> count_{};
  std::array<int, kFiles> peak_{};
  std::array<int, kFiles> limits_{};
  std::array<std::string_view, kFiles> where_;
  std::string_view loop_;
};

}  // namespace

Result<void> check_registers(const Kernel& kernel, const Target& target) {
  return LiveRegisters(kernel, target).check(target);
}

}  // namespace hone
