// SPDX-License-Identifier: Apache-2.0
//
// Where buffers lie, and the guard zones around them.
#ifndef HONE_BUFFERS_H
#define HONE_BUFFERS_H

#include "port.h"

// Places buffer number `index` at `offset` of memory that is not there yet; returns the offset
// behind it. move_to gives it the memory.
uint64_t lay_out(struct hone_buffer* buffer, uint16_t index, uint64_t offset);
void move_to(struct hone_buffer* buffer, uint8_t* base);
uint64_t elements_of(const struct hone_buffer* buffer);

void paint_guards(const struct hone_buffer* buffer);
// false: `side` says which one was written.
bool guards_whole(const struct hone_buffer* buffer, uint8_t* side);

#endif
