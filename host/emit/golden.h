// SPDX-License-Identifier: Apache-2.0
//
// What an emitted self-test fills inputs with and what it expects. Whoever calls emit gives it,
// because the right answer comes from a run, and this folder runs nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace hone {

struct GoldenInput {  // integers of [low, high] from a seed, as the device agent makes them
  uint64_t seed = 0;
  int64_t low = 0;
  int64_t high = 0;
};

// What the agent says about an output. In exact tasks and in integer outputs the hash decides; else
// samples at equal distances, and sums of as many equal blocks as there are sums.
struct GoldenOutput {
  uint64_t hash = 0;
  std::vector<double> samples;
  std::vector<double> sums;
  std::vector<double> magnitudes;  // sums of absolute values
};

struct GoldenVectors {
  std::vector<GoldenInput> inputs;    // inputs and params by slot
  std::vector<GoldenOutput> outputs;  // outputs by slot
};

}  // namespace hone
