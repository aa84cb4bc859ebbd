// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "base/rng.h"
#include "ir/affine.h"

using namespace hone;

namespace {

// Loop extents that grow as the test makes loops.
struct Loops {
  std::vector<int64_t> extent;
  LoopId add(int64_t value) {
    extent.push_back(value);
    return LoopId{static_cast<int32_t>(extent.size() - 1)};
  }
  LoopExtents extents() const {
    return [this](LoopId loop) { return extent[static_cast<size_t>(loop.value)]; };
  }
};

std::string text(const Affine& form) {
  return print(form, [](LoopId loop) { return fmt::format("l{}", loop.value); });
}

}  // namespace

TEST_CASE("splitting and fusing back gives the loop itself") {
  Loops loops;
  const LoopId i = loops.add(512);
  const LoopId i0 = loops.add(37);
  const LoopId i1 = loops.add(14);
  const Affine split = add(scale(affine_loop(i0), 14), affine_loop(i1));
  const Affine binding = substitute(affine_loop(i), i, split, loops.extents());
  CHECK_EQ(text(binding), "l1*14+l2");
  const LoopId f = loops.add(37 * 14);
  const Affine high = quotient(affine_loop(f), 14, loops.extents());
  const Affine low = remainder(affine_loop(f), 14, loops.extents());
  const Affine half = substitute(binding, i0, high, loops.extents());
  const Affine whole = substitute(half, i1, low, loops.extents());
  CHECK_EQ(whole.as_loop(), f);
}

TEST_CASE("fusing and splitting at another place keeps the digits that line up") {
  Loops loops;
  const LoopId f = loops.add(64 * 64);
  const LoopId f0 = loops.add(16);
  const LoopId f1 = loops.add(256);
  const Affine sum = add(scale(affine_loop(f0), 256), affine_loop(f1));
  const Affine high = quotient(affine_loop(f), 64, loops.extents());
  CHECK_EQ(text(substitute(high, f, sum, loops.extents())), "l1*4+l2/64");
  const Affine low = remainder(affine_loop(f), 64, loops.extents());
  CHECK_EQ(text(substitute(low, f, sum, loops.extents())), "l2%64");
}

TEST_CASE("ranges make a needless mod and a needless term go") {
  Loops loops;
  const LoopId i = loops.add(10);
  CHECK_EQ(text(remainder(affine_loop(i), 16, loops.extents())), "l0");
  CHECK_EQ(text(quotient(affine_loop(i), 16, loops.extents())), "0");
  CHECK_EQ(text(remainder(add(affine_loop(i), affine_constant(-3)), 5, loops.extents())),
           "(l0+2)%5");
}

TEST_CASE("random chains of substitution, quotient and remainder keep every value") {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    Loops loops;
    // A random form and, beside it, the same function evaluated step by step.
    std::vector<LoopId> live;
    for (int n = 0; n < 3; ++n) live.push_back(loops.add(rng.between(1, 12)));
    Affine form = affine_constant(rng.between(-5, 20));
    for (const LoopId loop : live) form = add(form, scale(affine_loop(loop), rng.between(-4, 9)));
    const Affine original = form;
    struct Step {
      LoopId loop;
      Affine by;
    };
    std::vector<Step> steps;
    std::vector<std::pair<bool, int64_t>>
        digits;  // mod?, divisor: applied before the substitutions
    for (int n = 0; n < 2; ++n) {
      const int64_t divisor = rng.between(1, 12);
      const bool mod = rng.chance(0.5);
      digits.emplace_back(mod, divisor);
      form = mod ? remainder(form, divisor, loops.extents())
                 : quotient(form, divisor, loops.extents());
    }
    for (int n = 0; n < 4; ++n) {
      const size_t at = static_cast<size_t>(rng.below(static_cast<int64_t>(live.size())));
      const LoopId loop = live[at];
      const int64_t extent = loops.extents()(loop);
      if (rng.chance(0.5)) {  // split
        const int64_t inner = rng.between(1, extent + 2);
        const LoopId outer_loop = loops.add((extent + inner - 1) / inner);
        const LoopId inner_loop = loops.add(inner);
        const Affine by = add(scale(affine_loop(outer_loop), inner), affine_loop(inner_loop));
        steps.push_back({loop, by});
        live[at] = outer_loop;
        live.push_back(inner_loop);
        form = substitute(form, loop, by, loops.extents());
      } else if (live.size() >= 2) {  // fuse with another
        const size_t other = (at + 1) % live.size();
        const int64_t inner = loops.extents()(live[other]);
        const LoopId fused = loops.add(extent * inner);
        const Affine high = quotient(affine_loop(fused), inner, loops.extents());
        const Affine low = remainder(affine_loop(fused), inner, loops.extents());
        steps.push_back({loop, high});
        steps.push_back({live[other], low});
        form = substitute(form, loop, high, loops.extents());
        form = substitute(form, live[other], low, loops.extents());
        const LoopId gone = live[other];
        live[at] = fused;
        std::erase(live, gone);
      }
    }
    for (int sample = 0; sample < 20; ++sample) {
      std::vector<int64_t> value(loops.extent.size());
      for (size_t k = 0; k < value.size(); ++k) value[k] = rng.below(loops.extent[k]);
      const auto at = [&](LoopId loop) { return value[static_cast<size_t>(loop.value)]; };
      const int64_t got = evaluate(form, at);
      const Interval range = range_of(form, loops.extents());
      CHECK(got >= range.low);
      CHECK(got <= range.high);
      for (auto step = steps.rbegin(); step != steps.rend(); ++step)
        value[static_cast<size_t>(step->loop.value)] = evaluate(step->by, at);
      bool in_domain =
          true;  // a split with a tail runs past the loop's extent; no claim is made there
      for (const Step& step : steps)
        in_domain = in_domain && at(step.loop) < loops.extents()(step.loop);
      int64_t expected = evaluate(original, at);
      for (const auto& [mod, divisor] : digits) {
        const int64_t low = ((expected % divisor) + divisor) % divisor;
        expected = mod ? low : (expected - low) / divisor;
      }
      if (in_domain) CHECK_EQ(got, expected);
    }
  }
}
