// SPDX-License-Identifier: Apache-2.0
#include "lower/lower.h"

#include "ir/text.h"
#include "lower/emitter.h"
#include "lower/limits.h"
#include "lower/math.h"
#include "lower/storage.h"

namespace hone {
namespace {

// Loops and tests that hold nothing go.
void drop_empty(KernelBody& body) {
  for (KernelStmt& stmt : body) {
    if (auto* loop = std::get_if<KernelFor>(&stmt.node)) drop_empty(loop->body);
    if (auto* branch = std::get_if<KernelIf>(&stmt.node)) {
      drop_empty(branch->then_body);
      drop_empty(branch->else_body);
    }
  }
  std::erase_if(body, [](const KernelStmt& stmt) {
    if (const auto* loop = std::get_if<KernelFor>(&stmt.node)) return loop->body.empty();
    if (const auto* branch = std::get_if<KernelIf>(&stmt.node))
      return branch->then_body.empty() && branch->else_body.empty();
    return false;
  });
}

}  // namespace

Result<Kernel> lower(const Program& program, const Target& target, const LowerOptions& options) {
  const auto log = [&](std::string_view pass, const auto& stage) {
    if (options.log) options.log(pass, print(stage));
  };
  log("scheduling", program);

  Kernel kernel;
  kernel.name = program.name;
  std::vector<Storage> storage = TRY(plan_storage(program, kernel));
  log("storage", kernel);

  TRYV(Emitter(program, target, kernel, std::move(storage)).run());
  log("loops, tails, vectors, register tiles", kernel);

  drop_empty(kernel.body);
  log("empty loops", kernel);

  TRYV(check_registers(kernel, target));

  TRYV(write_out_math(kernel));
  log("mathematics", kernel);
  return kernel;
}

}  // namespace hone
