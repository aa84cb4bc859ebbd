// SPDX-License-Identifier: Apache-2.0
#include "device/frames.h"

#include <algorithm>
#include <utility>

#include "base/result.h"

namespace hone {

FrameLink::FrameLink(Options options, Writer writer)
    : options_(options),
      writer_(std::move(writer)),
      receive_(HONE_WIRE_BYTES(options.payload_limit)),
      slot_bytes_(static_cast<size_t>(options.window) * HONE_WIRE_BYTES(options.payload_limit)),
      slot_sizes_(static_cast<size_t>(options.window)) {
  ENSURE(options.window > 0 && options.window <= HONE_WINDOW_LIMIT);
  ENSURE((options.window & (options.window - 1)) == 0, "window {}", options.window);
  link_.owner = this;
  link_.write = [](void* owner, const uint8_t* bytes, size_t count) {
    return static_cast<FrameLink*>(owner)->writer_({bytes, count});
  };
  link_.deliver = deliver;
  link_.opened = [](void* owner) {
    auto* self = static_cast<FrameLink*>(owner);
    self->partial_ = {};
    self->incoming_.clear();
    self->outgoing_.clear();
  };
  link_.payload_limit = options.payload_limit;
  link_.receive = receive_.data();
  link_.slot_sizes = slot_sizes_.data();
  link_.slot_bytes = slot_bytes_.data();
  link_.window = options.window;
  link_.is_agent = options.is_agent;
  hone_link_init(&link_);
}

bool FrameLink::deliver(void* owner, const hone_frame* frame) {
  auto* self = static_cast<FrameLink*>(owner);
  Message& partial = self->partial_;
  partial.type = frame->type;
  partial.bytes.insert(partial.bytes.end(), frame->payload, frame->payload + frame->payload_bytes);
  if (!frame->more) self->incoming_.push_back(std::exchange(partial, {}));
  return true;
}

void FrameLink::feed(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) bytes = bytes.subspan(hone_link_feed(&link_, bytes.data(), bytes.size()));
  send_what_fits();
}

void FrameLink::limit_payload(size_t bytes) {
  options_.payload_limit = std::min(options_.payload_limit, bytes);
}

void FrameLink::send(const Message& message) {
  outgoing_.push_back({message, 0});
  send_what_fits();
}

void FrameLink::send_what_fits() {
  while (!outgoing_.empty() && can_send()) {
    Outgoing& next = outgoing_.front();
    const size_t left = next.message.bytes.size() - next.sent;
    const size_t count = std::min(left, options_.payload_limit);
    hone_link_send(&link_, next.message.type, count < left, next.message.bytes.data() + next.sent,
                   count);
    next.sent += count;
    if (count == left) outgoing_.pop_front();
  }
}

Message FrameLink::take_message() {
  ENSURE(!incoming_.empty());
  Message message = std::move(incoming_.front());
  incoming_.pop_front();
  return message;
}

}  // namespace hone
