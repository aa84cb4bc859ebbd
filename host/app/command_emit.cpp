// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "app/command.h"
#include "app/existing.h"
#include "app/options.h"
#include "app/selection.h"
#include "base/text.h"
#include "emit/emit.h"
#include "tune/golden_vectors.h"

namespace hone {
namespace {

struct Options {
  Selection selection;
  std::string folder;
  std::string prefix = "hone";
  std::string database = "hone.db";
  std::string device;
  int64_t threads = 0;
  bool allow_untuned = false;
  int64_t max_flash = -1;
  int64_t max_ram = -1;
  int64_t max_stack = -1;
  int64_t source_date_epoch = -1;
};

std::optional<int64_t> if_given(int64_t value) {
  return value < 0 ? std::nullopt : std::optional(value);
}

void report(const EmitReport& report, const Options& options) {
  for (const EmittedTask& task : report.tasks)
    fmt::print(
        "{:<24} {:<10} code {} + tables {} bytes, stack {}, constants {}, workspace {} + {} for "
        "each "
        "thread\n",
        task.function,
        !task.tuned         ? "untuned"
        : !task.best        ? "tuned"
        : task.unit == "ns" ? fmt::format("{:.1f} us", *task.best / 1e3)
                            : fmt::format("{:.0f} {}", *task.best, task.unit),
        task.text_bytes, task.rodata_bytes, task.stack_bytes, task.constants_bytes,
        task.workspace_bytes, task.workspace_bytes_per_thread);
  for (const std::string& warning : report.warnings) fmt::print(stderr, "warning: {}\n", warning);
  fmt::print("{} files in {}, {} bytes of flash\n", report.files.size(), options.folder,
             report.flash_bytes);
}

}  // namespace

CommandRun declare_emit(CLI::App& command) {
  auto options = std::make_shared<Options>();
  add_workload_options(command, options->selection);
  add_target_option(command, options->selection);
  command.add_option("--out", options->folder, "the library's folder")->required();
  command.add_option("--prefix", options->prefix, "of every name in the library (hone)");
  command.add_option("--db", options->database, "the database file (hone.db)");
  command.add_option("--device", options->device, "only records of this device");
  command.add_option("--threads", options->threads, "only records with so many threads")
      ->check(CLI::Range(1, 64));
  command.add_flag("--allow-untuned", options->allow_untuned,
                   "plain loops for workloads without a record");
  command.add_option("--max-flash", options->max_flash, "bytes of code and constants")
      ->check(whole_number<int64_t>(0));
  command.add_option("--max-ram", options->max_ram, "bytes of workspace and stack")
      ->check(whole_number<int64_t>(0));
  command.add_option("--max-stack", options->max_stack, "bytes of stack")
      ->check(whole_number<int64_t>(0));
  command.add_option("--source-date-epoch", options->source_date_epoch,
                     "a date for the build information; without, there is none")
      ->check(whole_number<int64_t>(0));
  return [=](const Installation& installation) -> Result<void> {
    if (options->folder.empty()) return fail("--out is empty, expected the library's folder");
    const std::vector<Task> tasks = TRY(select_tasks(options->selection));
    const Places places = places_of(installation);
    std::unique_ptr<Database> database;
    if (options->allow_untuned && !std::filesystem::exists(options->database)) {
      database = TRY(open_sqlite(":memory:"));
    } else {
      database = TRY(open_existing(options->database));
    }
    EmitRequest request;
    for (const Task& task : tasks) request.tasks.push_back(&task);
    request.target = TRY(find_target(installation.targets_folder, options->selection.target));
    request.prefix = options->prefix;
    request.folder = options->folder;
    request.database = database.get();
    if (!options->device.empty()) request.device = options->device;
    if (options->threads > 0) request.threads = options->threads;
    request.allow_untuned = options->allow_untuned;
    request.budgets = {if_given(options->max_flash), if_given(options->max_ram),
                       if_given(options->max_stack)};
    request.source_date_epoch = if_given(options->source_date_epoch);
    request.tune_command =
        fmt::format("hone tune {} --target {} --db {}", join(options->selection.workloads, " "),
                    request.target.name, options->database);
    request.golden = [&](const Task& task) { return golden_vectors(task, places, *database); };
    report(TRY(emit_library(request)), *options);
    return {};
  };
}

}  // namespace hone
