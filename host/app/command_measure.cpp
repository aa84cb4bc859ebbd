// SPDX-License-Identifier: Apache-2.0
//
// hone measure: one schedule, the same way as tune does it: built, checked, timed. For looking closer at
// a candidate, and for trying a trace that a person wrote.
#include <memory>

#include <nlohmann/json.hpp>

#include "app/command.h"
#include "app/existing.h"
#include "app/options.h"
#include "app/selection.h"
#include "base/hash.h"
#include "ir/text.h"
#include "measure/build.h"
#include "measure/runner.h"
#include "schedule/replay.h"
#include "tune/reference.h"

namespace hone {
namespace {

struct Options {
  Selection selection;
  std::string device = "local";
  std::string database = ":memory:";
  RunLimits limits;
  bool json = false;
};

void report(const Task& task, const Outcome& outcome, bool json) {
  if (json) {
    nlohmann::json line{{"task", task.name},
                        {"status", outcome.failure ? to_string(outcome.failure->kind) : "ok"},
                        {"reason", outcome.failure ? outcome.failure->reason : ""},
                        {"unit", to_string(outcome.unit)},
                        {"emulated", outcome.emulated},
                        {"samples", outcome.samples},
                        {"text_bytes", outcome.text_bytes},
                        {"stack_bytes", outcome.stack_bytes},
                        {"workspace_bytes", outcome.workspace_bytes}};
    if (!outcome.context.empty()) line["context"] = nlohmann::json::parse(outcome.context);
    fmt::print("{}\n", line.dump());
    return;
  }
  if (outcome.failure) {
    fmt::print("{}: {}: {}\n", task.name, to_string(outcome.failure->kind), outcome.failure->reason);
    return;
  }
  const Summary summary = summarize(outcome.samples);
  fmt::print("{}: right; min {:.0f} {}, median {:.0f}, quartiles {:.0f} to {:.0f}, {} samples{}\n",
             task.name, summary.min, to_string(outcome.unit), summary.median, summary.q1, summary.q3,
             outcome.samples.size(), outcome.emulated ? " (emulated: not a core's time)" : "");
  if (outcome.unit == TimeUnit::ns && !outcome.emulated)
    fmt::print("  {:.2f} GFLOP/s of useful operations\n", task.operations.useful / summary.min);
  fmt::print("  code {} bytes, stack {}, workspace {}\n  {}\n", outcome.text_bytes,
             outcome.stack_bytes, outcome.workspace_bytes, outcome.context);
}

Result<Outcome> measure(const Options& options, const Installation& installation, const Task& task) {
  const Target target = TRY(find_target(installation.targets_folder, options.selection.target));
  const Trace trace = TRY(select_trace(options.selection, task, target));
  const Program program = TRY(replay(task.program, trace, decisions_of(trace)));
  const auto runner = TRY(open_runner({options.device, installation.agents_folder, target.agent}));
  const TaskData data = to_task_data(task);
  const auto database = TRY(open_sqlite(options.database));
  const Answer answer = TRY([&]() -> Result<Answer> {
    TRYV(database->add_workload(to_hex(task.hash), task.name, print(task.graph)));
    return reference_answer(task, data, places_of(installation), *database);
  }());
  TRYV(runner->set_up(data));
  const BuildResult result =
      build({print(program), runner->facts().load_address, true}, target);
  Outcome outcome;
  if (const auto* failure = std::get_if<Failure>(&result)) {
    outcome.failure = *failure;
    return outcome;
  }
  const Built& built = std::get<Built>(result);
  outcome = TRY(runner->run(built, answer, options.limits));
  outcome.text_bytes = built.text_bytes;
  outcome.stack_bytes = built.stack_bytes;
  outcome.workspace_bytes =
      built.workspace_bytes + options.limits.threads * built.workspace_bytes_per_worker;
  return outcome;
}

}  // namespace

CommandRun declare_measure(CLI::App& command) {
  auto options = std::make_shared<Options>();
  add_workload_options(command, options->selection);
  add_target_option(command, options->selection);
  add_schedule_options(command, options->selection);
  options->limits.samples = 20;
  options->limits.deadline_seconds = 60;
  options->limits.max_total_seconds = 5;
  command.add_option("--device", options->device, "where: local, exec:… (local)");
  command.add_option("--threads", options->limits.threads, "of parallel loops (1)")
      ->check(CLI::Range(1, 64));
  command.add_option("--samples", options->limits.samples, "how many (20)")->check(CLI::Range(1, 4096));
  command.add_option("--deadline", options->limits.deadline_seconds, "seconds for the whole (60)")
      ->check(seconds(false));
  command.add_flag("--json", options->json, "one object");
  return [=](const Installation& installation) -> Result<void> {
    const Task task = TRY(select_task(options->selection));
    report(task, TRY(measure(*options, installation, task)), options->json);
    return {};
  };
}

}  // namespace hone
