// SPDX-License-Identifier: Apache-2.0
//
// Random numbers whose every draw is defined here, so that a seed means the same search on every
// platform (the distributions of <random> differ between standard libraries).
// Generator: SplitMix64 (Steele, Lea, Flood 2014). Bounded draws: rejection, so without bias.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"

namespace hone {

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  // Uniform in [0, bound).
  int64_t below(int64_t bound) {
    ENSURE(bound > 0);
    const uint64_t limit = static_cast<uint64_t>(bound);
    const uint64_t reject_below = (0 - limit) % limit;
    for (;;) {
      const uint64_t draw = next();
      if (draw >= reject_below) return static_cast<int64_t>(draw % limit);
    }
  }

  // Uniform in [low, high], both included.
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  bool chance(double probability) { return uniform() < probability; }

  // An index drawn in proportion to its weight; weights are not negative and not all zero.
  int64_t weighted(std::span<const double> weights) {
    double total = 0;
    for (const double weight : weights) total += weight;
    ENSURE(total > 0);
    double left = uniform() * total;
    for (size_t i = 0; i < weights.size(); ++i) {
      left -= weights[i];
      if (left < 0) return static_cast<int64_t>(i);
    }
    return static_cast<int64_t>(weights.size()) - 1;
  }

  // A stream of its own, so that a part that draws more or less does not shift the others.
  Rng fork() { return Rng(next()); }

 private:
  uint64_t state_;
};

}  // namespace hone
