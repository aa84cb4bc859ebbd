// SPDX-License-Identifier: Apache-2.0
#include "schedule/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace hone {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// What is left for a part and those outside it.
int64_t left_of(const TileDomain& domain, int64_t inside) {
  return ceil_div(domain.extent, inside);
}

// Bounds of a part that need not divide: all multiples of `step` in [step, high] are legal.
struct Sizes {
  int64_t step = 1;
  int64_t high = 1;
};
Sizes free_sizes(const TileDomain& domain, int64_t inside, bool innermost) {
  const int64_t left = left_of(domain, inside);
  if (!innermost) return {1, left};
  const int64_t step = domain.multiple_of;
  int64_t high = ceil_div(left, step) * step;  // one that is not full is allowed: 8 lanes for 7
  if (domain.max > 0) high = std::min(high, domain.max / step * step);
  return {step, std::max(high, step)};
}

std::vector<int64_t> divisors(int64_t value) {
  std::vector<int64_t> low;
  std::vector<int64_t> high;
  for (int64_t d = 1; d * d <= value; ++d) {
    if (value % d != 0) continue;
    low.push_back(d);
    if (d != value / d) high.push_back(value / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

std::vector<int64_t> dividing_sizes(const TileDomain& domain, int64_t inside, bool innermost) {
  if (domain.extent % inside != 0) return {};
  std::vector<int64_t> sizes = divisors(domain.extent / inside);
  if (innermost) {
    std::erase_if(sizes, [&](int64_t size) {
      return size % domain.multiple_of != 0 || (domain.max > 0 && size > domain.max);
    });
  }
  return sizes;
}

// A multiple of step in [step, high]; the logarithm is uniform.
int64_t draw_free(Sizes sizes, Rng& rng) {
  const int64_t count = sizes.high / sizes.step;
  const double log_size = rng.uniform() * std::log(static_cast<double>(count) + 1);
  const auto index = static_cast<int64_t>(std::exp(log_size));
  return sizes.step * std::clamp<int64_t>(index, 1, count);
}

int64_t nearest(const std::vector<int64_t>& sizes, int64_t wish) {
  return *std::min_element(sizes.begin(), sizes.end(), [&](int64_t a, int64_t b) {
    return std::abs(a - wish) < std::abs(b - wish);
  });
}

std::vector<int64_t> draw_tile(const TileDomain& domain, Rng& rng) {
  std::vector<int64_t> parts(static_cast<size_t>(domain.parts));
  const bool dividing = domain.exact || rng.chance(0.5);
  int64_t inside = 1;
  for (size_t i = parts.size(); i-- > 1;) {
    const bool innermost = i + 1 == parts.size();
    const std::vector<int64_t> sizes =
        dividing ? dividing_sizes(domain, inside, innermost) : std::vector<int64_t>{};
    parts[i] = sizes.empty()
                   ? draw_free(free_sizes(domain, inside, innermost), rng)
                   : sizes[static_cast<size_t>(rng.below(static_cast<int64_t>(sizes.size())))];
    inside *= parts[i];
  }
  parts[0] = left_of(domain, inside);
  return parts;
}

std::vector<int64_t> repair_tile(const TileDomain& domain, const std::vector<int64_t>& decision) {
  std::vector<int64_t> parts(static_cast<size_t>(domain.parts));
  int64_t inside = 1;
  for (size_t i = parts.size(); i-- > 1;) {
    const bool innermost = i + 1 == parts.size();
    const size_t from_end = parts.size() - i;
    const int64_t wish = from_end <= decision.size() ? decision[decision.size() - from_end] : 1;
    if (domain.exact) {
      parts[i] = nearest(dividing_sizes(domain, inside, innermost), wish);
    } else {
      const Sizes sizes = free_sizes(domain, inside, innermost);
      parts[i] = std::clamp(wish / sizes.step * sizes.step, sizes.step, sizes.high);
    }
    inside *= parts[i];
  }
  parts[0] = left_of(domain, inside);
  return parts;
}

Result<void> check_tile(const TileDomain& domain, const std::vector<int64_t>& decision) {
  if (decision.size() != static_cast<size_t>(domain.parts))
    return fail("the decision has {} parts, expected {}", decision.size(), domain.parts);
  int64_t inside = 1;
  for (size_t i = decision.size(); i-- > 1;) {
    const bool innermost = i + 1 == decision.size();
    const int64_t part = decision[i];
    const Sizes sizes = free_sizes(domain, inside, innermost);
    if (part < 1 || part > sizes.high)
      return fail("part {} of the decision is {}, expected 1 to {}", i, part, sizes.high);
    if (innermost && domain.multiple_of > 1 && part % domain.multiple_of != 0)
      return fail("part {} of the decision is {}, expected a multiple of {}", i, part,
                  domain.multiple_of);
    if (domain.exact && left_of(domain, inside) % part != 0)
      return fail("part {} of the decision is {}, which does not divide {}", i, part,
                  left_of(domain, inside));
    inside *= part;
  }
  if (decision[0] != left_of(domain, inside))
    return fail("part 0 of the decision is {}, expected {}: extent {} over {}", decision[0],
                left_of(domain, inside), domain.extent, inside);
  return {};
}

Result<void> check_choice(const ChoiceDomain& domain, const std::vector<int64_t>& decision) {
  if (decision.size() != 1)
    return fail("the decision has {} values, expected one", decision.size());
  const int64_t high = domain.low + static_cast<int64_t>(domain.weights.size()) - 1;
  if (decision[0] < domain.low || decision[0] > high)
    return fail("the decision is {}, expected {} to {}", decision[0], domain.low, high);
  return {};
}

}  // namespace

Result<void> check_domain(const Domain& domain) {
  if (const auto* choice = std::get_if<ChoiceDomain>(&domain)) {
    if (choice->weights.empty()) return fail("there is nothing to choose from");
    if (std::any_of(choice->weights.begin(), choice->weights.end(), [](double w) { return w < 0; }))
      return fail("a weight is negative");
    if (std::all_of(choice->weights.begin(), choice->weights.end(),
                    [](double w) { return w == 0; }))
      return fail("all weights are 0");
    return {};
  }
  const auto& tile = std::get<TileDomain>(domain);
  if (tile.parts < 2 || tile.parts > 16) return fail("parts is {}, expected 2 to 16", tile.parts);
  if (tile.multiple_of < 1) return fail("multiple_of is {}, expected 1 or more", tile.multiple_of);
  if (tile.max < 0) return fail("max is {}, expected 0 or more", tile.max);
  if (tile.max > 0 && tile.max < tile.multiple_of)
    return fail("max is {}, below multiple_of, which is {}", tile.max, tile.multiple_of);
  if (tile.exact && tile.extent % tile.multiple_of != 0)
    return fail("extent {} has no divisor that is a multiple of {}", tile.extent, tile.multiple_of);
  return {};
}

std::vector<int64_t> draw(const Domain& domain, Rng& rng) {
  if (const auto* tile = std::get_if<TileDomain>(&domain)) return draw_tile(*tile, rng);
  const auto& choice = std::get<ChoiceDomain>(domain);
  return {choice.low + rng.weighted(choice.weights)};
}

Result<void> check_decision(const Domain& domain, const std::vector<int64_t>& decision) {
  if (const auto* tile = std::get_if<TileDomain>(&domain)) return check_tile(*tile, decision);
  return check_choice(std::get<ChoiceDomain>(domain), decision);
}

std::vector<int64_t> repair(const Domain& domain, const std::vector<int64_t>& decision) {
  if (const auto* tile = std::get_if<TileDomain>(&domain)) return repair_tile(*tile, decision);
  const auto& choice = std::get<ChoiceDomain>(domain);
  const int64_t high = choice.low + static_cast<int64_t>(choice.weights.size()) - 1;
  return {decision.empty() ? choice.low : std::clamp(decision[0], choice.low, high)};
}

std::vector<int64_t> tile_sizes(const TileDomain& domain, int64_t inside, bool innermost) {
  if (domain.exact) return dividing_sizes(domain, inside, innermost);
  const Sizes sizes = free_sizes(domain, inside, innermost);
  std::vector<int64_t> result;
  for (int64_t size = sizes.step; size <= sizes.high; size += sizes.step) result.push_back(size);
  return result;
}

}  // namespace hone
