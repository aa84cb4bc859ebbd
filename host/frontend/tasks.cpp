// SPDX-License-Identifier: Apache-2.0
#include "frontend/tasks.h"

#include "frontend/to_program.h"

namespace hone {

Result<Task> make_task(const Workload& workload) {
  Task task;
  task.name = workload.name;
  task.weight = workload.weight;
  task.graph = workload.graph;
  task.hash = hash_of(task.graph);
  task.program = to_program(task.graph, workload.name);
  auto check = plan_answer_check(task.graph);
  if (!check) return std::unexpected(within(check.error(), "{}", workload.name));
  task.check = std::move(*check);
  task.operations = count_operations(task.graph);
  return task;
}

}  // namespace hone
