// SPDX-License-Identifier: Apache-2.0
//
// Frames and the link over lines that damage, lose, repeat and cut what they carry.
#include <algorithm>

#include <doctest/doctest.h>

#include "base/rng.h"
#include "device/frames.h"

using namespace hone;

namespace {

std::vector<uint8_t> random_bytes(Rng& rng, int64_t count, int64_t zeros_in_ten) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  for (uint8_t& byte : bytes)
    byte = rng.below(10) < zeros_in_ten ? uint8_t{0} : static_cast<uint8_t>(rng.below(256));
  return bytes;
}

std::vector<uint8_t> encode(const std::vector<uint8_t>& payload) {
  std::vector<uint8_t> wire(HONE_WIRE_BYTES(payload.size()));
  const hone_frame frame{HONE_FRAME_DATA, false, 9, 5, 17, payload.data(), payload.size()};
  wire.resize(hone_frame_encode(&frame, wire.data()));
  return wire;
}

// What stands between the delimiters.
std::vector<uint8_t> inner(const std::vector<uint8_t>& wire) {
  return {wire.begin() + 1, wire.end() - 1};
}

}  // namespace

TEST_CASE("CRC-32 is the one of zlib and Ethernet") {
  const std::string text = "123456789";
  CHECK(hone_crc32(0, reinterpret_cast<const uint8_t*>(text.data()), text.size()) == 0xcbf43926u);
  CHECK(hone_crc32(0, nullptr, 0) == 0);
}

TEST_CASE("COBS keeps every length and pattern, and no zero") {
  Rng rng(1);
  for (int64_t length = 0; length < 1100; ++length) {
    for (const int64_t zeros : {0, 1, 10}) {
      const std::vector<uint8_t> bytes = random_bytes(rng, length, zeros);
      std::vector<uint8_t> coded(bytes.size() + bytes.size() / 254 + 1);
      coded.resize(hone_cobs_encode(bytes.data(), bytes.size(), coded.data()));
      CHECK(std::count(coded.begin(), coded.end(), 0) == 0);
      const ptrdiff_t decoded = hone_cobs_decode(coded.data(), coded.size());
      REQUIRE(decoded == static_cast<ptrdiff_t>(bytes.size()));
      CHECK(std::equal(bytes.begin(), bytes.end(), coded.begin()));
    }
  }
}

TEST_CASE("frames come back whole") {
  Rng rng(2);
  for (int64_t length = 0; length < 700; length += 7) {
    const std::vector<uint8_t> payload = random_bytes(rng, length, 1);
    std::vector<uint8_t> coded = inner(encode(payload));
    hone_frame frame{};
    REQUIRE(hone_frame_decode(coded.data(), coded.size(), &frame));
    CHECK(frame.kind == HONE_FRAME_DATA);
    CHECK(frame.type == 9);
    CHECK(frame.session == 5);
    CHECK(frame.sequence == 17);
    CHECK(std::equal(payload.begin(), payload.end(), frame.payload,
                     frame.payload + frame.payload_bytes));
  }
}

TEST_CASE("damaged and cut frames are noticed") {
  Rng rng(3);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> coded = inner(encode(random_bytes(rng, rng.below(300), 1)));
    if (rng.chance(0.5)) {
      const auto at = static_cast<size_t>(rng.below(static_cast<int64_t>(coded.size())));
      coded[at] = static_cast<uint8_t>(coded[at] ^ (1 + rng.below(255)));
    } else {
      coded.resize(static_cast<size_t>(rng.below(static_cast<int64_t>(coded.size()))));
    }
    hone_frame frame{};
    REQUIRE_FALSE(hone_frame_decode(coded.data(), coded.size(), &frame));
  }
}

namespace {

struct Faults {
  double damaged = 0;   // a byte is changed
  double lost = 0;      // a byte is dropped
  double inserted = 0;  // a byte is added
  double cut = 0;       // a write is cut short
  double doubled = 0;   // a write arrives twice
};

// Two links with a bad line in both directions; nothing is delivered before the clock says so.
class BadLine {
 public:
  BadLine(uint64_t seed, Faults faults, int host_window, int agent_window)
      : rng_(seed),
        faults_(faults),
        host_({.payload_limit = 64, .window = host_window, .is_agent = false},
              [this](std::span<const uint8_t> bytes) { return carry(bytes, to_agent_); }),
        agent_({.payload_limit = 64, .window = agent_window, .is_agent = true},
               [this](std::span<const uint8_t> bytes) { return carry(bytes, to_host_); }) {}

  FrameLink& host() { return host_; }
  FrameLink& agent() { return agent_; }
  void heal() { faults_ = {}; }

  // One step of time; when the line is silent, both sides wait until they repeat.
  void step() {
    const bool silent = to_agent_.empty() && to_host_.empty();
    if (silent) {
      if (!host_.idle()) host_.timed_out();
      if (!agent_.idle()) agent_.timed_out();
    }
    hand_over(to_agent_, agent_);
    hand_over(to_host_, host_);
  }

 private:
  bool carry(std::span<const uint8_t> bytes, std::vector<uint8_t>& line) {
    const int copies = rng_.chance(faults_.doubled) ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      size_t count = bytes.size();
      if (rng_.chance(faults_.cut))
        count = static_cast<size_t>(rng_.below(static_cast<int64_t>(count)));
      for (const uint8_t byte : bytes.first(count)) {
        if (rng_.chance(faults_.lost)) continue;
        const bool damage = rng_.chance(faults_.damaged);
        line.push_back(damage ? static_cast<uint8_t>(rng_.below(256)) : byte);
        if (rng_.chance(faults_.inserted)) line.push_back(static_cast<uint8_t>(rng_.below(256)));
      }
    }
    return true;
  }

