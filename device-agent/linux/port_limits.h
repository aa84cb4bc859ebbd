// SPDX-License-Identifier: Apache-2.0
//
// Sizes of the agent's own memory on Linux.
#ifndef HONE_PORT_LIMITS_H
#define HONE_PORT_LIMITS_H

enum {
  HONE_AGENT_PAYLOAD = 4096,   // bytes of a frame's payload
  HONE_AGENT_WINDOW = 8,       // frames under way to the host
  HONE_AGENT_MESSAGE = 16384,  // bytes of the longest message from the host
  HONE_AGENT_IMAGES = 64       // images kept, if the store has room for them
};

#endif
