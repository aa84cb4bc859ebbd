// SPDX-License-Identifier: Apache-2.0
//
// Hostile candidates through the whole measuring path: each ends as its own failure, in under a
// second, and the next one is measured as if nothing had been. They are written as machine code of
// x86-64, because no code generator of ours would make them.
#include <doctest/doctest.h>

#include <chrono>

#include "base/process.h"
#include "measure/runner.h"

using namespace hone;

namespace {

constexpr int64_t kElements = 1024;

TaskData task() {
  TaskData task;
  task.buffers = {{"x", DType::i32, kElements, false, -3, 3},
                  {"y", DType::i32, kElements, true, 0, 0}};
  task.seed = 1;
  return task;
}

Built candidate(const Runner& runner, std::vector<uint8_t> code) {
  Built built;
  built.image.bytes = std::move(code);
  built.image.load_address = runner.facts().load_address;
  return built;
}

// mov rax, [rdi+8] (the output); mov byte [rax+offset], 1; ret
std::vector<uint8_t> writes_at(int32_t offset) {
  std::vector<uint8_t> code = {0x48, 0x8b, 0x47, 0x08, 0xc6, 0x80};
  for (int shift = 0; shift < 32; shift += 8)
    code.push_back(static_cast<uint8_t>(static_cast<uint32_t>(offset) >> shift));
  code.insert(code.end(), {0x01, 0xc3});
  return code;
}

const std::vector<uint8_t> kRet = {0xc3};
const std::vector<uint8_t> kCrash = {0x31, 0xc0, 0xc6, 0x00, 0x01, 0xc3};  // store to address 0
const std::vector<uint8_t> kIllegal = {0x0f, 0x0b};
const std::vector<uint8_t> kHang = {0xeb, 0xfe};

}  // namespace

#if defined(__x86_64__)

TEST_CASE("hostile candidates end as their own failures, quickly, and the run goes on") {
  auto opened = open_runner({"local", HONE_BINARY_DIR "/agents", "x86_64"});
  REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : opened.error().message));
  Runner& runner = **opened;
  REQUIRE(runner.set_up(task()).has_value());
  // The candidate that does nothing defines the answer; so leaving the output alone is right.
  const Answer want = runner.answer_of(candidate(runner, kRet), 5).value();
  RunLimits limits;
  limits.deadline_seconds = 0.3;
  struct Case {
    const char* what;
    std::vector<uint8_t> code;
    FailureKind kind;
  };
  const std::vector<Case> cases = {
      {"crash", kCrash, FailureKind::fault},
      {"illegal instruction", kIllegal, FailureKind::illegal_instruction},
      {"hang", kHang, FailureKind::timeout},
      {"below its buffer", writes_at(-1), FailureKind::out_of_bounds},
      {"above its buffer", writes_at(4 * kElements), FailureKind::out_of_bounds},
      {"wrong answer", writes_at(8), FailureKind::wrong_answer},
  };
  for (int round = 0; round < 3; ++round) {
    for (const Case& one : cases) {
      CAPTURE(one.what);
      const auto start = Clock::now();
      const Outcome outcome = runner.run(candidate(runner, one.code), want, limits).value();
      CHECK(std::chrono::duration<double>(Clock::now() - start).count() < 1.0);
      REQUIRE(outcome.failure.has_value());
      CHECK_EQ(to_string(outcome.failure->kind), to_string(one.kind));
      CHECK_FALSE(outcome.failure->reason.empty());
      const Outcome good = runner.run(candidate(runner, kRet), want, limits).value();
      CHECK_MESSAGE(good.measured(), (good.failure ? good.failure->reason : ""));
    }
  }
}

