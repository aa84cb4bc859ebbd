// SPDX-License-Identifier: Apache-2.0
//
// Frames over any byte stream, and a link that makes them reliable and ordered in both directions.
// The same file is compiled into host and agent. It does no I/O and keeps no clock: bytes are fed
// in, bytes go out through a callback, and the owner says when it has waited long enough. So it can
// be tested against a line that corrupts, drops and repeats, without one.
//
// Go-back-N: the receiver takes frames in order only and so needs room for one; the sender keeps
// the last `window` frames. A microcontroller has a window of 1. Rejected: selective repeat
// (buffers on the receiver) and relying on the transport (a UART loses bytes without a word).
#ifndef HONE_FRAME_H
#define HONE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hone_frame_kind {
  HONE_FRAME_SYNC = 1,
  HONE_FRAME_SYNC_ACK = 2,
  HONE_FRAME_DATA = 3,
  HONE_FRAME_ACK = 4,
  HONE_FRAME_NAK = 5,
  HONE_FRAME_RESET = 6
};

enum {
  HONE_FRAME_MORE = 0x80,  // in the kind byte: the message goes on in the next data frame
  HONE_FRAME_HEADER = 4,
  HONE_FRAME_TRAILER = 4,
  HONE_WINDOW_LIMIT = 64
};

// Bytes that a frame with `payload` bytes takes at most on the line, both delimiters included.
#define HONE_WIRE_BYTES(payload)                        \
  ((payload) + HONE_FRAME_HEADER + HONE_FRAME_TRAILER + \
   ((payload) + HONE_FRAME_HEADER + HONE_FRAME_TRAILER) / 254 + 3)

uint32_t hone_crc32(uint32_t crc, const uint8_t* bytes, size_t count);  // start with 0

// Consistent overhead byte stuffing, without delimiters. `out` has room for count + count/254 + 1.
size_t hone_cobs_encode(const uint8_t* bytes, size_t count, uint8_t* out);
// Decodes in place; -1 if the bytes are no COBS.
ptrdiff_t hone_cobs_decode(uint8_t* bytes, size_t count);

struct hone_frame {
  uint8_t kind;  // without HONE_FRAME_MORE
  bool more;
  uint8_t type;
  uint8_t session;
  uint8_t sequence;
  const uint8_t* payload;
  size_t payload_bytes;
};

// Both delimiters, stuffing and checksum; `out` has room for HONE_WIRE_BYTES(payload_bytes).
size_t hone_frame_encode(const struct hone_frame* frame, uint8_t* out);
// `bytes` is what stood between two delimiters, and is changed; false: damaged.
bool hone_frame_decode(uint8_t* bytes, size_t count, struct hone_frame* frame);

enum hone_link_state {
  HONE_LINK_CLOSED = 0,   // no session yet, or given up
  HONE_LINK_SYNCING = 1,  // host only: waits for SYNC_ACK
  HONE_LINK_OPEN = 2,
  HONE_LINK_RESET = 3  // host only: the agent does not know our session, it was restarted
};

struct hone_link {
  // -- set by the owner before hone_link_init
  void* owner;
  bool (*write)(void* owner, const uint8_t* bytes, size_t count);
  // In order, once each. false: no room now, the sender shall repeat the frame later.
  bool (*deliver)(void* owner, const struct hone_frame* frame);
  void (*opened)(void* owner);  // agent only, may be null: a new session begins
  size_t payload_limit;         // of frames that this side sends and takes
  uint8_t* receive;             // HONE_WIRE_BYTES(payload_limit)
  uint16_t* slot_sizes;         // `window` of them
  uint8_t* slot_bytes;          // `window` times HONE_WIRE_BYTES(payload_limit)
  int window;                   // a power of two, at most HONE_WINDOW_LIMIT
  bool is_agent;
  // -- the link's own
  enum hone_link_state state;
  uint8_t session;
  uint8_t next_sequence;      // of the next data frame to send
  uint8_t oldest_sequence;    // of the oldest one that was not acknowledged
  uint8_t expected_sequence;  // of the next data frame to take
  bool nak_sent;              // for expected_sequence
  bool overlong;              // the frame that is coming in does not fit
  bool broken;                // write failed
  size_t received;            // bytes of it so far
  uint32_t damaged_frames;
  uint32_t retransmitted_frames;
};

void hone_link_init(struct hone_link* link);
// Host: begins a session (1 to 255). The link is open when hone_link_feed saw the answer.
void hone_link_connect(struct hone_link* link, uint8_t session);
// Takes bytes from the line; stops after a frame was delivered. Returns how many it took.
size_t hone_link_feed(struct hone_link* link, const uint8_t* bytes, size_t count);
bool hone_link_can_send(const struct hone_link* link);
bool hone_link_idle(const struct hone_link* link);  // everything sent was acknowledged
// One data frame; only while hone_link_can_send.
void hone_link_send(struct hone_link* link, uint8_t type, bool more, const uint8_t* payload,
                    size_t count);
// Nothing came for a while: sends again what has no answer.
void hone_link_timed_out(struct hone_link* link);

#ifdef __cplusplus
}
#endif
#endif
