// SPDX-License-Identifier: Apache-2.0
//
// The agent's link (device-agent/frame.h) with memory of its own and whole messages in and out. It
// still does no I/O and keeps no clock, so tests can put any line between two of them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "frame.h"

namespace hone {

struct Message {
  uint8_t type = 0;  // enum hone_message
  std::vector<uint8_t> bytes;
};

// Fields of a message in order, little-endian.
class MessageWriter {
 public:
  explicit MessageWriter(uint8_t type) { message_.type = type; }
  template <typename T>
  void put(T value) {
    static_assert(std::is_integral_v<T>);
    for (size_t i = 0; i < sizeof value; ++i)
      message_.bytes.push_back(static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i)));
  }
  void put_bytes(std::span<const uint8_t> bytes) {
    message_.bytes.insert(message_.bytes.end(), bytes.begin(), bytes.end());
  }
  const Message& message() const { return message_; }

 private:
  Message message_;
};

class FrameLink {
 public:
  struct Options {
    size_t payload_limit = 4096;  // bytes of a frame; the smaller of what both sides can take
    int window = 8;               // frames under way, a power of two
    bool is_agent = false;        // answers a session instead of opening one
  };
  using Writer = std::function<bool(std::span<const uint8_t>)>;  // false: the line is gone

  FrameLink(Options options, Writer writer);
  // The C structure points into this object.
  FrameLink(const FrameLink&) = delete;
  FrameLink& operator=(const FrameLink&) = delete;

  void connect(uint8_t session) { hone_link_connect(&link_, session); }
  void feed(std::span<const uint8_t> bytes);
  void timed_out() { hone_link_timed_out(&link_); }

  bool can_send() const { return hone_link_can_send(&link_); }
  bool idle() const { return hone_link_idle(&link_); }
  hone_link_state state() const { return link_.state; }
  bool broken() const { return link_.broken; }
  uint32_t damaged_frames() const { return link_.damaged_frames; }
  uint32_t retransmitted_frames() const { return link_.retransmitted_frames; }
  // From now on, frames that this side sends carry at most `bytes`.
  void limit_payload(size_t bytes);

  // Puts a message on its way; its frames go out as the window allows, from here and from feed().
  void send(const Message& message);
  bool all_sent() const { return outgoing_.empty(); }
  // The oldest message that came in whole.
  bool has_message() const { return !incoming_.empty(); }
  Message take_message();

 private:
  struct Outgoing {
    Message message;
    size_t sent = 0;
  };

  void send_what_fits();
  static bool deliver(void* owner, const hone_frame* frame);

  Options options_;
  Writer writer_;
  std::vector<uint8_t> receive_;
  std::vector<uint8_t> slot_bytes_;
  std::vector<uint16_t> slot_sizes_;
  hone_link link_{};
  std::deque<Outgoing> outgoing_;
  std::deque<Message> incoming_;
  Message partial_;
};

}  // namespace hone
