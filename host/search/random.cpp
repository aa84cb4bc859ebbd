// SPDX-License-Identifier: Apache-2.0
#include "search/random.h"

#include <unordered_set>

#include "base/hash.h"
#include "base/rng.h"
#include "schedule/replay.h"

namespace hone {
namespace {

constexpr int kDrawsBeforeGivingUp = 20'000;

class RandomStrategy final : public Strategy {
 public:
  explicit RandomStrategy(const SearchProblem& problem) : problem_(problem), rng_(problem.seed) {}

  std::optional<Candidate> propose() override {
    const auto& skeletons = problem_.space->skeletons;
    for (int draw = 0; draw < kDrawsBeforeGivingUp; ++draw) {
      const size_t skeleton = static_cast<size_t>(rng_.below(static_cast<int64_t>(skeletons.size())));
      auto sampled = sample(*problem_.program, skeletons[skeleton], rng_);
      if (!sampled) continue;  // a combination of decisions that the primitives refuse
      if (!seen_.insert(hash_combine(hash_of(sampled->decisions), skeleton)).second) continue;
      if (!problem_.accept(sampled->program)) continue;
      return Candidate{skeleton, std::move(sampled->decisions), std::move(sampled->program)};
    }
    return std::nullopt;
  }

  void learn(const Candidate&, std::optional<double>) override {}

 private:
  SearchProblem problem_;
  Rng rng_;
  std::unordered_set<uint64_t> seen_;
};

}  // namespace

std::unique_ptr<Strategy> make_random(const SearchProblem& problem) {
  return std::make_unique<RandomStrategy>(problem);
}

}  // namespace hone