  void hand_over(std::vector<uint8_t>& line, FrameLink& link) {
    std::vector<uint8_t> bytes;
    bytes.swap(line);
    // In pieces, as a serial line gives them.
    for (size_t at = 0; at < bytes.size();) {
      const auto piece = static_cast<size_t>(rng_.between(1, 40));
      const size_t count = std::min(piece, bytes.size() - at);
      link.feed({bytes.data() + at, count});
      at += count;
    }
  }

  Rng rng_;
  Faults faults_;
  std::vector<uint8_t> to_agent_;
  std::vector<uint8_t> to_host_;
  FrameLink host_;
  FrameLink agent_;
};

Message make_message(Rng& rng, int number) {
  return {static_cast<uint8_t>(number), random_bytes(rng, rng.below(400), 2)};
}

// Sends messages both ways at once and expects each once, in order.
void exchange(uint64_t seed, const Faults& faults, int host_window, int agent_window) {
  CAPTURE(seed);
  BadLine line(seed, faults, host_window, agent_window);
  line.host().connect(static_cast<uint8_t>(seed % 255 + 1));
  int steps = 0;
  while (line.host().state() == HONE_LINK_SYNCING && ++steps < 20000) line.step();
  REQUIRE(line.host().state() == HONE_LINK_OPEN);
  Rng rng(seed + 1000);
  constexpr int kMessages = 120;
  std::vector<Message> down, up;
  for (int i = 0; i < kMessages; ++i) {
    down.push_back(make_message(rng, i));
    up.push_back(make_message(rng, i));
    line.host().send(down.back());
    line.agent().send(up.back());
  }
  std::vector<Message> got_down, got_up;
  while ((got_down.size() < down.size() || got_up.size() < up.size()) && ++steps < 200000) {
    line.step();
    while (line.agent().has_message()) got_down.push_back(line.agent().take_message());
    while (line.host().has_message()) got_up.push_back(line.host().take_message());
  }
  REQUIRE(got_down.size() == down.size());
  REQUIRE(got_up.size() == up.size());
  for (int i = 0; i < kMessages; ++i) {
    const auto at = static_cast<size_t>(i);
    CHECK(got_down[at].type == down[at].type);
    CHECK(got_down[at].bytes == down[at].bytes);
    CHECK(got_up[at].bytes == up[at].bytes);
  }
  if (faults.damaged > 0 || faults.lost > 0)
    CHECK(line.host().retransmitted_frames() + line.agent().retransmitted_frames() > 0);
}

}  // namespace

TEST_CASE("a link over a good line repeats nothing") {
  BadLine line(1, {}, 8, 8);
  line.host().connect(77);
  line.step();
  line.step();
  REQUIRE(line.host().state() == HONE_LINK_OPEN);
  line.host().send({1, std::vector<uint8_t>(1000, 3)});
  for (int i = 0; i < 20; ++i) line.step();
  REQUIRE(line.agent().has_message());
  CHECK(line.agent().take_message().bytes.size() == 1000);
  CHECK(line.host().retransmitted_frames() == 0);
  CHECK(line.host().idle());
}

TEST_CASE("a link over a bad line delivers each message once and in order") {
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    exchange(seed, {}, 8, 1);
    exchange(seed, {.damaged = 0.002}, 8, 8);
    exchange(seed, {.lost = 0.002}, 8, 1);
    exchange(seed, {.inserted = 0.002}, 64, 2);
    exchange(seed, {.cut = 0.05}, 8, 8);
    exchange(seed, {.doubled = 0.2}, 8, 8);
    exchange(seed,
             {.damaged = 0.001, .lost = 0.001, .inserted = 0.001, .cut = 0.02, .doubled = 0.05}, 16,
             4);
  }
}

TEST_CASE("noise before and between frames is passed over") {
  BadLine line(4, {}, 8, 8);
  const std::string banner = "Last login: Tue Dec  1\r\n# ";
  line.host().feed({reinterpret_cast<const uint8_t*>(banner.data()), banner.size()});
  line.host().connect(9);
  line.step();
  line.step();
  CHECK(line.host().state() == HONE_LINK_OPEN);
}

TEST_CASE("a host learns that the agent was restarted") {
  std::vector<uint8_t> to_agent, to_host;
  const auto into = [](std::vector<uint8_t>& line) {
    return [&line](std::span<const uint8_t> bytes) {
      line.insert(line.end(), bytes.begin(), bytes.end());
      return true;
    };
  };
  FrameLink host({}, into(to_agent));
  FrameLink::Options agent_options;
  agent_options.is_agent = true;
  FrameLink agent(agent_options, into(to_host));
  host.connect(3);
  agent.feed(std::exchange(to_agent, {}));
  host.feed(std::exchange(to_host, {}));
  REQUIRE(host.state() == HONE_LINK_OPEN);
  FrameLink restarted(agent_options, into(to_host));
  host.send({1, {1, 2, 3}});
  restarted.feed(std::exchange(to_agent, {}));
  host.feed(std::exchange(to_host, {}));
  CHECK(host.state() == HONE_LINK_RESET);
  // A new session on the same line works.
  host.connect(4);
  restarted.feed(std::exchange(to_agent, {}));
  host.feed(std::exchange(to_host, {}));
  CHECK(host.state() == HONE_LINK_OPEN);
}
