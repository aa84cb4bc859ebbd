// SPDX-License-Identifier: Apache-2.0
#include "tune/reference.h"

#include "base/hash.h"
#include "ir/text.h"
#include "measure/build.h"
#include "measure/runner.h"

namespace hone {
namespace {

// Seed of the inputs of every task: part of what a stored answer belongs to.
constexpr uint64_t kInputSeed = 1;
// Plain loops at some 0.5 GFLOP/s on a slow host, and a floor for the rest.
constexpr double kReferenceOpsPerSecond = 0.2e9;
constexpr double kReferenceFloorSeconds = 20;

TaskBuffer to_task_buffer(const Buffer& buffer) {
  TaskBuffer result;
  result.name = buffer.name;
  result.dtype = buffer.dtype;
  result.elements = element_count(buffer);
  result.is_output = buffer.kind == BufferKind::output;
  return result;
}

}  // namespace

TaskData to_task_data(const Task& task) {
  TaskData data;
  data.seed = kInputSeed;
  data.exact = task.check.exact;
  data.relative = task.check.tolerance.relative;
  data.absolute = task.check.tolerance.absolute;
  data.of_largest = task.check.tolerance.of_largest;
  for (const bool outputs : {false, true}) {
    for (int32_t i = 0; i < task.program.buffers.size(); ++i) {
      const Buffer& buffer = task.program.buffers[BufferId{i}];
      if (buffer.kind == BufferKind::temp || (buffer.kind == BufferKind::output) != outputs) continue;
      TaskBuffer row = to_task_buffer(buffer);
      for (const InputFill& fill : task.check.fills) {
        if (fill.tensor != BufferId{i}) continue;
        row.low = fill.low;
        row.high = fill.high;
      }
      data.buffers.push_back(std::move(row));
    }
  }
  return data;
}

Result<Answer> reference_answer(const Task& task, const TaskData& data, const Places& places,
                                Database& database) {
  const std::string hash = to_hex(task.hash);
  const int64_t seed = static_cast<int64_t>(data.seed);
  if (const auto stored = TRY(database.answer(hash, seed))) return answer_from_json(*stored);

  const Target native = TRY(find_target(places.targets_folder, "native"));
  const auto runner = TRY(open_runner({"local", places.agents_folder, native.agent}));
  BuildRequest request;
  request.program = print(task.program);
  request.load_address = runner->facts().load_address;
  const BuildResult built = build(request, native);
  if (const auto* failure = std::get_if<Failure>(&built))
    return fail("the reference of '{}' cannot be built: {}", task.name, failure->reason);
  TRYV(runner->set_up(data));
  const double deadline =
      kReferenceFloorSeconds + task.operations.nominal / kReferenceOpsPerSecond;
  auto answer = runner->answer_of(std::get<Built>(built), deadline);
  if (!answer)
    return std::unexpected(within(answer.error(), "the reference of '{}' does not run", task.name));
  TRYV(database.add_answer(hash, seed, to_json(*answer)));
  return answer;
}

}  // namespace hone
