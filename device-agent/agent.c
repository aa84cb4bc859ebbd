// SPDX-License-Identifier: Apache-2.0
//
// The agent: has buffers of a task laid out and filled, has candidates run and checked, and
// answers. Nothing here knows an operating system; port.h is all it asks for.
#include "buffers.h"
#include "image_store.h"
#include "line.h"
#include "port.h"
#include "port_limits.h"
#include "wire.h"

static struct {
  struct hone_buffer buffers[HONE_MAX_BUFFERS];
  uint16_t buffer_count;
  bool ready;  // a task was set up
  // The guard that was found broken last.
  uint16_t broken_buffer;
  uint8_t broken_side;
} agent;

// ---- hello ----

static void serve_hello(void) {
  const struct hone_facts* facts = port_facts();
  begin_reply(HONE_HELLO_REPLY);
  put(HONE_PROTOCOL_VERSION, 2);
  put(facts->arch, 1);
  put(sizeof(void*), 1);
  put(facts->timer, 1);
  put(facts->time_unit, 1);
  put(facts->timer_overhead_ns, 4);
  put(facts->page_bytes, 4);
  put(facts->load_address, 8);
  put(facts->load_bytes, 8);
  put(facts->arena_bytes, 8);
  put(facts->boot_nonce, 8);
  put(facts->agent_hash, 8);
  put(HONE_AGENT_PAYLOAD, 4);
  put(HONE_AGENT_MESSAGE, 4);
  put(HONE_MAX_BUFFERS, 2);
  put(facts->core_count, 2);
  for (uint16_t i = 0; i < facts->core_count; ++i) {
    put(facts->cores[i].id, 2);
    put(facts->cores[i].capacity, 2);
    put(facts->cores[i].max_khz, 4);
  }
  put(facts->feature_count, 2);
  for (uint16_t i = 0; i < facts->feature_count; ++i) put_text(facts->features[i]);
  end_reply();
}

// ---- a task ----

static uint8_t read_buffer(struct hone_reader* reader, struct hone_buffer* buffer,
                           struct hone_fill_spec* fill) {
  buffer->bytes = hone_read(reader, 8);
  buffer->dtype = (uint8_t)hone_read(reader, 1);
  buffer->role = (uint8_t)hone_read(reader, 1);
  fill->kind = (uint8_t)hone_read(reader, 1);
  fill->shift = (uint8_t)hone_read(reader, 1);
  fill->seed = hone_read(reader, 8);
  fill->low = (int32_t)hone_read(reader, 4);
  fill->high = (int32_t)hone_read(reader, 4);
  const size_t element = hone_dtype_bytes(buffer->dtype);
  const bool good = !reader->failed && element != 0 && (buffer->bytes & (element - 1)) == 0 &&
                    buffer->bytes >> 48 == 0 && buffer->role <= HONE_OUTPUT &&
                    fill->kind <= HONE_FILL_INTEGERS && fill->shift <= 30 &&
                    fill->low <= fill->high;
  return good ? HONE_SET_UP_OK : HONE_SET_UP_BAD_BUFFER;
}

static void fill_input(const struct hone_buffer* buffer, const struct hone_fill_spec* fill) {
  if (fill->kind == HONE_FILL_INTEGERS)
    hone_fill_buffer(buffer->start, buffer->dtype, elements_of(buffer), fill);
}

static void set_up_reply(uint8_t status, uint16_t buffer, uint64_t arena_bytes) {
  begin_reply(HONE_SET_UP_REPLY);
  put(status, 1);
  put(buffer, 2);
  put(arena_bytes, 8);
  end_reply();
}

static void serve_set_up(struct hone_reader* reader) {
  agent.ready = false;
  const uint16_t count = (uint16_t)hone_read(reader, 2);
  if (count > HONE_MAX_BUFFERS) {
    set_up_reply(HONE_SET_UP_TOO_MANY_BUFFERS, count, 0);
    return;
  }
  const struct hone_reader first = *reader;
  struct hone_fill_spec fill;
  uint64_t arena_bytes = 0;
  for (uint16_t i = 0; i < count; ++i) {
    const uint8_t status = read_buffer(reader, &agent.buffers[i], &fill);
    if (status != HONE_SET_UP_OK) {
      set_up_reply(status, i, 0);
      return;
    }
    arena_bytes = lay_out(&agent.buffers[i], i, arena_bytes);
  }
  uint8_t* base = NULL;
  if (arena_bytes <= port_facts()->arena_bytes) base = port_arena(arena_bytes);
  if (!base) {
    set_up_reply(HONE_SET_UP_NO_MEMORY, 0, arena_bytes);
    return;
  }
  *reader = first;
  for (uint16_t i = 0; i < count; ++i) {
    struct hone_buffer again;
    read_buffer(reader, &again, &fill);
    move_to(&agent.buffers[i], base);
    fill_input(&agent.buffers[i], &fill);
  }
  agent.buffer_count = count;
  agent.ready = true;
  set_up_reply(HONE_SET_UP_OK, count, arena_bytes);
}

