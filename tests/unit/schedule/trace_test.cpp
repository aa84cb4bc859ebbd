// SPDX-License-Identifier: Apache-2.0
#include "schedule/trace.h"

#include <doctest/doctest.h>

#include <set>

#include "base/text.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "schedule/schedule.h"

namespace hone {
namespace {

Program matmul() {
  const auto program = parse_program(
      "program p\n"
      "buffer A f32[30,17] input\nbuffer B f32[17,22] input\nbuffer C f32[30,22] output\n"
      "for i in 30, j in 22, k in 17\n"
      "  block C  spatial i=i j=j  reduce k=k\n"
      "    init   C[i,j] = 0\n"
      "    update C[i,j] = C[i,j] + A[i,k] * B[k,j]\n",
      "text");
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  return *program;
}

// What a rule writes.
Result<Schedule> tiled(uint64_t seed) {
  Schedule s(matmul(), Rng(seed));
  const BlockVar c = TRY(s.block("C"));
  const std::vector<LoopVar> ijk = TRY(s.loops(c));
  const std::vector<IntVar> ti = TRY(s.sample_tile(ijk[0], {2, 8, 1, {}}));
  const std::vector<IntVar> tj = TRY(s.sample_tile(ijk[1], {2, 16, 4, {}}));
  const IntVar tail = TRY(s.sample_categorical({1, 3}, {}));
  const std::vector<LoopVar> i = TRY(s.split(ijk[0], params(ti), Tail::peel));
  const std::vector<LoopVar> j = TRY(s.split(ijk[1], params(tj), tail));
  TRYV(s.reorder({i[0], j[0], ijk[2], i[1], j[1]}));
  TRYV(s.decompose_reduction(c, ijk[2]));
  TRYV(s.unroll(i[1]));
  TRYV(s.vectorize(j[1]));
  TRYV(s.parallel(i[0]));
  return s;
}

TEST_CASE(
    "a schedule records an open trace, which replays with its decisions to the same program") {
  const Result<Schedule> s = tiled(1);
  REQUIRE_MESSAGE(s.has_value(), s.error().message);
  CHECK(s->decisions().size() == 3);
  CHECK(sampling_count(s->trace()) == 3);
  for (const std::vector<int64_t>& row : decisions_of(s->trace())) CHECK(row.empty());
  const auto again = replay(matmul(), s->trace(), s->decisions());
  REQUIRE_MESSAGE(again.has_value(), again.error().message);
  CHECK(print(*again) == print(s->program()));
  CHECK_FALSE(replay(matmul(), s->trace(), {}).has_value());
  const auto closed = replay(matmul(), close(s->trace(), s->decisions()), {});
  REQUIRE(closed.has_value());
  CHECK(hash_of(*closed) == hash_of(s->program()));
}

TEST_CASE("the skeleton does not depend on what was drawn") {
  const Trace first = tiled(1)->trace();
  std::set<Decisions> drawn;
  for (uint64_t seed = 1; seed < 40; ++seed) {
    const Result<Schedule> s = tiled(seed);
    REQUIRE(s.has_value());
    CHECK(s->trace() == first);
    CHECK(hash_of(s->trace()) == hash_of(first));
    drawn.insert(s->decisions());
  }
  CHECK(drawn.size() > 20);
}

TEST_CASE("sampling draws what is open, keeps what is closed, and follows its seed") {
  const Trace trace = tiled(1)->trace();
  Rng a(4);
  Rng b(4);
  const auto one = sample(matmul(), trace, a);
  const auto two = sample(matmul(), trace, b);
  REQUIRE(one.has_value());
  CHECK(one->decisions == two->decisions);
  CHECK(one->domains.size() == 3);
  CHECK(std::get<TileDomain>(one->domains[1]).multiple_of == 4);
  const Trace half = close(trace, {{5, 6}, {}, {1}});
  const auto kept = sample(matmul(), half, a);
  REQUIRE(kept.has_value());
  CHECK(kept->decisions[0] == std::vector<int64_t>{5, 6});
  CHECK(kept->decisions[2] == std::vector<int64_t>{1});
  CHECK_FALSE(sample(matmul(), close(trace, {{5, 5}, {}, {}}), a).has_value());
}

TEST_CASE("decisions that are not legal are refused by replay and repaired by sample_near") {
  const Trace trace = tiled(1)->trace();
  const Decisions wish = {{1, 100}, {3, 5}, {9}};
  CHECK_FALSE(replay(matmul(), trace, wish).has_value());
  Rng rng(1);
  const auto near = sample_near(matmul(), trace, wish, rng);
  REQUIRE_MESSAGE(near.has_value(), near.error().message);
  CHECK(near->decisions == Decisions{{4, 8}, {6, 4}, {1}});
  CHECK(replay(matmul(), trace, near->decisions).has_value());
}

TEST_CASE("a step that fails leaves the schedule as it was; a copy goes its own way") {
  Schedule s = *tiled(1);
  const Trace trace = s.trace();
  const uint64_t program = hash_of(s.program());
  CHECK_FALSE(s.block("D").has_value());
  const LoopVar gone = std::get<GetLoops>(trace.instructions[1]).loops[0];
  CHECK_FALSE(s.split(gone, {0, 2}, Tail::peel).has_value());
  CHECK(s.trace() == trace);
  CHECK(hash_of(s.program()) == program);
  Schedule copy = s;
  CHECK(copy.annotate(*copy.block("C"), "mark", 1).has_value());
  CHECK(s.trace() == trace);
  CHECK(copy.trace().instructions.size() == trace.instructions.size() + 2);
}

TEST_CASE("a trace can be taken over into a schedule that has variables of its own") {
  Schedule s(matmul(), Rng(2));
  const BlockVar c = *s.block("C");
  CHECK(s.annotate(c, "before", 1).has_value());
  const Trace trace = tiled(1)->trace();
  const Result<void> taken = s.apply(trace);
  REQUIRE_MESSAGE(taken.has_value(), taken.error().message);
  const auto again = replay(matmul(), s.trace(), s.decisions());
  REQUIRE_MESSAGE(again.has_value(), again.error().message);
  CHECK(hash_of(*again) == hash_of(s.program()));
  CHECK(*parse_trace(print(s.trace()), "text") == s.trace());
  const uint64_t before = hash_of(s.program());
  CHECK_FALSE(s.apply(trace).has_value());  // its loops are tiled already
  CHECK(hash_of(s.program()) == before);
}

TEST_CASE("steps can be watched") {
  const Schedule s = *tiled(1);
  std::vector<size_t> seen;
  Program last;
  const auto after =
      replay_steps(matmul(), s.trace(), s.decisions(), [&](size_t number, const Program& program) {
        seen.push_back(number);
        CHECK(verify(program).has_value());
        last = program;
      });
  REQUIRE(after.has_value());
  CHECK(seen.size() == s.trace().instructions.size());
  CHECK(print(last) == print(*after));
}

TEST_CASE("renumber closes gaps; every part of a trace counts in its hash") {
  const Trace trace = tiled(1)->trace();
  CHECK(renumber(trace) == trace);
  Trace shorter = trace;
  shorter.instructions.erase(shorter.instructions.begin() + 9);  // unroll
  CHECK(renumber(shorter) == shorter);
  std::set<uint64_t> hashes = {hash_of(trace), hash_of(shorter),
                               hash_of(close(trace, {{5, 6}, {}, {}})),
                               hash_of(close(trace, {{}, {}, {1}}))};
  CHECK(hashes.size() == 4);
  CHECK(open(close(trace, {{5, 6}, {}, {1}})) == trace);
  const std::string gap = "trace 1\nx = block \"C\"\ny0 y1 y2 = loops x\nunroll y2\n";
  CHECK(print(*parse_trace(gap, "t")) ==
        "trace 1\nb0 = block \"C\"\nl0 l1 l2 = loops b0\nunroll l2\n");
}

TEST_CASE("decisions are one line of text") {
  const Decisions decisions = {{9, 4, 14}, {}, {-1}};
  CHECK(print(decisions) == "9 4 14 | _ | -1");
  CHECK(*parse_decisions("9 4 14 | _ | -1", "d") == decisions);
  CHECK(*parse_decisions("", "d") == Decisions{});
  CHECK(print(Decisions{}) == "");
  CHECK(parse_decisions("9 4 | x", "d").error().message ==
        "d:1:7: expected an integer or '_', found 'x'");
  CHECK(parse_decisions("9 4\n7", "d").error().message ==
        "d:2:1: expected '|' or the end of the text, found '7'");
  CHECK(hash_of(decisions) != hash_of(Decisions{{9, 4}, {14}, {-1}}));
}

TEST_CASE("every instruction is documented") {
  const auto text = read_file(std::string(HONE_SOURCE_DIR) + "/docs/trace-format.md");
  REQUIRE(text.has_value());
  for (const InstructionFacts& row : instruction_table())
    CHECK_MESSAGE((text->find(std::string(row.keyword) + " ") != std::string::npos), row.keyword);
}

}  // namespace
}  // namespace hone
