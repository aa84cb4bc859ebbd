// SPDX-License-Identifier: Apache-2.0
#include "frame.h"

// Four bits at a time: a table of 64 bytes fits a microcontroller and is quick enough for a host.
static const uint32_t crc_table[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

uint32_t hone_crc32(uint32_t crc, const uint8_t* bytes, size_t count) {
  crc = ~crc;
  for (size_t i = 0; i < count; ++i) {
    crc ^= bytes[i];
    crc = (crc >> 4) ^ crc_table[crc & 15];
    crc = (crc >> 4) ^ crc_table[crc & 15];
  }
  return ~crc;
}

// COBS as a writer that takes byte after byte, so that header, payload and checksum need not stand
// in one place first.
struct stuffer {
  uint8_t* out;
  size_t code_at;
  size_t at;
};

static void stuff_begin(struct stuffer* s, uint8_t* out) {
  s->out = out;
  s->code_at = 0;
  s->at = 1;
}

static void stuff_close_block(struct stuffer* s) {
  s->out[s->code_at] = (uint8_t)(s->at - s->code_at);
  s->code_at = s->at++;
}

static void stuff(struct stuffer* s, const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (bytes[i] != 0) {
      s->out[s->at++] = bytes[i];
      if (s->at - s->code_at == 255) stuff_close_block(s);
    } else {
      stuff_close_block(s);
    }
  }
}

static size_t stuff_end(struct stuffer* s) {
  s->out[s->code_at] = (uint8_t)(s->at - s->code_at);
  return s->at;
}

size_t hone_cobs_encode(const uint8_t* bytes, size_t count, uint8_t* out) {
  struct stuffer s;
  stuff_begin(&s, out);
  stuff(&s, bytes, count);
  return stuff_end(&s);
}

ptrdiff_t hone_cobs_decode(uint8_t* bytes, size_t count) {
  size_t read = 0;
  size_t written = 0;
  while (read < count) {
    const uint8_t code = bytes[read++];
    if (code == 0 || (size_t)(code - 1) > count - read) return -1;
    for (int i = 1; i < code; ++i) {
      if (bytes[read] == 0) return -1;
      bytes[written++] = bytes[read++];
    }
    if (code != 255 && read < count) bytes[written++] = 0;
  }
  return (ptrdiff_t)written;
}

size_t hone_frame_encode(const struct hone_frame* frame, uint8_t* out) {
  const uint8_t header[HONE_FRAME_HEADER] = {
      (uint8_t)(frame->kind | (frame->more ? HONE_FRAME_MORE : 0)), frame->type, frame->session,
      frame->sequence};
  uint32_t crc = hone_crc32(0, header, sizeof header);
  crc = hone_crc32(crc, frame->payload, frame->payload_bytes);
  const uint8_t trailer[HONE_FRAME_TRAILER] = {(uint8_t)crc, (uint8_t)(crc >> 8),
                                               (uint8_t)(crc >> 16), (uint8_t)(crc >> 24)};
  struct stuffer s;
  // A delimiter in front too: it ends whatever noise stood on the line before.
  out[0] = 0;
  stuff_begin(&s, out + 1);
  stuff(&s, header, sizeof header);
  stuff(&s, frame->payload, frame->payload_bytes);
  stuff(&s, trailer, sizeof trailer);
  const size_t end = 1 + stuff_end(&s);
  out[end] = 0;
  return end + 1;
}

bool hone_frame_decode(uint8_t* bytes, size_t count, struct hone_frame* frame) {
  const ptrdiff_t decoded = hone_cobs_decode(bytes, count);
  if (decoded < HONE_FRAME_HEADER + HONE_FRAME_TRAILER) return false;
  const size_t covered = (size_t)decoded - HONE_FRAME_TRAILER;
  const uint8_t* trailer = bytes + covered;
  const uint32_t crc = (uint32_t)trailer[0] | (uint32_t)trailer[1] << 8 |
                       (uint32_t)trailer[2] << 16 | (uint32_t)trailer[3] << 24;
  if (crc != hone_crc32(0, bytes, covered)) return false;
  frame->kind = (uint8_t)(bytes[0] & ~HONE_FRAME_MORE);
  frame->more = (bytes[0] & HONE_FRAME_MORE) != 0;
  frame->type = bytes[1];
  frame->session = bytes[2];
  frame->sequence = bytes[3];
  frame->payload = bytes + HONE_FRAME_HEADER;
  frame->payload_bytes = covered - HONE_FRAME_HEADER;
  return true;
}

// ---- the link ----

static void write_out(struct hone_link* link, const uint8_t* bytes, size_t count) {
  if (!link->broken && !link->write(link->owner, bytes, count)) link->broken = true;
}

static void send_control(struct hone_link* link, uint8_t kind, uint8_t session, uint8_t sequence) {
  uint8_t wire[HONE_WIRE_BYTES(0)];
  const struct hone_frame frame = {kind, false, 0, session, sequence, wire, 0};
  write_out(link, wire, hone_frame_encode(&frame, wire));
}

static size_t slot_of(const struct hone_link* link, uint8_t sequence) {
  // A power of two, so that the place stays the same when the numbers start again at 0.
  return sequence & (size_t)(link->window - 1);
}

static uint8_t* slot_bytes(const struct hone_link* link, uint8_t sequence) {
  return link->slot_bytes + slot_of(link, sequence) * HONE_WIRE_BYTES(link->payload_limit);
}

static int in_flight(const struct hone_link* link) {
  return (uint8_t)(link->next_sequence - link->oldest_sequence);
}

static void send_again(struct hone_link* link) {
  for (uint8_t s = link->oldest_sequence; s != link->next_sequence; ++s) {
    ++link->retransmitted_frames;
    write_out(link, slot_bytes(link, s), link->slot_sizes[slot_of(link, s)]);
  }
}

