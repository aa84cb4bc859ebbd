// SPDX-License-Identifier: Apache-2.0
//
// Images of candidates by the hash of their content, so that none crosses the line twice while
// there is room for it.
#ifndef HONE_IMAGE_STORE_H
#define HONE_IMAGE_STORE_H

#include "wire.h"

// Takes a part of an image.
void take_image(struct hone_reader* reader);
// Null: it did not arrive, or not whole, or was forgotten.
const uint8_t* find_whole_image(uint64_t hash, uint32_t* bytes);

#endif