// The same product with the weights as they are and as constants made ahead of time, in panels.
TEST_CASE("constants are made on the device before a candidate is called") {
  const std::string head =
      "program p\nbuffer A i32[6,7] input\nbuffer W i32[7,20] param\nbuffer C i32[6,20] output\n";
  const std::string plain = head +
                            "for i in 6, j in 20, k in 7\n"
                            "  block C  spatial i=i j=j  reduce k=k\n"
                            "    init   C[i,j] = 0\n"
                            "    update C[i,j] = C[i,j] + A[i,k] * W[k,j]\n";
  const std::string packed = head +
                             "buffer P i32[3,7,8] temp constant\n"
                             "for x in 7, y in 20\n"
                             "  block P  spatial x=x y=y\n"
                             "    update P[y/8,x,y%8] = W[x,y]\n"
                             "for i in 6, j0 in 3, k in 7\n"
                             "  for j1 in 8 vectorized\n"
                             "    block C  spatial i=i j:20=j0*8+j1  reduce k=k\n"
                             "      where  j0*8+j1 < 20\n"
                             "      init   C[i,j] = 0\n"
                             "      update C[i,j] = C[i,j] + A[i,k] * P[j/8,k,j%8]\n";
  TaskData task;
  task.buffers = {{"A", DType::i32, 42, false, -3, 3},
                  {"W", DType::i32, 140, false, -3, 3},
                  {"C", DType::i32, 120, true, 0, 0}};
  task.seed = 7;
  auto opened = open_runner({"local", HONE_BINARY_DIR "/agents", "x86_64"});
  REQUIRE(opened.has_value());
  Runner& runner = **opened;
  REQUIRE(runner.set_up(task).has_value());
  const Target target = find_target(HONE_SOURCE_DIR "/targets", "x86-64-v3").value();
  const auto built = [&](const std::string& program) {
    const BuildResult result = build({program, runner.facts().load_address}, target);
    if (const auto* failure = std::get_if<Failure>(&result)) FAIL(failure->reason);
    // As it comes from a build worker.
    return std::get<Built>(decode_result(encode(result)).value());
  };
  const Answer want = runner.answer_of(built(plain), 5).value();
  const Built candidate = built(packed);
  CHECK(candidate.constants_bytes == 3 * 7 * 8 * 4 + 32);
  CHECK(candidate.image.prepare_offset.has_value());
  const Outcome outcome = runner.run(candidate, want, {}).value();
  CHECK_MESSAGE(outcome.measured(), (outcome.failure ? outcome.failure->reason : ""));
  // Without them the answer is wrong.
  Built without = candidate;
  without.image.prepare_offset.reset();
  const Outcome wrong = runner.run(without, want, {}).value();
  REQUIRE(wrong.failure.has_value());
  CHECK(wrong.failure->kind == FailureKind::wrong_answer);
}

TEST_CASE("an agent that is gone is replaced, and the candidate is tried again") {
  auto opened = open_runner({"local", HONE_BINARY_DIR "/agents", "x86_64"});
  REQUIRE(opened.has_value());
  Runner& runner = **opened;
  REQUIRE(runner.set_up(task()).has_value());
  const Answer want = runner.answer_of(candidate(runner, kRet), 5).value();
  const auto killed = run_command(
      {"pkill", "-KILL", "-P", fmt::format("{}", getpid()), "hone-agent"}, after_seconds(5));
  REQUIRE(killed.has_value());
  const Outcome outcome = runner.run(candidate(runner, kRet), want, {}).value();
  CHECK_MESSAGE(outcome.measured(), (outcome.failure ? outcome.failure->reason : ""));
}

TEST_CASE("a device that cannot be reached, or is of another architecture, is an error in words") {
  CHECK_FALSE(
      open_runner({"exec:/no/such/agent", HONE_BINARY_DIR "/agents", "x86_64"}).has_value());
  CHECK_FALSE(open_runner({"telnet:board", HONE_BINARY_DIR "/agents", "x86_64"}).has_value());
  CHECK_FALSE(open_runner({"local", HONE_BINARY_DIR "/agents", "riscv64"}).has_value());
}

#endif
