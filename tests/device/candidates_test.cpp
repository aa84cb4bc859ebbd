// SPDX-License-Identifier: Apache-2.0
//
// Whatever a candidate does ends as its own outcome, soon, and the agent serves the next one.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

#include <doctest/doctest.h>

#include "device/device_url.h"
#include "images.h"

using namespace hone;

namespace {

constexpr int64_t kElements = 1000;
constexpr int64_t kBytes = kElements * 4;

std::vector<BufferSpec> task_buffers() {
  BufferSpec x;
  x.bytes = kBytes;
  x.fill = {.seed = 7, .low = -8, .high = 8, .shift = 1};
  BufferSpec y;
  y.bytes = kBytes;
  y.output = true;
  return {x, y};
}

std::vector<float> expected_output() {
  std::vector<float> values(kElements);
  fill_buffer({reinterpret_cast<uint8_t*>(values.data()), kBytes}, HONE_F32,
              task_buffers()[0].fill);
  for (float& value : values) value += 1;
  return values;
}

OutputCheck expected_check(bool tolerant) {
  const std::vector<float> values = expected_output();
  return check_output({reinterpret_cast<const uint8_t*>(values.data()), kBytes}, HONE_F32, tolerant,
                      1);
}

// A device with the task set up and the candidates linked for it.
struct Bench {
  TestDevice device;
  Session session;
  CandidateImage image;

  static Bench make(const TestDevice& device) {
    auto session = open_session(device);
    REQUIRE_MESSAGE(session.has_value(), session.error().message);
    auto image = build_candidates(device, session->device());
    REQUIRE_MESSAGE(image.has_value(), image.error().message);
    const auto set_up = session->set_up(task_buffers());
    REQUIRE(set_up.has_value());
    REQUIRE_MESSAGE(set_up->ok, set_up->reason);
    return Bench{device, std::move(*session), std::move(*image)};
  }

  RunRequest request(const std::string& entry) const {
    RunRequest request;
    request.image = image.bytes;
    request.entry_offset = image.entries.at(entry);
    request.bss_bytes = image.bss_bytes;
    request.workspace_bytes = 4096;
    request.min_sample_ns = 20'000;
    request.max_samples = 4;
    request.deadline_ms = 4000;
    return request;
  }

  RunReply run(const RunRequest& request) {
    auto reply = session.run(request);
    REQUIRE_MESSAGE(reply.has_value(), reply.error().message);
    return *reply;
  }
  RunReply run(const std::string& entry) { return run(request(entry)); }