// ---- the check after a run ----

static bool guards_whole_of(const struct hone_buffer* buffer, uint16_t index) {
  agent.broken_buffer = index;
  return guards_whole(buffer, &agent.broken_side);
}

static bool all_guards_whole(const struct hone_run* run) {
  for (uint16_t i = 0; i < run->buffer_count; ++i)
    if (!guards_whole_of(&run->buffers[i], i)) return false;
  return guards_whole_of(&run->constants, HONE_CONSTANTS_BUFFER) &&
         guards_whole_of(&run->workspace, HONE_WORKSPACE_BUFFER);
}

static void put_tolerant_check(const struct hone_buffer* buffer) {
  const uint64_t elements = elements_of(buffer);
  const uint32_t samples = hone_parts(elements, HONE_CHECK_SAMPLES);
  const size_t element = hone_dtype_bytes(buffer->dtype);
  put(samples, 4);
  for (uint32_t k = 0; k < samples; ++k)
    put_bytes(buffer->start + hone_part_start(elements, samples, k) * element, element);
  const uint32_t blocks = hone_parts(elements, HONE_CHECK_BLOCKS);
  put(blocks, 4);
  for (uint32_t k = 0; k < blocks; ++k) {
    const struct hone_block_sum sum =
        hone_sum_block(buffer->start, buffer->dtype, hone_part_start(elements, blocks, k),
                       hone_part_start(elements, blocks, k + 1));
    put_double(sum.sum);
    put_double(sum.magnitude);
  }
}

static void send_check(const struct hone_buffer* buffer, uint16_t index, uint8_t mode) {
  const bool tolerant = mode == HONE_CHECK_TOLERANT && hone_is_float(buffer->dtype);
  begin_reply(HONE_CHECK);
  put(index, 2);
  put(tolerant ? HONE_CHECK_TOLERANT : HONE_CHECK_EXACT, 1);
  put(buffer->dtype, 1);
  if (tolerant) {
    put_tolerant_check(buffer);
  } else {
    put(hone_hash_elements(buffer->start, buffer->dtype, elements_of(buffer)), 8);
  }
  end_reply();
}

static bool check_outputs(struct hone_run* run) {
  if (!all_guards_whole(run)) return false;
  if (run->check_mode == HONE_CHECK_NONE) return true;
  for (uint16_t i = 0; i < run->buffer_count; ++i)
    if (run->buffers[i].role == HONE_OUTPUT) send_check(&run->buffers[i], i, run->check_mode);
  return true;
}

// ---- a run ----

static void put_context(const struct hone_record* record) {
  struct hone_context_value values[24] = {
      {HONE_CONTEXT_CORE_BEFORE, record->core_before},
      {HONE_CONTEXT_CORE_AFTER, record->core_after},
      {HONE_CONTEXT_INVOLUNTARY_SWITCHES, (int64_t)record->involuntary_switches},
      {HONE_CONTEXT_MAJOR_FAULTS, (int64_t)record->major_faults},
      {HONE_CONTEXT_TIMER_OVERHEAD_NS, port_facts()->timer_overhead_ns},
      {HONE_CONTEXT_CANARY_BEFORE_NS, (int64_t)record->canary_before_ns},
      {HONE_CONTEXT_CANARY_AFTER_NS, (int64_t)record->canary_after_ns},
      {HONE_CONTEXT_CHECKED_RUN_NS, (int64_t)record->checked_run_ns},
      {HONE_CONTEXT_SANDBOXED, record->sandboxed},
      {HONE_CONTEXT_RETRANSMITTED, line_retransmitted()},
  };
  size_t count = 10;
  count += port_context(values + count, sizeof values / sizeof values[0] - count);
  put(count, 2);
  for (size_t i = 0; i < count; ++i) {
    put(values[i].tag, 1);
    put((uint64_t)values[i].value, 8);
  }
}

static void run_reply(uint8_t outcome, const struct hone_record* record) {
  const bool measured = outcome == HONE_OK || outcome == HONE_ABANDONED;
  uint32_t samples = measured ? record->sample_count : 0;
  if (samples > HONE_MAX_SAMPLES) samples = HONE_MAX_SAMPLES;
  begin_reply(HONE_RUN_REPLY);
  put(outcome, 1);
  put((uint32_t)record->signal, 4);
  put((uint32_t)record->signal_code, 4);
  put(record->fault_address, 8);
  put(record->fault_pc, 8);
  put(agent.broken_buffer, 2);
  put(agent.broken_side, 1);
  put((uint32_t)record->trouble, 4);
  put(samples, 4);
  for (uint32_t i = 0; i < samples; ++i) {
    put(record->samples[i].ns, 8);
    put(record->samples[i].iterations, 4);
  }
  put_context(record);
  end_reply();
}

