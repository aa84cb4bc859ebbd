// SPDX-License-Identifier: Apache-2.0
#include "codegen/scan.h"

#include <map>

namespace hone {
namespace {

void add_body(const KernelBody& body, Touched& touched);

void add_statement(const KernelStmt& statement, Touched& touched) {
  if (const auto* loop = std::get_if<KernelFor>(&statement.node)) {
    add_touched(loop->begin, touched);
    add_touched(loop->end, touched);
    touched.vars_bound.insert(loop->var.value);
    touched.parallel |= loop->parallel;
    add_body(loop->body, touched);
  } else if (const auto* branch = std::get_if<KernelIf>(&statement.node)) {
    add_touched(branch->condition, touched);
    add_body(branch->then_body, touched);
    add_body(branch->else_body, touched);
  } else if (const auto* let = std::get_if<KernelLet>(&statement.node)) {
    add_touched(let->value, touched);
    touched.vars_bound.insert(let->var.value);
  } else if (const auto* set = std::get_if<KernelSet>(&statement.node)) {
    add_touched(set->value, touched);
    touched.registers_set.insert(set->reg.value);
  } else if (const auto* store = std::get_if<KernelStore>(&statement.node)) {
    add_touched(store->index, touched);
    add_touched(store->value, touched);
    if (store->mask) add_touched(store->mask, touched);
    touched.buffers.insert(store->buffer.value);
  }
}

void add_body(const KernelBody& body, Touched& touched) {
  for (const KernelStmt& statement : body) add_statement(statement, touched);
}

// Calls `visit` on each outermost parallel loop.
void visit_parallel(const KernelBody& body, const std::function<void(const KernelFor&)>& visit) {
  for (const KernelStmt& statement : body) {
    if (const auto* loop = std::get_if<KernelFor>(&statement.node)) {
      if (loop->parallel)
        visit(*loop);
      else
        visit_parallel(loop->body, visit);
    } else if (const auto* branch = std::get_if<KernelIf>(&statement.node)) {
      visit_parallel(branch->then_body, visit);
      visit_parallel(branch->else_body, visit);
    }
  }
}

// Adds what statements outside of parallel loops touch.
void add_serial_buffers(const KernelBody& body, std::set<int32_t>& buffers) {
  for (const KernelStmt& statement : body) {
    if (const auto* loop = std::get_if<KernelFor>(&statement.node)) {
      if (!loop->parallel) add_serial_buffers(loop->body, buffers);
      continue;
    }
    Touched touched;
    if (const auto* branch = std::get_if<KernelIf>(&statement.node)) {
      add_touched(branch->condition, touched);
      add_serial_buffers(branch->then_body, buffers);
      add_serial_buffers(branch->else_body, buffers);
    } else {
      add_statement(statement, touched);
    }
    buffers.insert(touched.buffers.begin(), touched.buffers.end());
  }
}

}  // namespace

void add_touched(const Expr& expr, Touched& touched) {
  if (expr->op == Op::var) touched.vars_read.insert(expr->id);
  if (expr->op == Op::reg) touched.registers_read.insert(expr->id);
  if (expr->op == Op::load) touched.buffers.insert(expr->id);
  for (const Expr& arg : expr->args) add_touched(arg, touched);
}

Touched touched_by(const KernelBody& body) {
  Touched touched;
  add_body(body, touched);
  return touched;
}

bool reads_memory(const Expr& expr) {
  if (expr->op == Op::load) return true;
  for (const Expr& arg : expr->args)
    if (reads_memory(arg)) return true;
  return false;
}

bool is_pure_index(const Expr& expr, bool allow_casts) {
  if (expr->dtype != DType::i64) return false;
  switch (expr->op) {
    case Op::constant:
      return expr->int_value == static_cast<int32_t>(expr->int_value);
    case Op::var:
      return true;
    case Op::cast:
      return allow_casts && is_integer(expr->args[0]->dtype);
    case Op::select:
      return is_pure_index(expr->args[1], allow_casts) && is_pure_index(expr->args[2], allow_casts);
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::mod:
    case Op::min:
    case Op::max:
    case Op::neg:
    case Op::broadcast:
    case Op::ramp:
      for (const Expr& arg : expr->args)
        if (!is_pure_index(arg, allow_casts)) return false;
      return true;
    default:
      return false;
  }
}

std::set<int32_t> stack_buffers_of(const Kernel& kernel, const KernelFor* inside) {
  std::set<int32_t> serial;
  add_serial_buffers(kernel.body, serial);
  std::map<int32_t, std::set<const KernelFor*>> loops;
  visit_parallel(kernel.body, [&](const KernelFor& loop) {
    for (const int32_t buffer : touched_by(loop.body).buffers) loops[buffer].insert(&loop);
  });
  std::set<int32_t> mine;
  for (int32_t id = 0; id < kernel.buffers.size(); ++id) {
    if (kernel.buffers[BufferId{id}].space != Space::stack) continue;
    const bool private_to_one = !serial.contains(id) && loops[id].size() == 1;
    const KernelFor* owner = private_to_one ? *loops[id].begin() : nullptr;
    if (owner == inside) mine.insert(id);
  }
  return mine;
}

}  // namespace hone