  bool right(const RunReply& reply) const {
    return reply.outcome == HONE_OK && reply.checks.size() == 1 && !reply.checks[0].tolerant &&
           reply.checks[0].hash == expected_check(false).hash;
  }
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

TEST_CASE("good candidates: right answer, samples, context") {
  for (const TestDevice& device : test_devices()) {
    CAPTURE(device.name);
    Bench bench = Bench::make(device);
    for (const char* entry : {"good", "uses_data", "parallel_good"}) {
      CAPTURE(entry);
      const RunReply reply = bench.run(entry);
      CHECK_MESSAGE(bench.right(reply), describe(reply));
      REQUIRE(reply.samples.size() == 4);
      for (const RawSample& sample : reply.samples) {
        CHECK(sample.ns > 0);
        CHECK(sample.iterations == reply.samples[0].iterations);
      }
      CHECK(reply.samples[0].ns >= 20'000);
      CHECK(reply.find(HONE_CONTEXT_CANARY_BEFORE_NS).value_or(0) > 0);
      CHECK(reply.find(HONE_CONTEXT_CANARY_AFTER_NS).value_or(0) > 0);
      CHECK(reply.find(HONE_CONTEXT_CHECKED_RUN_NS).value_or(0) > 0);
      CHECK(reply.find(HONE_CONTEXT_CORE_AFTER) == reply.find(HONE_CONTEXT_CORE_BEFORE));
    }
  }
}

TEST_CASE("wrong answers differ in their check") {
  for (const TestDevice& device : test_devices()) {
    CAPTURE(device.name);
    Bench bench = Bench::make(device);
    for (const char* entry : {"wrong", "leaves_unwritten"}) {
      CAPTURE(entry);
      const RunReply reply = bench.run(entry);
      CHECK(reply.outcome == HONE_OK);
      REQUIRE(reply.checks.size() == 1);
      CHECK(reply.checks[0].hash != expected_check(false).hash);
    }
    RunRequest request = bench.request("leaves_unwritten");
    request.tolerant = true;
    const RunReply reply = bench.run(request);
    REQUIRE(reply.checks.size() == 1);
    const OutputCheck& check = reply.checks[0];
    const OutputCheck expected = expected_check(true);
    REQUIRE(check.tolerant);
    REQUIRE(check.samples.size() == kElements);
    REQUIRE(check.blocks.size() == HONE_CHECK_BLOCKS);
    for (size_t i = 0; i + 1 < check.samples.size(); ++i)
      CHECK(check.samples[i] == expected.samples[i]);
    CHECK(std::isnan(check.samples.back()));
    for (size_t i = 0; i + 1 < check.blocks.size(); ++i) {
      CHECK(check.blocks[i].sum == expected.blocks[i].sum);
      CHECK(check.blocks[i].magnitude == expected.blocks[i].magnitude);
    }
    CHECK(std::isnan(check.blocks.back().sum));
  }
}

TEST_CASE("constants are made once, ahead of all calls") {
  for (const TestDevice& device : test_devices()) {
    CAPTURE(device.name);
    Bench bench = Bench::make(device);
    RunRequest request = bench.request("uses_constants");
    request.constants_bytes = static_cast<int64_t>(kBytes);
    request.prepare_offset = bench.image.entries.at("prepare");
    const RunReply reply = bench.run(request);
    CHECK_MESSAGE(bench.right(reply), describe(reply));
    CHECK(reply.samples.size() == 4);
    request.prepare_offset = bench.image.entries.at("prepares_above");
    const RunReply broken = bench.run(request);
    CHECK_MESSAGE(broken.outcome == HONE_GUARD_BROKEN, describe(broken));
    CHECK(broken.guard_buffer == HONE_CONSTANTS_BUFFER);
    CHECK(broken.guard_side == HONE_ABOVE);
    request.prepare_offset = bench.image.entries.at("crashes");
    CHECK(bench.run(request).outcome == HONE_FAULT);
    CHECK(bench.right(bench.run("good")));
  }
}

TEST_CASE("every misdeed is its own outcome, and the next candidate runs") {
  struct Misdeed {
    std::string entry;
    hone_outcome outcome;
    int signal;
    int guard_buffer;
    hone_guard_side side;
    int threads;
  };
  constexpr int kAny = 0;
  constexpr int kNone = -1;
  const std::vector<Misdeed> misdeeds = {
      {"crashes", HONE_FAULT, 11, kNone, HONE_BELOW, 1},
      {"crashes_later", HONE_FAULT, 11, kNone, HONE_BELOW, 1},
      {"parallel_crash", HONE_FAULT, 11, kNone, HONE_BELOW, 2},
      {"illegal", HONE_ILLEGAL_INSTRUCTION, 4, kNone, HONE_BELOW, 1},
      {"endless", HONE_TIMEOUT, kAny, kNone, HONE_BELOW, 1},
      {"parallel_endless", HONE_TIMEOUT, kAny, kNone, HONE_BELOW, 2},
      {"writes_below", HONE_GUARD_BROKEN, kAny, 1, HONE_BELOW, 1},
      {"writes_above", HONE_GUARD_BROKEN, kAny, 1, HONE_ABOVE, 1},
      {"writes_above_later", HONE_GUARD_BROKEN, kAny, 1, HONE_ABOVE, 1},
      {"writes_above_workspace", HONE_GUARD_BROKEN, kAny, HONE_WORKSPACE_BUFFER, HONE_ABOVE, 1},
      {"writes_input", HONE_FAULT, 11, kNone, HONE_BELOW, 1},
      {"eats_stack", HONE_FAULT, 11, kNone, HONE_BELOW, 1},
  };
  for (const TestDevice& device : test_devices()) {
    CAPTURE(device.name);
    Bench bench = Bench::make(device);
    for (const Misdeed& misdeed : misdeeds) {
      CAPTURE(misdeed.entry);
      RunRequest request = bench.request(misdeed.entry);
      request.threads = misdeed.threads;
      if (misdeed.outcome == HONE_TIMEOUT) request.deadline_ms = 200;
      const auto begin = Clock::now();
      const RunReply reply = bench.run(request);
      CHECK_MESSAGE(seconds_since(begin) < 1.0, seconds_since(begin));
      CHECK_MESSAGE(reply.outcome == misdeed.outcome, describe(reply));
      CHECK(reply.samples.empty());
      if (misdeed.signal != kAny) CHECK(reply.signal == misdeed.signal);
      if (misdeed.guard_buffer != kNone) {
        CHECK(reply.guard_buffer == misdeed.guard_buffer);
        CHECK(reply.guard_side == misdeed.side);
      }
      CHECK(bench.right(bench.run("good")));
    }
  }
}

TEST_CASE("a fault says where") {
  for (const TestDevice& device : test_devices()) {
    CAPTURE(device.name);
    Bench bench = Bench::make(device);
    const RunReply reply = bench.run("crashes");
    CHECK(reply.fault_address == 64);
    const auto pc = static_cast<int64_t>(reply.fault_pc - bench.session.device().load_address);
    CHECK(pc >= bench.image.entries.at("crashes"));
    CHECK(pc < bench.image.entries.at("crashes") + 400);
  }
}

TEST_CASE("system calls of a candidate do not reach the agent") {
  if (host_agent() != "x86_64") return;
  Bench bench = Bench::make(test_devices()[0]);
  REQUIRE(bench.run("good").find(HONE_CONTEXT_SANDBOXED) == 1);
  for (const char* entry : {"closes_files", "kills_parent", "kills_everything"}) {
    CAPTURE(entry);
    const RunReply reply = bench.run(entry);
    CHECK_MESSAGE(reply.outcome == HONE_FAULT, describe(reply));
    CHECK(reply.signal == 31);
    CHECK(bench.right(bench.run("good")));
  }
  const RunReply reply = bench.run("exits");
  CHECK(reply.outcome == HONE_FAULT);
  CHECK(reply.samples.empty());
  CHECK(bench.right(bench.run("good")));
}

TEST_CASE("parallel loops run on as many threads as asked for") {
  for (const TestDevice& device : test_devices()) {
    CAPTURE(device.name);
    Bench bench = Bench::make(device);
    for (const int threads : {1, 2, 5}) {
      CAPTURE(threads);
      RunRequest request = bench.request("tells_stacks");
      request.threads = threads;
      request.tolerant = true;
      const RunReply reply = bench.run(request);
      REQUIRE(reply.outcome == HONE_OK);
      REQUIRE(reply.checks.size() == 1);
      std::set<double> stacks(reply.checks[0].samples.begin(),
                              reply.checks[0].samples.begin() + threads);
      // Stacks of 1 MiB and a page: two threads never lie in the same place, but may share a MiB.
      CHECK(static_cast<int>(stacks.size()) >= (threads + 1) / 2);
      for (const char* entry : {"parallel_good", "nested_parallel", "parallel_with_pauses"}) {
        CAPTURE(entry);
        RunRequest good = bench.request(entry);
        good.threads = threads;
        good.min_sample_ns = 0;
        CHECK(bench.right(bench.run(good)));
      }
    }
  }
}

TEST_CASE("the device's time is the host's time") {
  for (const TestDevice& device : test_devices()) {
    CAPTURE(device.name);
    Bench bench = Bench::make(device);
    RunRequest request = bench.request("parallel_with_pauses");
    request.min_sample_ns = 20'000'000;
    request.max_samples = 5;
    const auto begin = Clock::now();
    const RunReply reply = bench.run(request);
    const double wall_seconds = seconds_since(begin);
    REQUIRE(reply.outcome == HONE_OK);
    double sample_seconds = 0;
    for (const RawSample& sample : reply.samples)
      sample_seconds += 1e-9 * static_cast<double>(sample.ns);
    // Beside the samples there is the checked call, the search for the count of calls, and the
    // trip.
    CHECK(sample_seconds < wall_seconds);
    CHECK(sample_seconds > 0.4 * wall_seconds);
  }
}

TEST_CASE("limits of a measurement are kept") {
  Bench bench = Bench::make(test_devices()[0]);
  SUBCASE("a first sample that is too slow ends the run") {
    RunRequest request = bench.request("good");
    request.abandon_above_ns = 1;
    const RunReply reply = bench.run(request);
    CHECK(reply.outcome == HONE_ABANDONED);
    CHECK(reply.samples.size() == 1);
    CHECK(reply.checks.size() == 1);
  }
  SUBCASE("no sample begins after the total") {
    RunRequest request = bench.request("good");
    request.max_samples = 1000;
    request.max_total_ns = 200'000;
    const RunReply reply = bench.run(request);
    REQUIRE(reply.outcome == HONE_OK);
    int64_t before_last = 0;
    for (size_t i = 0; i + 1 < reply.samples.size(); ++i) before_last += reply.samples[i].ns;
    CHECK(before_last < 200'000);
    CHECK(before_last + reply.samples.back().ns >= 200'000);
  }
  SUBCASE("no samples, only the check") {
    RunRequest request = bench.request("good");
    request.max_samples = 0;
    const RunReply reply = bench.run(request);
    CHECK(bench.right(reply));
    CHECK(reply.samples.empty());
  }
  SUBCASE("no check") {
    RunRequest request = bench.request("wrong");
    request.check = false;
    CHECK(bench.run(request).checks.empty());
  }
  SUBCASE("as many samples as the protocol knows") {
    RunRequest request = bench.request("good");
    request.min_sample_ns = 0;
    request.max_samples = HONE_MAX_SAMPLES;
    request.max_total_ns = 1'000'000'000;
    CHECK(bench.run(request).samples.size() == HONE_MAX_SAMPLES);
  }
}

TEST_CASE("what cannot run is answered, not lost") {
  Bench bench = Bench::make(test_devices()[0]);
  SUBCASE("an entry outside the image") {
    RunRequest request = bench.request("good");
    request.entry_offset = static_cast<int64_t>(bench.image.bytes.size());
    CHECK(bench.run(request).outcome == HONE_BAD_IMAGE);
  }
  SUBCASE("a function that makes constants outside the image") {
    RunRequest request = bench.request("good");
    request.prepare_offset = static_cast<int64_t>(bench.image.bytes.size());
    CHECK(bench.run(request).outcome == HONE_BAD_IMAGE);
  }
  SUBCASE("more constants than the device has memory") {
    RunRequest request = bench.request("good");
    request.constants_bytes = bench.session.device().arena_bytes + 1;
    CHECK(bench.run(request).outcome == HONE_NOT_ENOUGH_MEMORY);
  }
  SUBCASE("more zeros than the load region has room for") {
    RunRequest request = bench.request("good");
    request.bss_bytes = bench.session.device().load_bytes;
    CHECK(bench.run(request).outcome == HONE_BAD_IMAGE);
  }
  SUBCASE("more workspace than the device has memory") {
    RunRequest request = bench.request("good");
    request.workspace_bytes = bench.session.device().arena_bytes + 1;
    CHECK(bench.run(request).outcome == HONE_NOT_ENOUGH_MEMORY);
  }
  SUBCASE("larger buffers than the device has memory") {
    std::vector<BufferSpec> buffers = task_buffers();
    buffers[0].bytes = (bench.session.device().arena_bytes / 4 + 1) * 4;
    const auto reply = bench.session.set_up(buffers);
    REQUIRE(reply.has_value());
    CHECK_FALSE(reply->ok);
    CHECK(reply->reason.find("the device has no") == 0);
    const auto again = bench.session.set_up(task_buffers());
    REQUIRE(again.has_value());
    CHECK(again->ok);
  }
  SUBCASE("a buffer of no whole elements") {
    std::vector<BufferSpec> buffers = task_buffers();
    buffers[1].bytes = 4001;
    const auto reply = bench.session.set_up(buffers);
    REQUIRE(reply.has_value());
    CHECK(reply->reason == "buffer 1 is described wrongly");
  }
  CHECK(bench.session.set_up(task_buffers())->ok);
  CHECK(bench.right(bench.run("good")));
}

TEST_CASE("images that the agent forgot are sent again") {
  Bench bench = Bench::make(test_devices()[0]);
  CHECK(bench.right(bench.run("good")));
  // Longer images than the store has room for together.
  std::vector<uint8_t> large = bench.image.bytes;
  large.resize(3 << 20);
  for (uint8_t number = 0; number < 4; ++number) {
    large.back() = number;
    RunRequest request = bench.request("good");
    request.image = large;
    CHECK(bench.right(bench.run(request)));
  }
  CHECK(bench.right(bench.run("good")));
}

TEST_CASE("an agent that dies is a lost device, and a new session works") {
  auto transport = connect(*parse_device_url("local"), HONE_AGENTS, host_agent());
  REQUIRE(transport.has_value());
  Transport* line = transport->get();
  auto session = Session::open(std::move(*transport), {});
  REQUIRE(session.has_value());
  line->close();
  const auto reply = session->set_up(task_buffers());
  REQUIRE_FALSE(reply.has_value());
  CHECK(reply.error().message.find("device lost (a pipe to ") == 0);
  Bench bench = Bench::make(test_devices()[0]);
  CHECK(bench.right(bench.run("good")));
}

TEST_CASE("round trips of a small candidate") {
  Bench bench = Bench::make(test_devices()[0]);
  constexpr int kRuns = 500;
  const auto begin = Clock::now();
  for (int i = 0; i < kRuns; ++i) REQUIRE(bench.right(bench.run("good")));
  const double rate = kRuns / seconds_since(begin);
  MESSAGE("round trips a second: ", rate);
  // Far below what an idle machine gives: this finds a wait that should not be there, not a busy
  // core.
  CHECK(rate > 50);
}
