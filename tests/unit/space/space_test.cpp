// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "base/rng.h"
#include "ir/text.h"
#include "schedule/replay.h"
#include "space/constraints.h"
#include "space/generate.h"

using namespace hone;

namespace {

Target target() { return find_target(HONE_SOURCE_DIR "/targets", "x86-64-v3").value(); }

Program matmul_relu() {
  return parse_program(
             "program matmul_relu\n"
             "buffer A f32[49,257] input\n"
             "buffer B f32[257,513] input\n"
             "buffer C f32[49,513] temp\n"
             "buffer R f32[49,513] output\n"
             "for i in 49, j in 513, k in 257\n"
             "  block C  spatial vi=i vj=j  reduce vk=k\n"
             "    init   C[vi,vj] = 0.0\n"
             "    update C[vi,vj] = C[vi,vj] + A[vi,vk] * B[vk,vj]\n"
             "for i_1 in 49, j_1 in 513\n"
             "  block R  spatial vi=i_1 vj=j_1\n"
             "    update R[vi,vj] = max(C[vi,vj], 0.0)\n",
             "test")
      .value();
}

}  // namespace

TEST_CASE("a matmul with an epilogue gets tiled skeletons, and every rule's answer is kept") {
  const DesignSpace space = generate_space(matmul_relu(), target()).value();
  CHECK_EQ(space.skeletons.size(), 2);  // B packed or not
  bool tiled = false;
  for (const RuleLogEntry& entry : space.log) {
    CHECK_FALSE(entry.why.empty());
    tiled = tiled || (entry.rule == "tiling" && entry.block == "C" &&
                      entry.verdict == RuleVerdict::apply_and_stop);
  }
  CHECK(tiled);
}

TEST_CASE("skeletons are open, print, parse, and draw different candidates that replay") {
  const Program program = matmul_relu();
  const DesignSpace space = generate_space(program, target()).value();
  for (const Trace& skeleton : space.skeletons) {
    CHECK_EQ(parse_trace(print(skeleton), "test").value(), skeleton);
    Rng rng(7);
    const Sampled first = sample(program, skeleton, rng).value();
    const Sampled second = sample(program, skeleton, rng).value();
    CHECK_NE(print(first.decisions), print(second.decisions));
    const Program again = replay(program, skeleton, first.decisions).value();
    CHECK_EQ(print(again), print(first.program));
  }
}

TEST_CASE("constraints refuse tiles that do not fit the registers, with numbers") {
  const Program program = matmul_relu();
  const DesignSpace space = generate_space(program, target()).value();
  int refused = 0;
  int kept = 0;
  Rng rng(1);
  for (int i = 0; i < 200; ++i) {
    const auto sampled = sample(program, space.skeletons[0], rng);
    if (!sampled) continue;
    const auto fits = check_constraints(sampled->program, target());
    if (fits) {
      ++kept;
      continue;
    }
    ++refused;
    const bool known = fits.error().message.starts_with("registers: ") ||
                       fits.error().message.starts_with("code-bytes: ");
    CHECK(known);
  }
  CHECK(refused > 0);
  CHECK(kept > 0);
}

TEST_CASE("every shape has a space, whichever of its extents are 1") {
  for (int ones = 0; ones < 8; ++ones) {
    const int m = (ones & 1) != 0 ? 1 : 24;
    const int n = (ones & 2) != 0 ? 1 : 40;
    const int k = (ones & 4) != 0 ? 1 : 12;
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    const std::string text = fmt::format(
        "program mm\nbuffer A f32[{0},{2}] input\nbuffer B f32[{2},{1}] input\n"
        "buffer C f32[{0},{1}] output\nfor i in {0}, j in {1}, k in {2}\n"
        "  block C  spatial vi:{0}={3} vj:{1}={4}  reduce vk:{2}={5}\n"
        "    init   C[vi,vj] = 0.0\n    update C[vi,vj] = C[vi,vj] + A[vi,vk] * B[vk,vj]\n",
        m, n, k, m == 1 ? "0" : "i", n == 1 ? "0" : "j", k == 1 ? "0" : "k");
    const auto program = parse_program(text, "test");
    REQUIRE_MESSAGE(program.has_value(), (program ? "" : program.error().message));
    const auto space = generate_space(*program, target());
    REQUIRE_MESSAGE(space.has_value(), (space ? "" : space.error().message));
    Rng rng(3);
    CHECK(sample(*program, space->skeletons[0], rng).has_value());
  }
}

TEST_CASE("an unknown rule set is an error that names those there are") {
  Target other = target();
  other.rules = "gpu";
  CHECK_EQ(generate_space(matmul_relu(), other).error().message,
           "target x86-64-v3 names the rule set 'gpu'; there are: cpu");
}
