// SPDX-License-Identifier: Apache-2.0
#include "emit/checks.h"

#include <algorithm>
#include <set>

namespace hone {
namespace {

Result<void> check_task(const LibraryTask& task, const EmitBudgets& budgets) {
  if (budgets.stack && task.stack_bytes > *budgets.stack)
    return fail("task '{}' needs {} bytes of stack, {} more than the budget of {}", task.name,
                task.stack_bytes, task.stack_bytes - *budgets.stack, *budgets.stack);
  const int64_t workspace = task.workspace_for(task.threads());
  const int64_t ram = workspace + task.constants_bytes + task.stack_bytes;
  const std::string constants =
      task.has_constants() ? fmt::format(", {} of constants", task.constants_bytes) : "";
  if (budgets.ram && ram > *budgets.ram)
    return fail(
        "task '{}' needs {} bytes of RAM ({} of workspace for {} thread(s){} and {} of stack), {} "
        "more than the budget of {}",
        task.name, ram, workspace, task.threads(), constants, task.stack_bytes, ram - *budgets.ram,
        *budgets.ram);
  return {};
}

}  // namespace

Result<void> check_budgets(const Library& library, int64_t flash_bytes,
                           const EmitBudgets& budgets) {
  for (const LibraryTask& task : library.tasks) TRYV(check_task(task, budgets));
  if (!budgets.flash || flash_bytes <= *budgets.flash) return {};
  const auto size = [](const LibraryTask& task) { return task.text_bytes + task.rodata_bytes; };
  std::vector<const LibraryTask*> largest_first;
  for (const LibraryTask& task : library.tasks) largest_first.push_back(&task);
  std::ranges::sort(largest_first, [&](auto* a, auto* b) {
    return size(*a) != size(*b) ? size(*a) > size(*b) : a < b;
  });
  std::vector<std::string> parts;
  for (const LibraryTask* task : largest_first)
    parts.push_back(fmt::format("'{}' {}", task->name, size(*task)));
  return fail("the library needs {} bytes of flash, {} more than the budget of {}; of them {}",
              flash_bytes, flash_bytes - *budgets.flash, *budgets.flash, fmt::join(parts, ", "));
}

Result<void> check_symbols(const std::vector<ArchiveMember>& members, const std::string& prefix) {
  std::set<std::string> defined;
  std::vector<std::pair<std::string, std::string>> needed;
  for (const ArchiveMember& member : members) {
    const Symbols symbols = TRY(symbols_of(member.bytes));
    for (const std::string& symbol : symbols.defined) {
      if (!symbol.starts_with(prefix + "_"))
        return fail("{} defines '{}', which lacks the prefix '{}'", member.name, symbol, prefix);
      if (!defined.insert(symbol).second) return fail("'{}' is defined twice", symbol);
    }
    for (const std::string& symbol : symbols.undefined) needed.emplace_back(member.name, symbol);
  }
  for (const auto& [member, symbol] : needed)
    if (!defined.contains(symbol))
      return fail("{} calls '{}', which a library without dependencies must not", member, symbol);
  return {};
}

}  // namespace hone