static void begin_session(struct hone_link* link, uint8_t session) {
  link->session = session;
  link->next_sequence = 0;
  link->oldest_sequence = 0;
  link->expected_sequence = 0;
  link->nak_sent = false;
}

void hone_link_init(struct hone_link* link) {
  link->state = HONE_LINK_CLOSED;
  link->received = 0;
  link->overlong = false;
  link->broken = false;
  link->damaged_frames = 0;
  link->retransmitted_frames = 0;
  begin_session(link, 0);
}

void hone_link_connect(struct hone_link* link, uint8_t session) {
  begin_session(link, session);
  link->state = HONE_LINK_SYNCING;
  send_control(link, HONE_FRAME_SYNC, session, 0);
}

static void send_nak(struct hone_link* link) {
  if (link->nak_sent || link->state != HONE_LINK_OPEN) return;
  // One for each gap: the frames behind it that are already on their way must not each ask again.
  link->nak_sent = true;
  send_control(link, HONE_FRAME_NAK, link->session, link->expected_sequence);
}

static void take_acknowledgement(struct hone_link* link, uint8_t sequence) {
  // `sequence` is what the other side expects next; anything outside the window is an old one.
  const uint8_t acknowledged = (uint8_t)(sequence - link->oldest_sequence);
  if (acknowledged <= in_flight(link)) link->oldest_sequence = sequence;
}

// Returns true if the frame went to the owner.
static bool take_data(struct hone_link* link, const struct hone_frame* frame) {
  if (frame->sequence != link->expected_sequence) {
    const uint8_t behind = (uint8_t)(link->expected_sequence - frame->sequence);
    if (behind <= HONE_WINDOW_LIMIT) {
      send_control(link, HONE_FRAME_ACK, link->session, link->expected_sequence);
    } else {
      send_nak(link);
    }
    return false;
  }
  // Acknowledged before the owner acts: a candidate may run for seconds.
  if (!link->deliver(link->owner, frame)) return false;
  ++link->expected_sequence;
  link->nak_sent = false;
  send_control(link, HONE_FRAME_ACK, link->session, link->expected_sequence);
  return true;
}

static bool take_sync(struct hone_link* link, const struct hone_frame* frame) {
  if (!link->is_agent || frame->session == 0) return false;
  begin_session(link, frame->session);
  link->state = HONE_LINK_OPEN;
  if (link->opened) link->opened(link->owner);
  send_control(link, HONE_FRAME_SYNC_ACK, link->session, 0);
  return false;
}

static bool take_frame(struct hone_link* link, const struct hone_frame* frame) {
  if (frame->kind == HONE_FRAME_SYNC) return take_sync(link, frame);
  if (frame->kind == HONE_FRAME_RESET) {
    if (!link->is_agent && link->state == HONE_LINK_OPEN) link->state = HONE_LINK_RESET;
    return false;
  }
  if (frame->kind == HONE_FRAME_SYNC_ACK) {
    if (link->state == HONE_LINK_SYNCING && frame->session == link->session)
      link->state = HONE_LINK_OPEN;
    return false;
  }
  if (link->state != HONE_LINK_OPEN || frame->session != link->session) {
    // The host talks in a session that this agent never saw: it was restarted in between.
    if (link->is_agent && frame->kind == HONE_FRAME_DATA)
      send_control(link, HONE_FRAME_RESET, link->session, 0);
    return false;
  }
  if (frame->kind == HONE_FRAME_DATA) return take_data(link, frame);
  if (frame->kind == HONE_FRAME_ACK) take_acknowledgement(link, frame->sequence);
  if (frame->kind == HONE_FRAME_NAK) {
    take_acknowledgement(link, frame->sequence);
    send_again(link);
  }
  return false;
}

static bool end_of_frame(struct hone_link* link) {
  const size_t count = link->received;
  const bool overlong = link->overlong;
  link->received = 0;
  link->overlong = false;
  if (count == 0) return false;
  struct hone_frame frame;
  if (overlong || !hone_frame_decode(link->receive, count, &frame)) {
    ++link->damaged_frames;
    send_nak(link);
    return false;
  }
  return take_frame(link, &frame);
}

size_t hone_link_feed(struct hone_link* link, const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (bytes[i] == 0) {
      if (end_of_frame(link)) return i + 1;
    } else if (link->received < HONE_WIRE_BYTES(link->payload_limit)) {
      link->receive[link->received++] = bytes[i];
    } else {
      link->overlong = true;
    }
  }
  return count;
}

bool hone_link_can_send(const struct hone_link* link) {
  return link->state == HONE_LINK_OPEN && in_flight(link) < link->window;
}

bool hone_link_idle(const struct hone_link* link) {
  return link->state != HONE_LINK_SYNCING && link->next_sequence == link->oldest_sequence;
}

void hone_link_send(struct hone_link* link, uint8_t type, bool more, const uint8_t* payload,
                    size_t count) {
  const uint8_t sequence = link->next_sequence++;
  const struct hone_frame frame = {HONE_FRAME_DATA, more,    type, link->session,
                                   sequence,        payload, count};
  uint8_t* wire = slot_bytes(link, sequence);
  const size_t bytes = hone_frame_encode(&frame, wire);
  link->slot_sizes[slot_of(link, sequence)] = (uint16_t)bytes;
  write_out(link, wire, bytes);
}

void hone_link_timed_out(struct hone_link* link) {
  // A question that was lost with its frame is asked again.
  link->nak_sent = false;
  if (link->state == HONE_LINK_SYNCING) send_control(link, HONE_FRAME_SYNC, link->session, 0);
  if (link->state == HONE_LINK_OPEN) send_again(link);
}
