// SPDX-License-Identifier: Apache-2.0
#include "line.h"

#include "frame.h"
#include "port.h"
#include "port_limits.h"
#include "wire.h"

enum { kResendAfterMs = 250, kGiveUpAfter = 40 };

static struct {
  struct hone_link link;
  bool closed;
  uint32_t sessions;  // how many there were
  // What came from the line and was not fed to the link yet.
  uint8_t input[4096];
  size_t input_begin;
  size_t input_end;
  // The message that is coming in, or has come in and is being served.
  uint8_t message[HONE_AGENT_MESSAGE];
  size_t message_bytes;
  uint8_t message_type;
  bool message_complete;
  bool message_overlong;
  uint32_t message_session;
  // The message that goes out.
  uint8_t reply[HONE_AGENT_PAYLOAD];
  size_t reply_bytes;
  uint8_t reply_type;
} line;

static uint8_t receive_space[HONE_WIRE_BYTES(HONE_AGENT_PAYLOAD)];
static uint16_t slot_sizes[HONE_AGENT_WINDOW];
static uint8_t slot_bytes[HONE_AGENT_WINDOW * HONE_WIRE_BYTES(HONE_AGENT_PAYLOAD)];

static bool link_write(void* owner, const uint8_t* bytes, size_t count) {
  (void)owner;
  return port_write(bytes, count);
}

static bool link_deliver(void* owner, const struct hone_frame* frame) {
  (void)owner;
  if (line.message_complete) return false;
  if (line.message_bytes + frame->payload_bytes > sizeof line.message) {
    line.message_overlong = true;
  } else {
    __builtin_memcpy(line.message + line.message_bytes, frame->payload, frame->payload_bytes);
    line.message_bytes += frame->payload_bytes;
  }
  line.message_type = frame->type;
  line.message_complete = !frame->more;
  line.message_session = line.sessions;
  return true;
}

static void forget_message(void) {
  line.message_bytes = 0;
  line.message_complete = false;
  line.message_overlong = false;
}

static void link_opened(void* owner) {
  (void)owner;
  ++line.sessions;
  forget_message();
}

// Feeds what is there, or reads more; false: nothing came before the timeout.
static bool pump(int32_t timeout_ms) {
  if (line.input_begin == line.input_end) {
    const int32_t count = port_read(line.input, sizeof line.input, timeout_ms);
    if (count < 0) line.closed = true;
    if (count <= 0) return false;
    line.input_begin = 0;
    line.input_end = (size_t)count;
  }
  line.input_begin +=
      hone_link_feed(&line.link, line.input + line.input_begin, line.input_end - line.input_begin);
  if (line.link.broken) line.closed = true;
  return true;
}

static bool reply_is_wanted(void) {
  return !line.closed && line.link.state == HONE_LINK_OPEN && line.message_session == line.sessions;
}

static void send_reply_frame(bool more) {
  // Without an answer for ten seconds there is nobody to write to; a new session starts clean.
  for (int timeouts = 0; reply_is_wanted();) {
    if (hone_link_can_send(&line.link)) {
      hone_link_send(&line.link, line.reply_type, more, line.reply, line.reply_bytes);
      break;
    }
    if (pump(kResendAfterMs)) continue;
    if (++timeouts == kGiveUpAfter) line.link.state = HONE_LINK_CLOSED;
    hone_link_timed_out(&line.link);
  }
  line.reply_bytes = 0;
}

void begin_reply(uint8_t type) {
  line.reply_type = type;
  line.reply_bytes = 0;
}

void put_bytes(const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (line.reply_bytes == sizeof line.reply) send_reply_frame(true);
    line.reply[line.reply_bytes++] = bytes[i];
  }
}

void put(uint64_t value, size_t bytes) {
  uint8_t stored[8];
  hone_store(stored, value, bytes);
  put_bytes(stored, bytes);
}

void put_double(double value) {
  union {
    double value;
    uint64_t bits;
  } d = {value};
  put(d.bits, 8);
}

void put_text(const char* text) {
  size_t length = 0;
  while (text[length] && length < 255) ++length;
  put(length, 1);
  put_bytes((const uint8_t*)text, length);
}

void end_reply(void) { send_reply_frame(false); }

void refuse(const char* reason) {
  begin_reply(HONE_REFUSED);
  put(line.message_type, 1);
  put_text(reason);
  end_reply();
}

void line_open(void) {
  line.link = (struct hone_link){.write = link_write,
                                 .deliver = link_deliver,
                                 .opened = link_opened,
                                 .payload_limit = HONE_AGENT_PAYLOAD,
                                 .receive = receive_space,
                                 .slot_sizes = slot_sizes,
                                 .slot_bytes = slot_bytes,
                                 .window = HONE_AGENT_WINDOW,
                                 .is_agent = true};
  hone_link_init(&line.link);
}

bool line_next(struct hone_message_in* message) {
  forget_message();
  for (int timeouts = 0; !line.closed && !line.message_complete;) {
    const bool quiet = hone_link_idle(&line.link) || line.link.state != HONE_LINK_OPEN;
    if (pump(quiet ? -1 : kResendAfterMs)) {
      timeouts = 0;
    } else if (!quiet) {
      if (++timeouts == kGiveUpAfter) line.link.state = HONE_LINK_CLOSED;
      hone_link_timed_out(&line.link);
    }
  }
  *message = (struct hone_message_in){line.message_type, line.message_overlong, line.message,
                                      line.message_bytes};
  return line.message_complete;
}

uint32_t line_retransmitted(void) { return line.link.retransmitted_frames; }
