// SPDX-License-Identifier: Apache-2.0
#include "device/session_messages.h"

#include <bit>
#include <limits>
#include <string_view>

#include "wire.h"

namespace hone {
namespace {

class Reader {
 public:
  explicit Reader(const Message& message)
      : reader_{message.bytes.data(), message.bytes.size(), false} {}

  template <typename T>
  T get() {
    return static_cast<T>(hone_read(&reader_, sizeof(T)));
  }
  double get_double() { return std::bit_cast<double>(get<uint64_t>()); }
  int64_t get_size() {
    const uint64_t value = get<uint64_t>();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) reader_.failed = true;
    return static_cast<int64_t>(value);
  }
  // How many entries follow; fails when there is not room for that many in the message.
  size_t get_count(size_t value, size_t entry_bytes) {
    if (value * entry_bytes > reader_.left) reader_.failed = true;
    return reader_.failed ? 0 : value;
  }
  std::string get_text() {
    const size_t length = get_count(get<uint8_t>(), 1);
    std::string text(reinterpret_cast<const char*>(reader_.bytes), length);
    skip(length);
    return text;
  }
  const uint8_t* here() const { return reader_.bytes; }
  void skip(size_t count) {
    reader_.bytes += count;
    reader_.left -= count;
  }
  bool failed() const { return reader_.failed; }

 private:
  hone_reader reader_;
};

std::string_view arch_name(uint8_t arch) {
  switch (arch) {
    case HONE_X86_64:
      return "x86_64";
    case HONE_AARCH64:
      return "aarch64";
    case HONE_ARMV7:
      return "armv7";
    case HONE_RISCV64:
      return "riscv64";
    default:
      return "unknown";
  }
}

std::string_view timer_name(uint8_t timer) {
  switch (timer) {
    case HONE_TIMER_CLOCK:
      return "clock";
    case HONE_TIMER_TSC:
      return "tsc";
    case HONE_TIMER_CNTVCT:
      return "cntvct";
    case HONE_TIMER_RDTIME:
      return "rdtime";
    default:
      return "unknown";
  }
}

std::string_view unit_name(uint8_t unit) {
  switch (unit) {
    case HONE_UNIT_CYCLES:
      return "cycles";
    case HONE_UNIT_INSN:
      return "insn";
    default:
      return "ns";
  }
}

std::unexpected<Error> unreadable(std::string_view what) {
  return fail("the agent sent {} that is cut short or holds impossible values", what);
}

void read_cores(Reader& reader, DeviceInfo& info) {
  const size_t cores = reader.get_count(reader.get<uint16_t>(), 8);
  for (size_t i = 0; i < cores; ++i) {
    DeviceInfo::Core core;
    core.id = reader.get<uint16_t>();
    core.capacity = reader.get<uint16_t>();
    core.max_khz = reader.get<uint32_t>();
    info.cores.push_back(core);
  }
}

}  // namespace

Message set_up_message(std::span<const BufferSpec> buffers) {
  MessageWriter writer(HONE_SET_UP);
  writer.put(static_cast<uint16_t>(buffers.size()));
  for (const BufferSpec& buffer : buffers) {
    writer.put(static_cast<uint64_t>(buffer.bytes));
    writer.put(buffer.dtype);
    writer.put(static_cast<uint8_t>(buffer.output ? HONE_OUTPUT : HONE_INPUT));
    writer.put(static_cast<uint8_t>(buffer.output ? HONE_FILL_NONE : HONE_FILL_INTEGERS));
    writer.put(buffer.fill.shift);
    writer.put(buffer.fill.seed);
    writer.put(buffer.fill.low);
    writer.put(buffer.fill.high);
  }
  return writer.message();
}

Message image_message(uint64_t hash, std::span<const uint8_t> image, uint32_t crc, size_t offset,
                      size_t count) {
  MessageWriter writer(HONE_IMAGE);
  writer.put(hash);
  writer.put(static_cast<uint32_t>(image.size()));
  writer.put(crc);
  writer.put(static_cast<uint32_t>(offset));
  writer.put_bytes(image.subspan(offset, count));
  return writer.message();
}

Message run_message(const RunRequest& request, uint64_t image_hash) {
  MessageWriter writer(HONE_RUN);
  writer.put(image_hash);
  writer.put(static_cast<uint32_t>(request.image.size()));
  writer.put(static_cast<uint32_t>(request.entry_offset));
  writer.put(request.prepare_offset ? static_cast<uint32_t>(*request.prepare_offset)
                                    : HONE_NO_PREPARE);
  writer.put(static_cast<uint64_t>(request.bss_bytes));
  writer.put(static_cast<uint64_t>(request.constants_bytes));
  writer.put(static_cast<uint64_t>(request.workspace_bytes));
  writer.put(static_cast<uint32_t>(request.deadline_ms));
  writer.put(static_cast<uint64_t>(request.min_sample_ns));
  writer.put(static_cast<uint64_t>(request.max_total_ns));
  writer.put(static_cast<uint64_t>(request.abandon_above_ns));
  writer.put(static_cast<uint32_t>(request.max_samples));
  writer.put(static_cast<uint16_t>(request.warm_ups));
  writer.put(static_cast<uint16_t>(request.threads));
  writer.put(static_cast<uint8_t>(!request.check     ? HONE_CHECK_NONE
                                  : request.tolerant ? HONE_CHECK_TOLERANT
                                                     : HONE_CHECK_EXACT));
  writer.put(static_cast<uint8_t>(request.cores.size()));
  for (const int core : request.cores) writer.put(static_cast<uint16_t>(core));
  return writer.message();
}

