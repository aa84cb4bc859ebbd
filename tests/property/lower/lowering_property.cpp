// SPDX-License-Identifier: Apache-2.0
//
// Programs of every kind under random schedules, lowered for machines of every kind: the Kernel,
// run statement by statement, computes what the Program computes, bit for bit where nothing rounds.
// A refusal is right only where the schedule asked for registers or shift tails.
#include <algorithm>
#include <iterator>

#include <doctest/doctest.h>

#include "base/rng.h"
#include "lowering.h"
#include "random_program.h"
#include "schedule/primitives.h"

namespace hone::test {
namespace {

const char* const kPrograms[] = {
    R"(program matmul
buffer A f32[13,9] input
buffer B f32[9,21] input
buffer C f32[13,21] output
for i in 13, j in 21, k in 9
  block mm  spatial i=i j=j  reduce k=k
    init   C[i,j] = 0.0
    update C[i,j] = C[i,j] + A[i,k] * B[k,j]
)",
    R"(program quantised
buffer A i8[7,11] input
buffer B i8[11,34] param
buffer C i32[7,34] temp
buffer D i8[7,34] output
for i in 7, j in 34, k in 11
  block mm  spatial i=i j=j  reduce k=k
    init   C[i,j] = 0
    update C[i,j] = C[i,j] + i32(A[i,k]) * i32(B[k,j])
for i_1 in 7, j_1 in 34
  block scale  spatial i=i_1 j=j_1
    update D[i,j] = saturate_i8(C[i,j] >> 3)
)",
    R"(program padded_convolution
buffer X f32[9,10,5] input
buffer W f32[3,3,5,6] param
buffer b f32[6] param
buffer P f32[11,12,5] temp
buffer C f32[9,10,6] temp
buffer R f32[9,10,6] output
for y in 11, x in 12, c in 5
  block pad  spatial y=y x=x c=c
    update P[y,x,c] = select(1 <= y && y < 10 && 1 <= x && x < 11, X[y-1,x-1,c], 0.0)
for y_1 in 9, x_1 in 10, k in 6, ry in 3, rx in 3, c_1 in 5
  block conv  spatial y=y_1 x=x_1 k=k  reduce ry=ry rx=rx c=c_1
    init   C[y,x,k] = 0.0
    update C[y,x,k] = C[y,x,k] + P[y+ry,x+rx,c] * W[ry,rx,c,k]
for y_2 in 9, x_2 in 10, k_1 in 6
  block relu  spatial y=y_2 x=x_2 k=k_1
    update R[y,x,k] = max(C[y,x,k] + b[k], 0.0)
)",
    R"(program argmax
buffer X f32[6,19] input
buffer V f32[6] temp
buffer I i32[6] output
for i in 6, k in 19
  block best  spatial i=i  reduce k=k
    init   V[i] = -inf
    init   I[i] = 0
    update V[i] = select(V[i] < X[i,k], X[i,k], V[i])
    update I[i] = select(V[i] < X[i,k], i32(k), I[i])
)",
    R"(program softmax
buffer X f32[5,23] input
buffer M f32[5] temp
buffer E f32[5,23] temp
buffer S f32[5] temp
buffer Y f32[5,23] output
for i in 5, k in 23
  block top  spatial i=i  reduce k=k
    init   M[i] = -inf
    update M[i] = max(M[i], X[i,k])
for i_1 in 5, k_1 in 23
  block shifted  spatial i=i_1 k=k_1
    update E[i,k] = exp(X[i,k] - M[i])
for i_2 in 5, k_2 in 23
  block sum  spatial i=i_2  reduce k=k_2
    init   S[i] = 0.0
    update S[i] = S[i] + E[i,k]
for i_3 in 5, k_3 in 23
  block norm  spatial i=i_3 k=k_3
    update Y[i,k] = E[i,k] / S[i]
)",
    R"(program lookup
