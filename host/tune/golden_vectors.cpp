// SPDX-License-Identifier: Apache-2.0
#include "tune/golden_vectors.h"

#include "base/hash.h"
#include "tune/reference.h"

namespace hone {

Result<GoldenVectors> golden_vectors(const Task& task, const Places& places, Database& database) {
  const TaskData data = to_task_data(task);
  TRYV(database.add_workload(to_hex(task.hash), task.name, print(task.graph)));
  const Answer answer = TRY(reference_answer(task, data, places, database));
  GoldenVectors golden;
  for (size_t i = 0; i < data.buffers.size(); ++i)
    if (!data.buffers[i].is_output)
      golden.inputs.push_back({input_seed(data, i), data.buffers[i].low, data.buffers[i].high});
  for (const OutputAnswer& output : answer.outputs)
    golden.outputs.push_back({output.hash, output.samples, output.sums, output.magnitudes});
  return golden;
}

}  // namespace hone
