// SPDX-License-Identifier: Apache-2.0
#include "sample_tasks.h"

#include <cstring>

#include <doctest/doctest.h>

#include "base/hash.h"
#include "base/rng.h"
#include "codegen/codegen.h"
#include "device/agent_data.h"
#include "frontend/workload.h"
#include "lower/lower.h"
#include "reference.h"
#include "schedule/replay.h"
#include "space/generate.h"

namespace hone {
namespace {

constexpr uint64_t kSeed = 1;
constexpr int kDraws = 40;  // a random candidate may ask for more than the target has

constexpr const char* kWorkloads = R"(
[[workload]]
name = "matmul"
op = "matmul"
m = 23
n = 37
k = 19
dtype = "f32"

[[workload]]
name = "conv.bias.relu"
ops = [
  { op = "conv2d", input = [1, 9, 7, 5], filters = 11, kernel = [3, 3], stride = 2, padding = 1, dtype = "f32" },
  { op = "bias" },
  { op = "relu" },
]

[[workload]]
name = "softmax"
compute = """
input X: f32[7, 33]
M[i:7]                = max(j:33) X[i, j]
E[i:7, j:33]          = exp(X[i, j] - M[i])
S[i:7]                = sum(j:33) E[i, j]
output Y[i:7, j:33]   = E[i, j] / S[i]
"""

[[workload]]
name = "matmul.i8"
compute = """
input A: i8[13, 29]
param B: i8[29, 21]
C[i:13, j:21]         = sum(k:29) i32(A[i, k]) * i32(B[k, j])
output D[i:13, j:21]  = sat_i8(C[i, j] >> 4)
"""

[[workload]]
name = "halves"
compute = """
input x: f16[67]
input X: bf16[67]
output for1[i:67]     = f16(f32(x[i]) * 2.0 + f32(X[i]))
"""

[[workload]]
name = "embedding"
compute = """
input workspace: i32[17]
param table: f32[50, 12]
output out[i:17, j:12] = table[min(max(workspace[i], 0), 49), j]
"""
)";

Array to_array(const Buffer& buffer, const std::vector<uint8_t>& bytes) {
  Array array(buffer.shape);
  for (size_t i = 0; i < array.data.size(); ++i) {
    const auto as = [&]<typename T>(T) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      return value;
    };
    switch (buffer.dtype) {
      case DType::b1:
      case DType::u8:
        array.data[i] = as(uint8_t{});
        break;
      case DType::i8:
        array.data[i] = as(int8_t{});
        break;
      case DType::i16:
        array.data[i] = as(int16_t{});
        break;
      case DType::i32:
        array.data[i] = as(int32_t{});
        break;
      case DType::i64:
        array.data[i] = static_cast<double>(as(int64_t{}));
        break;
      case DType::f16:
        array.data[i] = from_f16_bits(as(uint16_t{}));
        break;
      case DType::bf16:
        array.data[i] = from_bf16_bits(as(uint16_t{}));
        break;
      case DType::f32:
        array.data[i] = static_cast<double>(as(float{}));
        break;
      case DType::f64:
        array.data[i] = as(double{});
        break;
    }
  }
  return array;
}

std::vector<uint8_t> to_bytes(const Buffer& buffer, const Array& array) {
  std::vector<uint8_t> bytes(static_cast<size_t>(bytes_of(buffer)));
  for (size_t i = 0; i < array.data.size(); ++i) {
    const double value = array.data[i];
    const auto put = [&](auto stored) {
      std::memcpy(bytes.data() + i * sizeof stored, &stored, sizeof stored);
    };
    switch (buffer.dtype) {
      case DType::b1:
      case DType::u8:
        put(static_cast<uint8_t>(value));
        break;
      case DType::i8:
        put(static_cast<int8_t>(value));
        break;
      case DType::i16:
        put(static_cast<int16_t>(value));
        break;
      case DType::i32:
        put(static_cast<int32_t>(value));
        break;
      case DType::i64:
        put(static_cast<int64_t>(value));
        break;
      case DType::f16:
        put(to_f16_bits(value));
        break;
      case DType::bf16:
        put(to_bf16_bits(value));
        break;
      case DType::f32:
        put(static_cast<float>(value));
        break;
      case DType::f64:
        put(value);
        break;
    }
  }
  return bytes;
}

}  // namespace

std::vector<Task> sample_tasks() {
  const auto workloads = parse_workloads_toml(kWorkloads, "sample");
  REQUIRE_MESSAGE(workloads.has_value(), workloads.error().message);
  std::vector<Task> tasks;
  for (const Workload& workload : *workloads) {
    auto task = make_task(workload);
    REQUIRE_MESSAGE(task.has_value(), task.error().message);
    tasks.push_back(std::move(*task));
  }
  return tasks;
}

Result<GoldenVectors> evaluated_golden(const Task& task) {
  GoldenVectors golden;
  Arrays inputs;
  for (const InputFill& row : task.check.fills) {
    const Buffer& buffer = task.program.buffers[row.tensor];
    const GoldenInput input{hash_combine(kSeed, golden.inputs.size()), row.low, row.high};
    std::vector<uint8_t> bytes(static_cast<size_t>(bytes_of(buffer)));
    fill_buffer(bytes, static_cast<uint8_t>(buffer.dtype),
                {input.seed, static_cast<int32_t>(row.low), static_cast<int32_t>(row.high), 0});
    golden.inputs.push_back(input);
    inputs.emplace(buffer.name, to_array(buffer, bytes));
  }
  const Arrays outputs = run_naively(task.graph, inputs);
  for (const Buffer& buffer : task.program.buffers) {
    if (buffer.kind != BufferKind::output) continue;
    const OutputCheck check =
        check_output(to_bytes(buffer, outputs.at(buffer.name)), static_cast<uint8_t>(buffer.dtype),
                     !task.check.exact, 0);
    GoldenOutput output;
    output.hash = check.hash;
    output.samples = check.samples;
    for (const hone_block_sum& block : check.blocks) {
      output.sums.push_back(block.sum);
      output.magnitudes.push_back(block.magnitude);
    }
    golden.outputs.push_back(std::move(output));
  }
  return golden;
}

void add_random_records(Database& database, const std::vector<Task>& tasks, const Target& target,
                        const std::string& device, uint64_t seed) {
  Rng rng(seed);
  for (const Task& task : tasks) {
    const std::string hash = to_hex(task.hash);
    REQUIRE(database.add_workload(hash, task.name, print(task.graph)).has_value());
    const auto space = generate_space(task.program, target);
    REQUIRE_MESSAGE(space.has_value(), space.error().message);
    bool found = false;
    for (int draw = 0; draw < kDraws && !found; ++draw) {
      const Trace& skeleton = space->skeletons[static_cast<size_t>(
          rng.below(static_cast<int64_t>(space->skeletons.size())))];
      const auto sampled = sample(task.program, skeleton, rng);
      if (!sampled) continue;
      const auto kernel = lower(sampled->program, target, {});
      if (!kernel) continue;
      const auto object = compile(*kernel, target, {.entry = "entry", .optimize = true});
      if (!object) continue;
      Trial trial;
      trial.skeleton = print(skeleton);
      trial.decisions = print(sampled->decisions);
      trial.outcome.samples = {1234.0};
      trial.outcome.text_bytes = object->text_bytes;
      REQUIRE(database.add_trial({hash, target.name, "test", device, 1}, trial).has_value());
      found = true;
    }
    REQUIRE_MESSAGE(found, "no candidate of ", task.name, " for ", target.name, ", seed ", seed);
  }
}

}  // namespace hone
