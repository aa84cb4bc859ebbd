// SPDX-License-Identifier: Apache-2.0
//
// What the agent asks of the machine below it. agent.c and sample.c know nothing else, so the same
// files serve Linux and bare metal.
#ifndef HONE_PORT_H
#define HONE_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data.h"
#include "protocol.h"

struct hone_core {
  uint16_t id;
  uint16_t capacity;  // relative to the fastest core, which has 1024; 0: unknown
  uint32_t max_khz;   // 0: unknown
};

struct hone_facts {
  uint8_t arch;  // enum hone_arch
  uint8_t timer;
  uint8_t time_unit;
  uint32_t timer_overhead_ns;  // what two readings of the timer with nothing between them differ by
  uint32_t page_bytes;
  uint64_t load_address;
  uint64_t load_bytes;
  uint64_t arena_bytes;  // most that the buffers of a task may take
  uint64_t boot_nonce;   // another one at each start
  uint64_t agent_hash;   // of the agent's code
  const struct hone_core* cores;
  uint16_t core_count;
  const char* const* features;
  uint16_t feature_count;
  uint8_t* image_store;  // where images are kept; on bare metal the load region itself
  uint64_t image_store_bytes;
};

struct hone_buffer {
  uint8_t* start;  // 64-byte aligned
  uint64_t bytes;
  uint8_t* zone;  // whole pages around it, guards included
  uint64_t zone_bytes;
  uint8_t dtype;
  uint8_t role;
};

struct hone_sample {
  uint64_t ns;  // of all iterations together
  uint32_t iterations;
  uint32_t reserved;
};

// What a candidate's run leaves behind. On Linux the candidate's process writes it and the agent
// reads it, believing no count in it.
struct hone_record {
  uint32_t abandoned;
  uint32_t sample_count;
  uint32_t checked;  // the checked run came back
  uint32_t finished;
  int32_t signal;
  int32_t signal_code;
  uint64_t fault_address;
  uint64_t fault_pc;
  int32_t trouble;
  uint32_t core_before;
  uint32_t core_after;
  uint32_t sandboxed;
  uint64_t checked_run_ns;
  uint64_t canary_before_ns;
  uint64_t canary_after_ns;
  uint64_t involuntary_switches;
  uint64_t major_faults;
  struct hone_sample samples[HONE_MAX_SAMPLES];
};

struct hone_run {
  // -- the request
  uint32_t entry_offset;
  uint32_t prepare_offset;  // of the function that fills the constants, or HONE_NO_PREPARE
  uint64_t bss_bytes;
  uint64_t constants_bytes;
  uint64_t workspace_bytes;
  uint32_t deadline_ms;
  uint64_t min_sample_ns;
  uint64_t max_total_ns;
  uint64_t abandon_above_ns;
  uint32_t max_samples;
  uint16_t warm_ups;
  uint16_t threads;
  uint8_t check_mode;
  uint8_t core_count;
  uint16_t cores[HONE_MAX_THREADS];
  // -- what the agent adds
  const uint8_t* image;
  uint32_t image_bytes;
  struct hone_buffer* buffers;
  uint16_t buffer_count;
  struct hone_buffer constants;
  struct hone_buffer workspace;
  struct hone_record* record;
};

struct hone_context_value {
  uint8_t tag;  // enum hone_context
  int64_t value;
};

const struct hone_facts* port_facts(void);
// At least one byte; 0 when `timeout_ms` (negative: for ever) passed; -1 when the line is closed.
int32_t port_read(uint8_t* bytes, size_t space, int32_t timeout_ms);
bool port_write(const uint8_t* bytes, size_t count);
// Memory for the buffers of a task; what it gave before is gone. Null: there is not so much.
uint8_t* port_arena(uint64_t bytes);
// The same for constants and workspace; the memory may be what it gave before.
uint8_t* port_workspace(uint64_t bytes);
struct hone_record* port_record(void);
uint64_t port_now_ns(void);
// Runs a candidate to its end, whatever that is. After the checked run it calls `checked` once,
// while the candidate does nothing; false from there ends the candidate as HONE_GUARD_BROKEN.
enum hone_outcome port_run(struct hone_run* run, bool (*checked)(struct hone_run* run));
// Facts about the machine during the last run; returns how many of `space` it filled in.
size_t port_context(struct hone_context_value* values, size_t space);

// ---- given to ports by the common part ----

void hone_agent(void);  // serves the line until it is closed

// Constants, canary, checked run, warm-up, samples; writes run->record. `prepare` may be null.
// `checkpoint` is called after the checked run and returns when the check was done.
void hone_take_samples(const struct hone_run* run, hone_entry prepare, hone_entry entry,
                       const struct hone_parallel* parallel, void (*checkpoint)(void));

#endif
