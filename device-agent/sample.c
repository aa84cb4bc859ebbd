// SPDX-License-Identifier: Apache-2.0
//
// How a candidate is timed. A sample is as many calls as are needed to last min_sample_ns, so that
// the timer's step and its cost do not matter. Raw samples go to the host; statistics are made
// there.
#include "port.h"

// A loop whose time depends on the core's clock alone. Timed before and after a candidate it shows
// whether the machine changed its speed in between. The least of three: an interrupt is not a
// change.
static uint64_t canary_ns(void) {
  uint64_t least = UINT64_MAX;
  for (int attempt = 0; attempt < 3; ++attempt) {
    uint32_t value = 12345;
    const uint64_t begin = port_now_ns();
    for (int i = 0; i < 4000; ++i) {
      value = value * 1664525u + 1013904223u;
      __asm__ volatile("" : "+r"(value));
    }
    const uint64_t took = port_now_ns() - begin;
    if (took < least) least = took;
  }
  return least;
}

struct call {
  hone_entry entry;
  void* const* buffers;
  void* workspace;
  const struct hone_parallel* parallel;
};

static uint64_t time_calls(const struct call* call, uint32_t iterations) {
  const uint64_t begin = port_now_ns();
  for (uint32_t i = 0; i < iterations; ++i)
    call->entry(call->buffers, call->workspace, call->parallel);
  return port_now_ns() - begin;
}

// How many calls a sample takes, and the last trial, which is long enough to be the first sample.
static struct hone_sample first_sample(const struct call* call, uint64_t min_sample_ns) {
  struct hone_sample sample = {0, 1, 0};
  for (;;) {
    sample.ns = time_calls(call, sample.iterations);
    if (sample.ns >= min_sample_ns || sample.iterations >= 1u << 30) return sample;
    sample.iterations *= 2;
  }
}

static void sample_until_done(const struct hone_run* run, const struct call* call) {
  struct hone_record* record = run->record;
  struct hone_sample sample = first_sample(call, run->min_sample_ns);
  uint64_t total_ns = 0;
  for (;;) {
    record->samples[record->sample_count++] = sample;
    total_ns += sample.ns;
    // Compared as a product: a 32-bit core has no quick division.
    if (record->sample_count == 1 && run->abandon_above_ns != 0 &&
        sample.ns > run->abandon_above_ns * sample.iterations) {
      record->abandoned = 1;
      return;
    }
    if (record->sample_count >= run->max_samples || total_ns >= run->max_total_ns) return;
    sample.ns = time_calls(call, sample.iterations);
  }
}

void hone_take_samples(const struct hone_run* run, hone_entry prepare, hone_entry entry,
                       const struct hone_parallel* parallel, void (*checkpoint)(void)) {
  struct hone_record* record = run->record;
  void* buffers[HONE_MAX_BUFFERS + 1];
  for (uint16_t i = 0; i < run->buffer_count; ++i) buffers[i] = run->buffers[i].start;
  buffers[run->buffer_count] = run->constants.start;
  const struct call call = {entry, buffers, run->workspace.start, parallel};

  if (prepare) prepare(buffers, run->workspace.start, parallel);
  record->canary_before_ns = canary_ns();
  record->checked_run_ns = time_calls(&call, 1);
  record->checked = 1;
  checkpoint();
  for (uint16_t i = 1; i < run->warm_ups; ++i) time_calls(&call, 1);
  if (run->max_samples > 0) sample_until_done(run, &call);
  record->canary_after_ns = canary_ns();
  record->finished = 1;
}
