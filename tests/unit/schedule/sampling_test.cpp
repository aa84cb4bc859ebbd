// SPDX-License-Identifier: Apache-2.0
#include "schedule/sampling.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

namespace hone {
namespace {

TileDomain tile(int64_t extent, int64_t parts, int64_t max, int64_t multiple_of, bool exact) {
  return {extent, parts, max, multiple_of, exact};
}

TEST_CASE("every draw is legal, and repairing it changes nothing") {
  Rng rng(7);
  int domains = 0;
  for (int i = 0; i < 3000; ++i) {
    const Domain domain =
        tile(rng.between(1, 200), rng.between(2, 4), rng.chance(0.5) ? rng.between(1, 64) : 0,
             rng.between(1, 8), rng.chance(0.5));
    if (!check_domain(domain)) continue;
    ++domains;
    const std::vector<int64_t> decision = draw(domain, rng);
    const Result<void> good = check_decision(domain, decision);
    CHECK_MESSAGE(good.has_value(), good.error().message);
    CHECK(repair(domain, decision) == decision);
  }
  CHECK(domains > 1000);
}

TEST_CASE("a repaired decision of any other domain is legal") {
  Rng rng(8);
  for (int i = 0; i < 3000; ++i) {
    const Domain to =
        tile(rng.between(1, 200), rng.between(2, 4), rng.chance(0.5) ? rng.between(8, 64) : 0,
             rng.between(1, 8), rng.chance(0.5));
    if (!check_domain(to)) continue;
    std::vector<int64_t> decision;
    for (int64_t k = rng.between(0, 6); k > 0; --k) decision.push_back(rng.between(-3, 300));
    const Result<void> good = check_decision(to, repair(to, decision));
    CHECK_MESSAGE(good.has_value(), good.error().message);
  }
  const Domain choice = ChoiceDomain{-1, {1, 1, 1}};
  CHECK(repair(choice, {7}) == std::vector<int64_t>{1});
  CHECK(repair(choice, {-7}) == std::vector<int64_t>{-1});
  CHECK(repair(choice, {}) == std::vector<int64_t>{-1});
}

TEST_CASE("repair keeps inner sizes and lets the outermost follow") {
  CHECK(repair(tile(100, 3, 0, 1, false), {9, 4, 14}) == std::vector<int64_t>{2, 4, 14});
  CHECK(repair(tile(100, 3, 8, 1, false), {9, 4, 14}) == std::vector<int64_t>{4, 4, 8});
  CHECK(repair(tile(96, 2, 0, 1, true), {9, 15}) == std::vector<int64_t>{6, 16});
}

TEST_CASE("all legal sizes are drawn, divisors more often") {
  const TileDomain domain = tile(21, 2, 0, 1, false);
  Rng rng(9);
  std::map<int64_t, int> seen;
  for (int i = 0; i < 20000; ++i) ++seen[draw(Domain(domain), rng)[1]];
  const std::vector<int64_t> sizes = tile_sizes(domain, 1, true);
  CHECK(sizes.size() == 21);
  for (const int64_t size : sizes) CHECK_MESSAGE(seen[size] > 100, size);
  for (const int64_t divisor : {3, 7, 21}) CHECK(seen[divisor] > 2 * seen[divisor - 1]);
}

TEST_CASE("an innermost size may be the one that is not full") {
  const TileDomain domain = tile(7, 2, 0, 8, false);
  CHECK(tile_sizes(domain, 1, true) == std::vector<int64_t>{8});
  Rng rng(1);
  CHECK(draw(Domain(domain), rng) == std::vector<int64_t>{1, 8});
}

TEST_CASE("a prime extent has exact tiles, and many others") {
  CHECK(tile_sizes(tile(13, 2, 0, 1, true), 1, true) == std::vector<int64_t>{1, 13});
  CHECK(tile_sizes(tile(13, 2, 0, 1, false), 1, true).size() == 13);
}

TEST_CASE("choices follow their weights") {
  const Domain domain = ChoiceDomain{0, {1, 0, 3}};
  Rng rng(3);
  std::map<int64_t, int> seen;
  for (int i = 0; i < 8000; ++i) ++seen[draw(domain, rng)[0]];
  CHECK(seen.size() == 2);
  CHECK(seen[2] > 5700);
  CHECK(seen[2] < 6300);
}

TEST_CASE("a seed says what is drawn") {
  const Domain domain = tile(1000, 4, 0, 1, false);
  Rng a(5);
  Rng b(5);
  std::set<std::vector<int64_t>> seen;
  for (int i = 0; i < 100; ++i) {
    const std::vector<int64_t> decision = draw(domain, a);
    CHECK(decision == draw(domain, b));
    seen.insert(decision);
  }
  CHECK(seen.size() > 60);
}

}  // namespace
}  // namespace hone