buffer T f32[12,18] param
buffer I i32[7] input
buffer Y f32[7,18] output
for i in 7, j in 18
  block gather  spatial i=i j=j
    update Y[i,j] = T[I[i],j] * 2.0
)",
    R"(program halves
buffer A f16[9,17] input
buffer B f16[9,17] input
buffer S f16[9,17] temp
buffer Y f16[9,17] output
for i in 9, j in 17
  block sum  spatial i=i j=j
    update S[i,j] = A[i,j] + B[i,j]
for i_1 in 9, j_1 in 17
  block twice  spatial i=i_1 j=j_1
    update Y[i,j] = S[i,j] * 2.0
)",
    R"(program depthwise
buffer X i16[12,13,20] input
buffer W i16[3,3,20] param
buffer Y i32[5,6,20] output
for y in 5, x in 6, c in 20, ry in 3, rx in 3
  block dw  spatial y=y x=x c=c  reduce ry=ry rx=rx
    init   Y[y,x,c] = 0
    update Y[y,x,c] = Y[y,x,c] + i32(X[y*2+ry,x*2+rx,c]) * i32(W[ry,rx,c])
)",
    R"(program rows
buffer X f32[3,197] input
buffer W i8[3,197] input
buffer S f32[3] output
buffer M f32[3] output
buffer D i32[3] output
buffer Y f32[3,197] output
for i in 3, k in 197
  block sum  spatial i=i  reduce k=k
    init   S[i] = 0.0
    update S[i] = S[i] + X[i,k] * X[i,k]
for i_1 in 3, k_1 in 197
  block top  spatial i=i_1  reduce k=k_1
    init   M[i] = -inf
    update M[i] = max(X[i,k], M[i])
for i_2 in 3, k_2 in 197
  block dot  spatial i=i_2  reduce k=k_2
    init   D[i] = 7
    update D[i] = D[i] + i32(W[i,k]) * i32(k)
for i_3 in 3, k_3 in 197
  block less  spatial i=i_3 k=k_3
    update Y[i,k] = X[i,196-k] - M[i]
)",
    R"(program transpose
buffer X u8[15,33] input
buffer T u8[33,15] temp
buffer Y i32[33,15] output
for i in 33, j in 15
  block turn  spatial i=i j=j
    update T[i,j] = X[j,i]
for i_1 in 33, j_1 in 15
  block plus  spatial i=i_1 j=j_1
    update Y[i,j] = i32(T[i,j]) + i32(i) * 3 - i32(j)
)",
};

constexpr Tail kTails[] = {Tail::exact, Tail::peel, Tail::shift, Tail::predicate};

class RandomSchedule {
 public:
  RandomSchedule(Program& program, Rng& rng) : program_(program), rng_(rng) {}

  // Structure first, kinds last: primitives want it so.
  void run() {
    for (int64_t i = rng_.between(0, 7); i > 0; --i) structural();
    for (int64_t i = rng_.between(0, 5); i > 0; --i) kind();
  }

