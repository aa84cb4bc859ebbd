// SPDX-License-Identifier: Apache-2.0
#include "device/session.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/hash.h"
#include "device/session_messages.h"

namespace hone {
namespace {

constexpr auto kResendAfter = std::chrono::milliseconds(250);
constexpr size_t kPayloadLimit =
    16384;  // more than any agent takes; its own limit comes with hello

// Another one for each session of this process and, most likely, of others; never 0.
uint8_t new_session_number() {
  const auto now = Clock::now().time_since_epoch().count();
  return static_cast<uint8_t>(hash_combine(0, static_cast<uint64_t>(now)) % 255 + 1);
}

constexpr std::array<std::string_view, 10> kOutcomes = {"ok",
                                                        "abandoned",
                                                        "fault",
                                                        "illegal_instruction",
                                                        "timeout",
                                                        "guard_broken",
                                                        "bad_image",
                                                        "not_enough_memory",
                                                        "missing_image",
                                                        "agent_trouble"};

constexpr std::array<std::string_view, 15> kContext = {"unknown",
                                                       "core_before",
                                                       "core_after",
                                                       "involuntary_switches",
                                                       "major_faults",
                                                       "frequency_before_khz",
                                                       "frequency_after_khz",
                                                       "governor",
                                                       "temperature_millidegrees",
                                                       "timer_overhead_ns",
                                                       "canary_before_ns",
                                                       "canary_after_ns",
                                                       "checked_run_ns",
                                                       "sandboxed",
                                                       "retransmitted_frames"};

std::string describe_fault(const RunReply& reply) {
  // Numbers of signals that the device reports; the host's names fit for those that can occur.
  std::string text = fmt::format("signal {} ({})", reply.signal, strsignal(reply.signal));
  if (reply.fault_pc != 0)
    text += fmt::format(", address {:#x}, pc {:#x}", reply.fault_address, reply.fault_pc);
  return text;
}

std::string describe_guard(const RunReply& reply) {
  const std::string buffer = reply.guard_buffer == HONE_WORKSPACE_BUFFER
                                 ? "the workspace"
                                 : fmt::format("buffer {}", reply.guard_buffer);
  return fmt::format("wrote {} {}", reply.guard_side == HONE_BELOW ? "below" : "above", buffer);
}

}  // namespace

std::optional<int64_t> RunReply::find(hone_context tag) const {
  for (const Context& entry : context)
    if (entry.tag == tag) return entry.value;
  return std::nullopt;
}

std::string_view to_string(hone_outcome outcome) { return kOutcomes[outcome]; }

std::string_view to_string(hone_context tag) {
  return static_cast<size_t>(tag) < kContext.size() ? kContext[tag] : kContext[0];
}

std::string describe(const RunReply& reply) {
  std::string text(to_string(reply.outcome));
  switch (reply.outcome) {
    case HONE_FAULT:
    case HONE_ILLEGAL_INSTRUCTION:
      return text + ": " + describe_fault(reply);
    case HONE_GUARD_BROKEN:
      return text + ": " + describe_guard(reply);
    case HONE_AGENT_TROUBLE:
      return text + ": " + std::strerror(reply.trouble);
    default:
      return text;
  }
}

Session::Session(std::unique_ptr<Transport> transport, const Options& options)
    : transport_(std::move(transport)),
      options_(options),
      write_error_(std::make_unique<std::string>()) {
  FrameLink::Options link_options;
  link_options.payload_limit = kPayloadLimit;
  link_ = std::make_unique<FrameLink>(
      link_options, [line = transport_.get(), error = write_error_.get(),
                     seconds = options.answer_seconds](std::span<const uint8_t> bytes) {
        auto sent = line->send(bytes, after_seconds(seconds));
        if (!sent) *error = sent.error().message;
        return sent.has_value();
      });
}

Result<Session> Session::open(std::unique_ptr<Transport> transport, const Options& options) {
  Session session(std::move(transport), options);
  if (auto shaken = session.handshake(); !shaken)
    return std::unexpected(within(shaken.error(), "no agent behind {}", session.describe()));
  return session;
}

Result<void> Session::handshake() {
  const Deadline deadline = after_seconds(options_.handshake_seconds);
  link_->connect(new_session_number());
  while (link_->state() == HONE_LINK_SYNCING) TRYV(pump(deadline));
  MessageWriter hello(HONE_HELLO);
  hello.put(static_cast<uint16_t>(HONE_PROTOCOL_VERSION));
  link_->send(hello.message());
  const Message reply = TRY(receive(deadline));
  if (reply.type != HONE_HELLO_REPLY) return fail("it answered a hello with {}", reply.type);
  device_ = TRY(read_hello(reply));
  link_->limit_payload(static_cast<size_t>(device_.frame_bytes));
  return {};
}

// One read from the line, and repeats of frames that have no answer.
Result<void> Session::pump(Deadline deadline) {
  std::array<uint8_t, 16384> space;
  const bool waits_for_ack = !link_->idle();
  const Deadline wake = waits_for_ack ? std::min(deadline, Clock::now() + kResendAfter) : deadline;
  if (link_->broken()) return fail("{}", *write_error_);
  const std::optional<size_t> count = TRY(transport_->receive(space, wake));
  if (count) {
    link_->feed({space.data(), *count});
  } else if (Clock::now() >= deadline) {
    return fail("no answer before the deadline");
  } else {
    link_->timed_out();
  }
  if (link_->state() == HONE_LINK_RESET) return fail("the agent was restarted");
  return {};
}

Result<Message> Session::receive(Deadline deadline) {
  while (!link_->has_message()) TRYV(pump(deadline));
  return link_->take_message();
}

std::unexpected<Error> Session::lost(const std::string& why) const {
  return fail("device lost ({}): {}", transport_->describe(), why);
}

Result<SetUpReply> Session::set_up(std::span<const BufferSpec> buffers) {
  if (static_cast<int64_t>(buffers.size()) > device_.max_buffers)
    return SetUpReply{
        false,
        fmt::format("{} buffers, the agent has room for {}", buffers.size(), device_.max_buffers),
        0};
  link_->send(set_up_message(buffers));
  auto reply = receive(after_seconds(options_.answer_seconds));
  if (!reply) return lost(reply.error().message);
  if (reply->type == HONE_REFUSED) return SetUpReply{false, read_refusal(*reply), 0};
  if (reply->type != HONE_SET_UP_REPLY) return lost("it answered a set-up with something else");
  auto answer = read_set_up_reply(*reply);
  if (!answer) return lost(answer.error().message);
  return answer;
}

void Session::upload(std::span<const uint8_t> image, uint64_t hash) {
  // A frame for each message: an image of a few frames then needs no memory for a whole one.
  const size_t limit = static_cast<size_t>(std::min(device_.frame_bytes, device_.message_bytes));
  const size_t chunk = limit - kImageHeaderBytes;
  const uint32_t crc = hone_crc32(0, image.data(), image.size());
  for (size_t offset = 0; offset < image.size(); offset += chunk)
    link_->send(image_message(hash, image, crc, offset, std::min(chunk, image.size() - offset)));
  uploaded_.insert(hash);
}

Result<RunReply> Session::run_uploaded(const RunRequest& request, uint64_t hash) {
  link_->send(run_message(request, hash));
  const double seconds = static_cast<double>(request.deadline_ms) / 1000 + options_.answer_seconds;
  const Deadline deadline = after_seconds(seconds);
  std::vector<OutputCheck> checks;
  for (;;) {
    const Message message = TRY(receive(deadline));
    if (message.type == HONE_CHECK) {
      checks.push_back(TRY(read_check(message)));
    } else if (message.type == HONE_RUN_REPLY) {
      RunReply reply = TRY(read_run_reply(message));
      reply.checks = std::move(checks);
      return reply;
    } else if (message.type == HONE_REFUSED) {
      return fail("{}", read_refusal(message));
    } else {
      return fail("it answered a run with message {:#04x}", message.type);
    }
  }
}

Result<RunReply> Session::run(const RunRequest& request) {
  ENSURE(request.threads >= 1 && request.threads <= HONE_MAX_THREADS);
  ENSURE(request.max_samples >= 0 && request.max_samples <= HONE_MAX_SAMPLES);
  ENSURE(request.cores.size() <= HONE_MAX_THREADS);
  RunReply bad;
  bad.outcome = HONE_BAD_IMAGE;
  const auto image_bytes = static_cast<int64_t>(request.image.size());
  if (image_bytes == 0 || image_bytes > device_.load_bytes) return bad;
  const uint64_t hash =
      hash_bytes({reinterpret_cast<const char*>(request.image.data()), request.image.size()}, 1) |
      1;
  // An agent forgets images when its store is full, and says so: then once more.
  for (int attempt = 0;; ++attempt) {
    if (!uploaded_.contains(hash)) upload(request.image, hash);
    auto reply = run_uploaded(request, hash);
    if (!reply) return lost(reply.error().message);
    if (reply->outcome != HONE_MISSING_IMAGE) return reply;
    if (attempt == 1) return lost("it does not keep the image");
    uploaded_.erase(hash);
  }
}

}  // namespace hone
