// SPDX-License-Identifier: Apache-2.0
//
// Whole messages in and replies out, over the link to the host.
#ifndef HONE_LINE_H
#define HONE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hone_message_in {
  uint8_t type;
  bool overlong;  // did not fit; bytes are missing
  const uint8_t* bytes;
  size_t count;
};

void line_open(void);
// Waits for the next message; its bytes stay until the next call. false: the line is closed.
bool line_next(struct hone_message_in* message);
uint32_t line_retransmitted(void);

// A reply goes out in frames while it is put together. If the host began a new session since the
// message came, nothing goes out: whoever asked is gone.
void begin_reply(uint8_t type);
void put(uint64_t value, size_t bytes);
void put_bytes(const uint8_t* bytes, size_t count);
void put_double(double value);
void put_text(const char* text);
void end_reply(void);
void refuse(const char* reason);  // the message that line_next gave

#endif
