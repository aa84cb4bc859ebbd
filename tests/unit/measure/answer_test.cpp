// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "measure/answer.h"

using namespace hone;

namespace {

TaskData task_of(bool exact) {
  TaskData task;
  task.buffers = {{"x", DType::f32, 8, false, -2, 2}, {"y", DType::f32, 8, true, 0, 0}};
  task.exact = exact;
  task.relative = 1e-5;
  task.absolute = 1e-6;
  return task;
}

Answer tolerant_answer() {
  return Answer{{OutputAnswer{0, {1, 2, 3}, {10, 20}, {10, 20}}}};
}

}  // namespace

TEST_CASE("exact answers are compared by their hash") {
  const Answer want{{OutputAnswer{7, {}, {}, {}}}};
  CHECK(compare(want, want, task_of(true)).has_value());
  CHECK_EQ(compare(Answer{{OutputAnswer{8, {}, {}, {}}}}, want, task_of(true)).error().message,
           "output 'y' differs: its hash is 0000000000000008, expected 0000000000000007");
}

TEST_CASE("tolerant answers are compared by samples and by block sums") {
  const Answer want = tolerant_answer();
  Answer got = want;
  got.outputs[0].samples[1] = 2.00001;
  CHECK(compare(got, want, task_of(false)).has_value());
  got.outputs[0].samples[1] = 2.001;
  CHECK(compare(got, want, task_of(false)).error().message.starts_with("output 'y' holds 2.001 at"));
  got = want;
  got.outputs[0].sums[1] = 20.5;
  CHECK(compare(got, want, task_of(false)).error().message.starts_with("output 'y': block 1 of 2"));
}

TEST_CASE("a part of the tolerance follows the largest sample") {
  const Answer want = tolerant_answer();
  Answer got = want;
  got.outputs[0].samples[0] = 1.002;
  TaskData task = task_of(false);
  CHECK_FALSE(compare(got, want, task).has_value());
  task.of_largest = 1e-3;  // of 3
  CHECK(compare(got, want, task).has_value());
  got.outputs[0].samples[0] = 1.004;
  CHECK_FALSE(compare(got, want, task).has_value());
}

TEST_CASE("NaN agrees with NaN only, infinity with itself only") {
  Answer want = tolerant_answer();
  Answer got = want;
  got.outputs[0].samples[0] = NAN;
  CHECK_FALSE(compare(got, want, task_of(false)).has_value());
  want.outputs[0].samples[0] = NAN;
  CHECK(compare(got, want, task_of(false)).has_value());
  want.outputs[0].samples[0] = INFINITY;
  CHECK_FALSE(compare(got, want, task_of(false)).has_value());
}

TEST_CASE("an answer that lacks an output is not right") {
  CHECK_FALSE(compare(Answer{}, tolerant_answer(), task_of(false)).has_value());
}

TEST_CASE("answers survive their JSON, infinities included") {
  Answer answer = tolerant_answer();
  answer.outputs[0].samples = {INFINITY, -INFINITY, 0.1};
  CHECK_EQ(answer_from_json(to_json(answer)).value(), answer);
  CHECK_FALSE(answer_from_json("[{]").has_value());
}