 private:
  std::vector<LoopId> loops() const {
    std::vector<LoopId> found;
    for (const BlockId block : all_blocks(program_))
      for (const LoopId loop : loops_above(program_, Node{{}, block}))
        if (std::find(found.begin(), found.end(), loop) == found.end()) found.push_back(loop);
    return found;
  }
  template <typename T>
  T pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(rng_.below(static_cast<int64_t>(from.size())))];
  }
  BlockId any_block() { return pick(all_blocks(program_)); }

  void structural() {
    const BlockId block = any_block();
    const std::vector<LoopId> above = loops_above(program_, Node{{}, block});
    if (above.empty()) return;
    const LoopId loop = pick(above);
    switch (rng_.below(9)) {
      case 0:
      case 1:
      case 2: {
        std::vector<int64_t> factors = {0, rng_.between(2, 9)};
        if (rng_.chance(0.3)) factors.insert(factors.begin() + 1, rng_.between(2, 4));
        (void)split(program_, loop, factors, kTails[rng_.below(4)]);
        return;
      }
      case 3: {
        const auto at = std::find(above.begin(), above.end(), loop);
        if (at + 1 != above.end()) (void)fuse(program_, std::vector{*at, *(at + 1)});
        return;
      }
      case 4: {
        std::vector<LoopId> order = above;
        for (size_t i = order.size(); i > 1; --i)
          std::swap(order[i - 1], order[static_cast<size_t>(rng_.below(static_cast<int64_t>(i)))]);
        order.resize(static_cast<size_t>(rng_.between(1, static_cast<int64_t>(order.size()))));
        if (order.size() > 1) (void)reorder(program_, order);
        return;
      }
      case 5: {
        const bool reverse = rng_.chance(0.4);
        const std::vector<LoopId> places = compute_locations(program_, block, reverse);
        if (places.empty()) return;
        const LoopId place = pick(places);
        (void)(reverse ? reverse_compute_at(program_, block, place)
                       : compute_at(program_, block, place));
        return;
      }
      case 6:
        (void)decompose_reduction(program_, block, loop);
        return;
      case 7: {
        const std::vector<BufferId> written = writes_of(program_.blocks[block]);
        const Scope scope = rng_.chance(0.5) ? Scope::registers : Scope::workspace;
        const Result<BlockId> copy = cache_write(program_, block, written[0], scope);
        if (!copy) return;
        const std::vector<LoopId> places = compute_locations(program_, *copy, true);
        if (!places.empty()) (void)reverse_compute_at(program_, *copy, pick(places));
        return;
      }
      default: {
        const std::vector<BufferId> read = reads_of(program_.blocks[block]);
        if (read.empty()) return;
        const Result<BlockId> copy = cache_read(program_, block, pick(read),
                                                rng_.chance(0.5) ? Scope::stack : Scope::workspace);
        if (!copy) return;
        const std::vector<LoopId> places = compute_locations(program_, *copy, false);
        if (!places.empty()) (void)compute_at(program_, *copy, pick(places));
        return;
      }
    }
  }

  void kind() {
    const std::vector<LoopId> all = loops();
    if (all.empty()) return;
    const LoopId loop = pick(all);
    switch (rng_.below(4)) {
      case 0:
        (void)parallel(program_, loop);
        return;
      case 1:
        (void)unroll(program_, loop);
        return;
      default:
        (void)vectorize(program_, loop);
        return;
    }
  }

  Program& program_;
  Rng& rng_;
};

bool may_refuse(const std::string& message) {
  return message.find("register") != std::string::npos ||
         message.find("shift") != std::string::npos;
}

}  // namespace

namespace {

constexpr int kSchedules = 2500;  // of each case

template <typename Make>
void check_many(uint64_t first_seed, const Make& make) {
  int right = 0;
  int refused = 0;
  for (int i = 0; i < kSchedules; ++i) {
    const uint64_t seed = first_seed + static_cast<uint64_t>(i);
    Rng rng(seed);
    Program program = make(rng);
    const Tensors inputs = random_inputs(program, rng);
    RandomSchedule(program, rng).run();
    const Target target = target_of(kTargetShapes[rng.below(std::size(kTargetShapes))]);
    bool was_refused = false;
    const Result<void> result = check_lowering(program, target, inputs, was_refused);
    if (result) {
      ++right;
    } else if (was_refused && may_refuse(result.error().message)) {
      ++refused;
    } else {
      INFO("seed ", seed, " target ", target.name, "\n", print(program), "\n",
           result.error().message);
      CHECK(false);
    }
  }
  MESSAGE(right << " right, " << refused << " refused");
  CHECK(right > kSchedules / 2);
}

}  // namespace

TEST_CASE("kernels compute what their programs compute") {
  check_many(20'261'201, [](Rng& rng) {
    return parse_program(kPrograms[rng.below(std::size(kPrograms))], "program").value();
  });
}

TEST_CASE("kernels compute what random programs compute") {
  check_many(77'000'001, [](Rng& rng) { return random_program(rng, RandomProgramOptions{}); });
}

}  // namespace hone::test
