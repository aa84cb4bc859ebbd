// SPDX-License-Identifier: Apache-2.0
//
// The right answer of a task, and whether a candidate gave it.
//
// Where every order of evaluation gives the same bits (integers, integer-valued floats), one hash over
// each output decides. Elsewhere samples and sums of blocks are compared within the task's tolerance: the
// samples catch a wrong element value, the sums catch an element that no sample touches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/dtype.h"

namespace hone {

// One argument of a task, in the order of the Kernel's slots.
struct TaskBuffer {
  std::string name;
  DType dtype = DType::f32;
  int64_t elements = 0;
  bool is_output = false;
  int64_t low = 0;  // inputs: uniform integers in [low, high]
  int64_t high = 0;
};

// What a device must know to run candidates of a task, and how their answers are compared.
struct TaskData {
  std::vector<TaskBuffer> buffers;
  uint64_t seed = 0;  // of the inputs
  bool exact = true;
  // Tolerance where not exact: |got - want| ≤ absolute + relative · |want| + of_largest · max|want|,
  // the maximum over the samples.
  double relative = 0;
  double absolute = 0;
  double of_largest = 0;
};

// Each input has a seed of its own.
uint64_t input_seed(const TaskData& task, size_t buffer);

struct OutputAnswer {
  uint64_t hash = 0;                // exact
  std::vector<double> samples;      // tolerant: values at evenly spread elements
  std::vector<double> sums;         // tolerant: of blocks
  std::vector<double> magnitudes;   // tolerant: sums of absolute values
  bool operator==(const OutputAnswer&) const = default;
};

struct Answer {
  std::vector<OutputAnswer> outputs;  // in the order of the output buffers
  bool operator==(const Answer&) const = default;
};

// Error: which output is wrong and how, with the first value that is off.
Result<void> compare(const Answer& got, const Answer& want, const TaskData& task);

std::string to_json(const Answer& answer);
Result<Answer> answer_from_json(const std::string& text);

}  // namespace hone