Result<DeviceInfo> read_hello(const Message& message) {
  Reader reader(message);
  DeviceInfo info;
  info.version = reader.get<uint16_t>();
  if (!reader.failed() && info.version != HONE_PROTOCOL_VERSION)
    return fail("the agent speaks version {} of the protocol, this host version {}", info.version,
                static_cast<int>(HONE_PROTOCOL_VERSION));
  info.arch = arch_name(reader.get<uint8_t>());
  info.pointer_bits = 8 * reader.get<uint8_t>();
  info.timer = timer_name(reader.get<uint8_t>());
  info.unit = unit_name(reader.get<uint8_t>());
  info.timer_overhead_ns = reader.get<uint32_t>();
  info.page_bytes = reader.get<uint32_t>();
  info.load_address = reader.get<uint64_t>();
  info.load_bytes = reader.get_size();
  info.arena_bytes = reader.get_size();
  info.boot_nonce = reader.get<uint64_t>();
  info.agent_hash = reader.get<uint64_t>();
  info.frame_bytes = reader.get<uint32_t>();
  info.message_bytes = reader.get<uint32_t>();
  info.max_buffers = reader.get<uint16_t>();
  read_cores(reader, info);
  const size_t features = reader.get_count(reader.get<uint16_t>(), 1);
  for (size_t i = 0; i < features; ++i) info.features.push_back(reader.get_text());
  if (reader.failed() || info.frame_bytes < 64 || info.message_bytes < 64)
    return unreadable("a greeting");
  return info;
}

Result<SetUpReply> read_set_up_reply(const Message& message) {
  Reader reader(message);
  const auto status = reader.get<uint8_t>();
  const auto buffer = reader.get<uint16_t>();
  SetUpReply reply;
  reply.arena_bytes = reader.get_size();
  if (reader.failed()) return unreadable("an answer to a set-up");
  switch (status) {
    case HONE_SET_UP_OK:
      reply.ok = true;
      break;
    case HONE_SET_UP_NO_MEMORY:
      reply.reason = fmt::format("the device has no {} bytes for the buffers", reply.arena_bytes);
      break;
    case HONE_SET_UP_TOO_MANY_BUFFERS:
      reply.reason = fmt::format("{} buffers are more than the agent has room for", buffer);
      break;
    default:
      reply.reason = fmt::format("buffer {} is described wrongly", buffer);
      break;
  }
  return reply;
}

Result<OutputCheck> read_check(const Message& message) {
  Reader reader(message);
  OutputCheck check;
  check.buffer = reader.get<uint16_t>();
  check.tolerant = reader.get<uint8_t>() == HONE_CHECK_TOLERANT;
  check.dtype = reader.get<uint8_t>();
  const size_t element = hone_dtype_bytes(check.dtype);
  if (element == 0) return unreadable("a check of an output");
  if (!check.tolerant) {
    check.hash = reader.get<uint64_t>();
  } else {
    const size_t samples = reader.get_count(reader.get<uint32_t>(), element);
    // Values stand unaligned in the message.
    std::vector<double> aligned(samples * element / sizeof(double) + 1);
    std::copy_n(reader.here(), samples * element, reinterpret_cast<uint8_t*>(aligned.data()));
    for (size_t k = 0; k < samples; ++k)
      check.samples.push_back(hone_element(aligned.data(), check.dtype, k));
    reader.skip(samples * element);
    const size_t blocks = reader.get_count(reader.get<uint32_t>(), 16);
    for (size_t k = 0; k < blocks; ++k) {
      const double sum = reader.get_double();
      check.blocks.push_back({sum, reader.get_double()});
    }
  }
  if (reader.failed()) return unreadable("a check of an output");
  return check;
}

Result<RunReply> read_run_reply(const Message& message) {
  Reader reader(message);
  RunReply reply;
  const auto outcome = reader.get<uint8_t>();
  reply.outcome = static_cast<hone_outcome>(outcome);
  reply.signal = reader.get<int32_t>();
  reply.signal_code = reader.get<int32_t>();
  reply.fault_address = reader.get<uint64_t>();
  reply.fault_pc = reader.get<uint64_t>();
  reply.guard_buffer = reader.get<uint16_t>();
  reply.guard_side = reader.get<uint8_t>() == HONE_ABOVE ? HONE_ABOVE : HONE_BELOW;
  reply.trouble = reader.get<int32_t>();
  const size_t samples = reader.get_count(reader.get<uint32_t>(), 12);
  for (size_t i = 0; i < samples; ++i) {
    const int64_t ns = reader.get_size();
    reply.samples.push_back({ns, reader.get<uint32_t>()});
    if (reply.samples.back().iterations == 0) return unreadable("a sample");
  }
  const size_t context = reader.get_count(reader.get<uint16_t>(), 9);
  for (size_t i = 0; i < context; ++i) {
    const auto tag = static_cast<hone_context>(reader.get<uint8_t>());
    reply.context.push_back({tag, reader.get<int64_t>()});
  }
  if (reader.failed() || outcome > HONE_AGENT_TROUBLE) return unreadable("an answer to a run");
  return reply;
}

std::string read_refusal(const Message& message) {
  Reader reader(message);
  const auto type = reader.get<uint8_t>();
  const std::string text = reader.get_text();
  return fmt::format("the agent refused message {:#04x}: {}", type, text);
}

}  // namespace hone
