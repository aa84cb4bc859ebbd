// SPDX-License-Identifier: Apache-2.0
//
// The numbers of the agent protocol and the calling convention of a candidate. PROTOCOL.md says
// what every byte means; this header is what host, agent and code generator share of it.
#ifndef HONE_PROTOCOL_H
#define HONE_PROTOCOL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { HONE_PROTOCOL_VERSION = 2 };

// ---- calling convention of a candidate ----
// buffers[i] is argument slot i; behind the last stands the memory for constants (weights in the
// order in which the code reads them). All 64-byte aligned, as is the workspace, none overlapping.
// `parallel` is never null. A candidate with constants has a second function of this kind, called
// once before all others, that fills them.

struct hone_parallel {
  // Calls body(context, i, worker) once for every i in [0, count), on any of `threads` threads, and
  // returns when all calls have. `worker`, in [0, threads), is one thread's alone while a body
  // runs, so it can stand for that thread's own memory. A call from inside a body runs in line, as
  // worker 0.
  void (*run)(const struct hone_parallel* self,
              void (*body)(void* context, intptr_t index, intptr_t worker), void* context,
              intptr_t count);
  int32_t threads;
  void* pool;  // the agent's own
};

typedef void (*hone_entry)(void* const* buffers, void* workspace,
                           const struct hone_parallel* parallel);

// ---- element types ----

enum hone_dtype {
  HONE_B1 = 0,
  HONE_I8 = 1,
  HONE_U8 = 2,
  HONE_I16 = 3,
  HONE_I32 = 4,
  HONE_I64 = 5,
  HONE_F16 = 6,
  HONE_BF16 = 7,
  HONE_F32 = 8,
  HONE_F64 = 9,
  HONE_DTYPES = 10
};

// ---- messages: the type byte of a data frame ----

enum hone_message {
  // host → agent
  HONE_HELLO = 0x01,
  HONE_SET_UP = 0x02,
  HONE_IMAGE = 0x03,  // has no reply: a RUN of an image that did not arrive says so
  HONE_RUN = 0x04,
  // agent → host
  HONE_HELLO_REPLY = 0x81,
  HONE_SET_UP_REPLY = 0x82,
  HONE_CHECK = 0x85,  // one for each output, between RUN and its reply
  HONE_RUN_REPLY = 0x84,
  HONE_REFUSED = 0xff  // a message that the agent cannot read
};

enum hone_arch { HONE_X86_64 = 1, HONE_AARCH64 = 2, HONE_ARMV7 = 3, HONE_RISCV64 = 4 };

enum hone_timer {
  HONE_TIMER_CLOCK = 1,   // CLOCK_MONOTONIC_RAW by system call
  HONE_TIMER_TSC = 2,     // x86 invariant time stamp counter, calibrated against the clock
  HONE_TIMER_CNTVCT = 3,  // AArch64 virtual counter, calibrated
  HONE_TIMER_RDTIME = 4   // RISC-V time register, calibrated
};

enum hone_time_unit { HONE_UNIT_NS = 0, HONE_UNIT_CYCLES = 1, HONE_UNIT_INSN = 2 };

enum hone_role { HONE_INPUT = 0, HONE_OUTPUT = 1 };

enum hone_fill {
  HONE_FILL_NONE = 0,      // outputs
  HONE_FILL_INTEGERS = 1,  // uniform integers of [low, high], each times 2^-shift
};

enum hone_set_up_status {
  HONE_SET_UP_OK = 0,
  HONE_SET_UP_NO_MEMORY = 1,
  HONE_SET_UP_TOO_MANY_BUFFERS = 2,
  HONE_SET_UP_BAD_BUFFER = 3
};

enum hone_check_mode {
  HONE_CHECK_NONE = 0,
  HONE_CHECK_EXACT = 1,    // one hash over all elements
  HONE_CHECK_TOLERANT = 2  // floats: samples and block sums; other dtypes of the task: the hash
};

enum hone_outcome {
  HONE_OK = 0,
  HONE_ABANDONED = 1,  // the first sample was above the limit of the request
  HONE_FAULT = 2,
  HONE_ILLEGAL_INSTRUCTION = 3,
  HONE_TIMEOUT = 4,
  HONE_GUARD_BROKEN = 5,
  HONE_BAD_IMAGE = 6,
  HONE_NOT_ENOUGH_MEMORY = 7,
  HONE_MISSING_IMAGE = 8,  // send it (again)
  HONE_AGENT_TROUBLE = 9   // the agent could not start the candidate: detail holds an errno
};

enum hone_guard_side { HONE_BELOW = 0, HONE_ABOVE = 1 };
// Buffer indices in a broken guard.
enum { HONE_WORKSPACE_BUFFER = 0xffff, HONE_CONSTANTS_BUFFER = 0xfffe };
#define HONE_NO_PREPARE 0xffffffffu  // prepare_offset of a candidate without constants

// Context that may stand in a run reply: tag and value.
enum hone_context {
  HONE_CONTEXT_CORE_BEFORE = 1,
  HONE_CONTEXT_CORE_AFTER = 2,
  HONE_CONTEXT_INVOLUNTARY_SWITCHES = 3,
  HONE_CONTEXT_MAJOR_FAULTS = 4,
  HONE_CONTEXT_FREQUENCY_BEFORE_KHZ = 5,
  HONE_CONTEXT_FREQUENCY_AFTER_KHZ = 6,
  HONE_CONTEXT_GOVERNOR = 7,  // enum hone_governor
  HONE_CONTEXT_TEMPERATURE_MILLIDEGREES = 8,
  HONE_CONTEXT_TIMER_OVERHEAD_NS = 9,
  HONE_CONTEXT_CANARY_BEFORE_NS = 10,
  HONE_CONTEXT_CANARY_AFTER_NS = 11,
  HONE_CONTEXT_CHECKED_RUN_NS = 12,  // the first, cold call
  HONE_CONTEXT_SANDBOXED = 13,       // 1: system calls of the candidate were filtered
  HONE_CONTEXT_RETRANSMITTED = 14    // frames that the agent sent again since the link was made
};

enum hone_governor {
  HONE_GOVERNOR_OTHER = 0,
  HONE_GOVERNOR_PERFORMANCE = 1,
  HONE_GOVERNOR_POWERSAVE = 2,
  HONE_GOVERNOR_ONDEMAND = 3,
  HONE_GOVERNOR_CONSERVATIVE = 4,
  HONE_GOVERNOR_SCHEDUTIL = 5,
  HONE_GOVERNOR_USERSPACE = 6
};

// ---- limits ----

enum {
  HONE_MAX_SAMPLES = 4096,
  HONE_MAX_THREADS = 64,
  HONE_MAX_BUFFERS = 64,
  HONE_MIN_GUARD_BYTES = 4096,
  HONE_GUARD_BYTE = 0xcb,
  HONE_CHECK_SAMPLES = 1024,
  HONE_CHECK_BLOCKS = 64
};

#ifdef __cplusplus
}
#endif
#endif
