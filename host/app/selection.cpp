// SPDX-License-Identifier: Apache-2.0
#include "app/selection.h"

#include <algorithm>

#include "app/existing.h"
#include "app/options.h"
#include "base/rng.h"
#include "base/text.h"
#include "schedule/replay.h"
#include "space/generate.h"
#include "tune/best.h"

namespace hone {

void add_workload_options(CLI::App& command, Selection& selection) {
  command.add_option("workload", selection.workloads, "workload files: TOML or the text language")
      ->required();
  command.add_option("--task", selection.task, "only the workload of this name");
}

void add_target_option(CLI::App& command, Selection& selection) {
  command.add_option("--target", selection.target, "a core of targets/, or native (native)");
}

void add_schedule_options(CLI::App& command, Selection& selection) {
  command.add_option("--trace", selection.trace_file, "a file with a closed trace");
  command.add_option("--skeleton", selection.skeleton, "number of a skeleton of the target's space")
      ->check(whole_number<int64_t>(0));
  command.add_option("--decisions", selection.decisions, "its decisions; drawn at random without");
  command.add_option("--seed", selection.seed, "for decisions drawn at random (0)")
      ->check(whole_number<uint64_t>(0));
  command.add_option("--best", selection.best_of, "the best record of this database");
}

Result<std::vector<Task>> select_tasks(const Selection& selection) {
  std::vector<Task> tasks;
  std::vector<std::string> names;
  for (const std::string& file : selection.workloads) {
    for (const Workload& workload : TRY(load_workloads(file))) {
      if (std::find(names.begin(), names.end(), workload.name) != names.end())
        return fail("{}: there is a workload '{}' already", file, workload.name);
      names.push_back(workload.name);
      if (!selection.task.empty() && workload.name != selection.task) continue;
      tasks.push_back(TRY(make_task(workload)));
    }
  }
  if (tasks.empty())
    return fail("there is no workload '{}'; there are: {}", selection.task, join(names, ", "));
  return tasks;
}

Result<Task> select_task(const Selection& selection) {
  std::vector<Task> tasks = TRY(select_tasks(selection));
  if (tasks.size() == 1) return std::move(tasks[0]);
  std::vector<std::string> names;
  for (const Task& task : tasks) names.push_back(task.name);
  return fail("there are several workloads; choose one with --task: {}", join(names, ", "));
}

namespace {

Result<Trace> skeleton_trace(const Selection& selection, const Task& task, const Target& target) {
  const DesignSpace space = TRY(generate_space(task.program, target));
  const int64_t count = static_cast<int64_t>(space.skeletons.size());
  if (selection.skeleton >= count)
    return fail("the space of '{}' has skeletons 0 to {}, not {}", task.name, count - 1,
                selection.skeleton);
  const Trace& skeleton = space.skeletons[static_cast<size_t>(selection.skeleton)];
  if (!selection.decisions.empty()) {
    const Decisions decisions = TRY(parse_decisions(selection.decisions, "--decisions"));
    if (decisions.size() != sampling_count(skeleton))
      return fail("--decisions gives {} decisions, skeleton {} of '{}' takes {}", decisions.size(),
                  selection.skeleton, task.name, sampling_count(skeleton));
    return close(skeleton, decisions);
  }
  Rng rng(selection.seed);
  return close(skeleton, TRY(sample(task.program, skeleton, rng)).decisions);
}

}  // namespace

Result<Trace> select_trace(const Selection& selection, const Task& task, const Target& target) {
  const int ways = !selection.trace_file.empty() + (selection.skeleton >= 0) +
                   !selection.best_of.empty();
  if (ways > 1) return fail("--trace, --skeleton and --best exclude each other");
  if (!selection.decisions.empty() && selection.skeleton < 0)
    return fail("--decisions needs --skeleton: of which skeleton?");
  if (!selection.trace_file.empty())
    return parse_trace(TRY(read_file(selection.trace_file)), selection.trace_file);
  if (selection.skeleton >= 0) return skeleton_trace(selection, task, target);
  if (!selection.best_of.empty()) {
    const auto db = TRY(open_existing(selection.best_of));
    return TRY(best_record(*db, task, target, {})).trace;
  }
  return Trace{};
}

Places places_of(const Installation& installation) {
  return {installation.targets_folder,
          installation.agents_folder,
          {installation.program, "build-worker", "--targets", installation.targets_folder,
           "--target"}};
}

}  // namespace hone
