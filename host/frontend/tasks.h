// SPDX-License-Identifier: Apache-2.0
//
// What the tuner works on. A workload is one task: its stages are tuned together, because what to
// fuse is the search's decision.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "frontend/fills.h"
#include "frontend/graph.h"
#include "frontend/operations.h"
#include "frontend/workload.h"
#include "ir/program.h"

namespace hone {

struct Task {
  std::string name;
  double weight = 1;
  uint64_t hash = 0;  // of the graph: the task's key in a database
  Graph graph;
  Program program;  // naive; buffer numbers are the graph's tensor numbers
  AnswerCheck check;
  OperationCount operations;
};

Result<Task> make_task(const Workload& workload);

}  // namespace hone
