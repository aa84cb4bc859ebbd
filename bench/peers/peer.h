// SPDX-License-Identifier: Apache-2.0
//
// One interface over the libraries that Hone is compared with. Preparing a case does once what a
// deployed model does once (choose a kernel, pack the weights); running it is what is timed. A
// prepared case can be run at any time, so own kernels and peers' can take turns in one process.
//
//   onednn        oneDNN, activations in whatever layout it likes best (reorders are not timed)
//   onednn_nhwc   oneDNN, activations channels-last as in the workload files
//   xnnpack       XNNPACK, channels-last
//   openblas      sgemm and sdot, row-major, operands as they are
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "peers/case.h"

namespace hone::bench {

class PreparedPeer {
 public:
  virtual ~PreparedPeer() = default;
  virtual Result<void> run() = 0;
  // What the last run computed, in the layout of the workload files.
  virtual Result<std::vector<float>> output() = 0;
};

// Null when the library has no operator for the shape.
using MaybePeer = std::unique_ptr<PreparedPeer>;

struct PeerLibrary {
  std::string_view name;
  Result<MaybePeer> (*prepare)(const Shape& shape, const Inputs& inputs, int threads);
};

std::span<const PeerLibrary> peer_libraries();

struct TimingOptions {
  int samples = 5;                    // the least of them is the result
  double sample_ns_at_least = 500e3;  // a sample repeats the run until it lasts this long
};

// Runs twice to warm up, then samples; nanoseconds a run. Threads must be pinned already.
Result<double> least_time_ns(PreparedPeer& peer, const TimingOptions& options);

}  // namespace hone::bench
