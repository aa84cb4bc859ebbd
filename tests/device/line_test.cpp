// SPDX-License-Identifier: Apache-2.0
//
// Real agents behind bad lines, fed with nonsense, and ended in the middle of a run.
#include <algorithm>
#include <array>
#include <fstream>
#include <thread>

#include <doctest/doctest.h>
#include <signal.h>

#include "base/rng.h"
#include "device/device_url.h"
#include "device/session_messages.h"
#include "images.h"

using namespace hone;

namespace {

std::vector<BufferSpec> task_buffers() {
  BufferSpec x;
  x.bytes = 4000;
  x.fill = {.seed = 1, .low = 0, .high = 9, .shift = 0};
  BufferSpec y;
  y.bytes = 4000;
  y.output = true;
  return {x, y};
}

// Changes a byte now and then, in both directions.
class NoisyTransport : public Transport {
 public:
  NoisyTransport(std::unique_ptr<Transport> line, double damage, uint64_t seed)
      : line_(std::move(line)), damage_(damage), rng_(seed) {}

  Result<void> send(std::span<const uint8_t> bytes, Deadline deadline) override {
    std::vector<uint8_t> copy(bytes.begin(), bytes.end());
    disturb(copy);
    return line_->send(copy, deadline);
  }
  Result<std::optional<size_t>> receive(std::span<uint8_t> space, Deadline deadline) override {
    auto count = line_->receive(space, deadline);
    if (count && *count) disturb(space.first(**count));
    return count;
  }
  void close() override { line_->close(); }
  std::string describe() const override { return "noise on " + line_->describe(); }

 private:
  void disturb(std::span<uint8_t> bytes) {
    for (uint8_t& byte : bytes)
      if (rng_.chance(damage_)) byte = static_cast<uint8_t>(rng_.below(256));
  }

  std::unique_ptr<Transport> line_;
  double damage_;
  Rng rng_;
};

// An agent without a session: any message can be sent to it.
class RawAgent {
 public:
  RawAgent()
      : link_({}, [this](std::span<const uint8_t> bytes) {
          return write_all(process_.to_child(), bytes, after_seconds(10)).has_value();
        }) {
    auto process =
        Process::start({std::string(HONE_AGENTS) + "/hone-agent-" + std::string(host_agent())}, {});
    REQUIRE(process.has_value());
    process_ = std::move(*process);
    link_.connect(1);
    while (link_.state() == HONE_LINK_SYNCING) pump();
  }

  void send(const Message& message) { link_.send(message); }
  Message receive() {
    while (!link_.has_message()) pump();
    return link_.take_message();
  }
  // Until everything sent was taken.
  void settle() {
    while (!link_.all_sent() || !link_.idle()) pump();
    while (link_.has_message()) link_.take_message();
  }
  Process& process() { return process_; }

 private:
  void pump() {
    std::array<uint8_t, 4096> space;
    const auto readable = wait_readable(process_.from_child(), after_seconds(0.25));
    REQUIRE(readable.has_value());
    if (!*readable) {
      REQUIRE(++silent_ < 40);
      return link_.timed_out();
    }
    silent_ = 0;
    const auto count = read_some(process_.from_child(), space, after_seconds(1));
    REQUIRE(count.has_value());
    REQUIRE(*count > 0);
    link_.feed({space.data(), *count});
  }

  Process process_;
  FrameLink link_;
  int silent_ = 0;
};

bool says_hello(RawAgent& agent) {
  MessageWriter hello(HONE_HELLO);
  hello.put(static_cast<uint16_t>(HONE_PROTOCOL_VERSION));
  agent.send(hello.message());
  return agent.receive().type == HONE_HELLO_REPLY;
}

std::vector<int> children_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/children", pid, pid));
  std::vector<int> children;
  for (int child; file >> child;) children.push_back(child);
  return children;
}

// Gone, or dead and not yet reaped by whoever has it now.
bool ended(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string id, name, state;
  file >> id >> name >> state;
  return !file || state == "Z" || state == "X";
}

template <typename Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

TEST_CASE("a session over a line that damages bytes") {
  const TestDevice& device = test_devices()[0];
  auto line = connect(*parse_device_url("local"), HONE_AGENTS, host_agent());
  REQUIRE(line.has_value());
  auto session = Session::open(std::make_unique<NoisyTransport>(std::move(*line), 0.0005, 11), {});
  REQUIRE_MESSAGE(session.has_value(), session.error().message);
  auto image = build_candidates(device, session->device());
  REQUIRE(image.has_value());
  REQUIRE(session->set_up(task_buffers())->ok);
  RunRequest request;
  request.image = image->bytes;
  request.bss_bytes = image->bss_bytes;
  request.entry_offset = image->entries.at("good");
  request.max_samples = 3;
  request.min_sample_ns = 1000;
  uint64_t hash = 0;
  for (int i = 0; i < 40; ++i) {
    const auto reply = session->run(request);
    REQUIRE_MESSAGE(reply.has_value(), reply.error().message);
    CHECK(reply->outcome == HONE_OK);
    CHECK(reply->samples.size() == 3);
    REQUIRE(reply->checks.size() == 1);
    if (i == 0) hash = reply->checks[0].hash;
    CHECK(reply->checks[0].hash == hash);
  }
  CHECK(session->damaged_frames() > 0);
}

TEST_CASE("an agent survives every message") {
  RawAgent agent;
  Rng rng(3);
  const std::vector<uint8_t> types = {HONE_HELLO, HONE_SET_UP, HONE_IMAGE, HONE_RUN, 0, 0x55, 0xff};
  for (int round = 0; round < 3000; ++round) {
    Message message;
    message.type = types[static_cast<size_t>(rng.below(static_cast<int64_t>(types.size())))];
    const int64_t bytes = rng.chance(0.02) ? rng.below(20000) : rng.below(100);
    // Small values make plausible counts and sizes.
    const int64_t bound = rng.chance(0.5) ? 3 : 256;
    for (int64_t i = 0; i < bytes; ++i)
      message.bytes.push_back(static_cast<uint8_t>(rng.below(bound)));
    agent.send(message);
    if (round % 50 == 0) agent.settle();
  }
  agent.settle();
  CHECK(says_hello(agent));
}

TEST_CASE("a candidate ends with its agent") {
  RawAgent agent;
  auto session = open_session(test_devices()[0]);
  REQUIRE(session.has_value());
  const auto image = build_candidates(test_devices()[0], session->device());
  REQUIRE(image.has_value());
  agent.send(set_up_message(task_buffers()));
  CHECK(agent.receive().type == HONE_SET_UP_REPLY);
  RunRequest request;
  request.image = image->bytes;
  request.bss_bytes = image->bss_bytes;
  request.entry_offset = image->entries.at("endless");
  request.deadline_ms = 100'000;
  const uint32_t crc = hone_crc32(0, image->bytes.data(), image->bytes.size());
  for (size_t at = 0; at < image->bytes.size(); at += 4000)
    agent.send(
        image_message(7, image->bytes, crc, at, std::min<size_t>(4000, image->bytes.size() - at)));
  agent.send(run_message(request, 7));
  agent.settle();
  std::vector<int> children;
  REQUIRE(comes_true([&] { return (children = children_of(agent.process().pid())).size() == 1; }));
  CHECK_FALSE(ended(children[0]));
  kill(agent.process().pid(), SIGKILL);
  CHECK(comes_true([&] { return ended(children[0]); }));
}
