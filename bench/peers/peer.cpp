// SPDX-License-Identifier: Apache-2.0
#include "peers/peer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>

#include "peers/libraries.h"

namespace hone::bench {
namespace {

constexpr std::array kLibraries{
    PeerLibrary{"onednn", prepare_onednn},
    PeerLibrary{"onednn_nhwc", prepare_onednn_nhwc},
    PeerLibrary{"xnnpack", prepare_xnnpack},
    PeerLibrary{"openblas", prepare_openblas},
};

Result<double> time_runs_ns(PreparedPeer& peer, int64_t runs) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t run = 0; run < runs; ++run) TRYV(peer.run());
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / static_cast<double>(runs);
}

}  // namespace

std::span<const PeerLibrary> peer_libraries() { return kLibraries; }

Result<double> least_time_ns(PreparedPeer& peer, const TimingOptions& options) {
  TRYV(peer.run());
  const double first_ns = TRY(time_runs_ns(peer, 1));
  const auto runs = std::max<int64_t>(
      1, static_cast<int64_t>(std::ceil(options.sample_ns_at_least / std::max(first_ns, 100.0))));
  double least_ns = std::numeric_limits<double>::infinity();
  for (int sample = 0; sample < options.samples; ++sample)
    least_ns = std::min(least_ns, TRY(time_runs_ns(peer, runs)));
  return least_ns;
}

}  // namespace hone::bench
