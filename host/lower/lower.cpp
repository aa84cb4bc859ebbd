// SPDX-License-Identifier: Apache-2.0
#include "lower/lower.h"

#include "ir/text.h"
#include "ir/verify.h"
#include "lower/emitter.h"
#include "lower/limits.h"
#include "lower/storage.h"

namespace hone {
namespace {

void collect_vars(const Expr& expr, std::vector<bool>& used) {
  if (expr->op == Op::var) used[static_cast<size_t>(expr->id)] = true;
  for (const Expr& arg : expr->args) collect_vars(arg, used);
}

// Loops and tests that hold nothing go, and variables that nothing uses. Backwards, so that uses
// come before what is used.
void drop_unused(KernelBody& body, std::vector<bool>& used) {
  const auto is_unused = [&](KernelStmt& stmt) {
    if (auto* loop = std::get_if<KernelFor>(&stmt.node)) {
      drop_unused(loop->body, used);
      if (loop->body.empty()) return true;
      collect_vars(loop->end, used);
    } else if (auto* branch = std::get_if<KernelIf>(&stmt.node)) {
      drop_unused(branch->then_body, used);
      drop_unused(branch->else_body, used);
      if (branch->then_body.empty() && branch->else_body.empty()) return true;
      collect_vars(branch->condition, used);
    } else if (auto* let = std::get_if<KernelLet>(&stmt.node)) {
      if (!used[static_cast<size_t>(let->var.value)]) return true;
      collect_vars(let->value, used);
    } else if (auto* set = std::get_if<KernelSet>(&stmt.node)) {
      collect_vars(set->value, used);
    } else {
      const auto& store = std::get<KernelStore>(stmt.node);
      collect_vars(store.index, used);
      collect_vars(store.value, used);
      if (store.mask) collect_vars(store.mask, used);
    }
    return false;
  };
  bool any = false;
  std::vector<bool> unused(body.size());
  for (size_t i = body.size(); i-- > 0;) any = (unused[i] = is_unused(body[i])) || any;
  if (!any) return;
  size_t kept = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    if (unused[i]) continue;
    if (kept != i) body[kept] = std::move(body[i]);
    ++kept;
  }
  body.erase(body.begin() + static_cast<std::ptrdiff_t>(kept), body.end());
}

// What the Kernel's nests are of: a call, or what comes ahead of all calls.
Result<Kernel> lower_nests(const Program& program, bool constants, const Target& target,
                           const LowerOptions& options) {
  const auto log = [&](std::string_view pass, const auto& stage) {
    if (options.log) options.log(pass, print(stage));
  };
  log("scheduling", program);

  std::vector<Node> nests = program.body;
  std::erase_if(nests,
                [&](const Node& nest) { return makes_constants(program, nest) != constants; });
  Kernel kernel;
  kernel.name = program.name;
  std::vector<Storage> storage = TRY(plan_storage(program, nests, kernel));
  log("storage", kernel);

  TRYV(Emitter(program, target, kernel, std::move(storage)).run(nests, !constants));
  log("loops, tails, vectors, register tiles", kernel);

  std::vector<bool> used(static_cast<size_t>(kernel.vars.size()));
  drop_unused(kernel.body, used);
  log("unused variables, empty loops", kernel);

  TRYV(check_registers(kernel, target));
  return kernel;
}

}  // namespace

Result<Kernel> lower(const Program& program, const Target& target, const LowerOptions& options) {
  return lower_nests(program, false, target, options);
}

Result<Kernel> lower_constants(const Program& program, const Target& target,
                               const LowerOptions& options) {
  return lower_nests(program, true, target, options);
}

}  // namespace hone
