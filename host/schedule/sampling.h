// SPDX-License-Identifier: Apache-2.0
//
// The domains that sampling instructions draw from. A domain is what the Program at hand makes of
// an instruction (the loop's extent is known there); it draws, checks and repairs decisions.
// Mutations and strategies work on domains, without a Program.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/rng.h"

namespace hone {

// Factors, outermost first. Their product is at least the extent (exact: equal to it), the
// outermost is what the others make necessary.
struct TileDomain {
  int64_t extent = 1;
  int64_t parts = 2;
  int64_t max = 0;          // of the innermost; 0: no limit
  int64_t multiple_of = 1;  // of the innermost
  bool exact = false;
  bool operator==(const TileDomain&) const = default;
};

// One index in [low, low + weights.size()).
struct ChoiceDomain {
  int64_t low = 0;
  std::vector<double> weights;
  bool operator==(const ChoiceDomain&) const = default;
};

using Domain = std::variant<TileDomain, ChoiceDomain>;

// Whether it has any member at all (7 has no divisor that is a multiple of 4).
Result<void> check_domain(const Domain& domain);

// The distribution. Choices: by weight. Tiles: from the innermost part outwards, each part among
// the sizes that are legal given those inside it; one half of the draws takes divisors only (all
// alike), so that sizes without a remainder are not lost among the others; the other half takes any
// size, with a probability that falls as 1/size, as sizes matter by their ratio.
std::vector<int64_t> draw(const Domain& domain, Rng& rng);

// Error: what is wrong with the decision.
Result<void> check_decision(const Domain& domain, const std::vector<int64_t>& decision);

// The member nearest to a decision of another domain (other extents, other limits): parts are
// clamped from the innermost outwards, and the outermost follows.
std::vector<int64_t> repair(const Domain& domain, const std::vector<int64_t>& decision);

// Sizes that the part may take whose inner parts have the product `inside` (innermost: 1),
// ascending. Not for the outermost, which follows. Empty: none.
std::vector<int64_t> tile_sizes(const TileDomain& domain, int64_t inside, bool innermost);

}  // namespace hone