static uint64_t read_run(struct hone_reader* reader, struct hone_run* run) {
  const uint64_t hash = hone_read(reader, 8);
  run->image_bytes = (uint32_t)hone_read(reader, 4);
  run->entry_offset = (uint32_t)hone_read(reader, 4);
  run->prepare_offset = (uint32_t)hone_read(reader, 4);
  run->bss_bytes = hone_read(reader, 8);
  run->constants_bytes = hone_read(reader, 8);
  run->workspace_bytes = hone_read(reader, 8);
  run->deadline_ms = (uint32_t)hone_read(reader, 4);
  run->min_sample_ns = hone_read(reader, 8);
  run->max_total_ns = hone_read(reader, 8);
  run->abandon_above_ns = hone_read(reader, 8);
  run->max_samples = (uint32_t)hone_read(reader, 4);
  run->warm_ups = (uint16_t)hone_read(reader, 2);
  run->threads = (uint16_t)hone_read(reader, 2);
  run->check_mode = (uint8_t)hone_read(reader, 1);
  run->core_count = (uint8_t)hone_read(reader, 1);
  if (run->core_count > HONE_MAX_THREADS) reader->failed = true;
  for (uint8_t i = 0; i < run->core_count && !reader->failed; ++i)
    run->cores[i] = (uint16_t)hone_read(reader, 2);
  return hash;
}

static bool image_fits(const struct hone_run* run, uint32_t image_bytes) {
  const uint64_t region = port_facts()->load_bytes;
  return run->image_bytes == image_bytes && run->entry_offset < run->image_bytes &&
         (run->prepare_offset < run->image_bytes || run->prepare_offset == HONE_NO_PREPARE) &&
         run->image_bytes <= region && run->bss_bytes <= region - run->image_bytes;
}

// Constants and workspace: what a candidate has for itself.
static bool place_own_memory(struct hone_run* run) {
  const uint64_t most = port_facts()->arena_bytes;
  if (run->constants_bytes > most || run->workspace_bytes > most) return false;
  run->constants = (struct hone_buffer){.bytes = (run->constants_bytes + 63) & ~(uint64_t)63};
  run->workspace = (struct hone_buffer){.bytes = (run->workspace_bytes + 63) & ~(uint64_t)63};
  const uint64_t behind = lay_out(&run->constants, run->buffer_count, 0);
  uint8_t* base = port_workspace(lay_out(&run->workspace, run->buffer_count + 1, behind));
  if (!base) return false;
  move_to(&run->constants, base);
  move_to(&run->workspace, base);
  return true;
}

// Before each run: the last candidate may have broken them and then have died of something else.
static void paint_all_guards(const struct hone_run* run) {
  for (uint16_t i = 0; i < run->buffer_count; ++i) paint_guards(&run->buffers[i]);
  paint_guards(&run->constants);
  paint_guards(&run->workspace);
}

static uint8_t run_candidate(struct hone_run* run, uint64_t hash) {
  uint32_t image_bytes = 0;
  run->image = find_whole_image(hash, &image_bytes);
  if (!run->image) return HONE_MISSING_IMAGE;
  if (!image_fits(run, image_bytes)) return HONE_BAD_IMAGE;
  if (!place_own_memory(run)) return HONE_NOT_ENOUGH_MEMORY;
  paint_all_guards(run);
  const enum hone_outcome outcome = port_run(run, check_outputs);
  if (outcome != HONE_OK) return (uint8_t)outcome;
  if (!all_guards_whole(run)) return HONE_GUARD_BROKEN;
  return run->record->abandoned ? HONE_ABANDONED : HONE_OK;
}

static void serve_run(struct hone_reader* reader) {
  struct hone_run run = {.buffers = agent.buffers, .buffer_count = agent.buffer_count};
  const uint64_t hash = read_run(reader, &run);
  if (reader->failed || run.threads == 0 || run.threads > HONE_MAX_THREADS ||
      run.max_samples > HONE_MAX_SAMPLES || hash == 0) {
    refuse("a run request with a field out of its range");
    return;
  }
  if (!agent.ready) {
    refuse("a run request before a task was set up");
    return;
  }
  run.record = port_record();
  const uint8_t outcome = run_candidate(&run, hash);
  run_reply(outcome, run.record);
}

// ---- the loop ----

static void serve_message(const struct hone_message_in* message) {
  struct hone_reader reader = {message->bytes, message->count, false};
  if (message->overlong) {
    refuse("a message longer than the agent's limit");
    return;
  }
  switch (message->type) {
    case HONE_HELLO:
      serve_hello();
      break;
    case HONE_SET_UP:
      serve_set_up(&reader);
      break;
    case HONE_IMAGE:
      take_image(&reader);
      break;
    case HONE_RUN:
      serve_run(&reader);
      break;
    default:
      refuse("a message of unknown type");
      break;
  }
}

void hone_agent(void) {
  line_open();
  for (struct hone_message_in message; line_next(&message);) serve_message(&message);
}
