// SPDX-License-Identifier: Apache-2.0
#include "measure/runner.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "device/device_url.h"
#include "device/session.h"

namespace hone {
namespace {

constexpr int kAttemptsOnLoss = 2;        // of one candidate, each with a session of its own
constexpr int kAttemptsWhileTainted = 3;  // of one candidate, until the canary is well
constexpr double kCanaryTolerance = 1.5;  // a canary this much slower than the fastest seen taints
constexpr double kHopeless = 1.4;         // first sample so many times the best: stop

std::vector<BufferSpec> to_specs(const TaskData& task) {
  std::vector<BufferSpec> specs;
  for (const TaskBuffer& buffer : task.buffers) {
    BufferSpec spec;
    spec.bytes = buffer.elements * bytes_of(buffer.dtype);
    spec.dtype = static_cast<uint8_t>(buffer.dtype);
    spec.output = buffer.is_output;
    spec.fill = {input_seed(task, specs.size()), static_cast<int32_t>(buffer.low),
                 static_cast<int32_t>(buffer.high), 0};
    specs.push_back(spec);
  }
  return specs;
}

Answer to_answer(const RunReply& reply) {
  Answer answer;
  for (const OutputCheck& check : reply.checks) {
    OutputAnswer output;
    output.hash = check.hash;
    output.samples = check.samples;
    for (const hone_block_sum& block : check.blocks) {
      output.sums.push_back(block.sum);
      output.magnitudes.push_back(block.magnitude);
    }
    answer.outputs.push_back(std::move(output));
  }
  return answer;
}

std::string context_json(const RunReply& reply) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [tag, value] : reply.context) json[std::string(to_string(tag))] = value;
  return json.dump();
}

RunRequest to_request(const Built& built, const TaskData& task, int64_t threads,
                      double deadline_seconds) {
  RunRequest request;
  request.image = built.image.bytes;
  request.entry_offset = built.image.entry_offset;
  request.prepare_offset = built.image.prepare_offset;
  request.bss_bytes = built.image.bss_bytes;
  request.constants_bytes = built.constants_bytes;
  request.workspace_bytes = built.workspace_bytes + threads * built.workspace_bytes_per_worker;
  request.threads = static_cast<int>(threads);
  request.tolerant = !task.exact;
  request.deadline_ms = static_cast<int64_t>(deadline_seconds * 1000);
  return request;
}

FailureKind kind_of(hone_outcome outcome) {
  switch (outcome) {
    case HONE_FAULT:
      return FailureKind::fault;
    case HONE_ILLEGAL_INSTRUCTION:
      return FailureKind::illegal_instruction;
    case HONE_TIMEOUT:
      return FailureKind::timeout;
    case HONE_GUARD_BROKEN:
      return FailureKind::out_of_bounds;
    case HONE_NOT_ENOUGH_MEMORY:
      return FailureKind::constraint;
    case HONE_BAD_IMAGE:
    case HONE_MISSING_IMAGE:
      return FailureKind::upload;
    default:
      return FailureKind::device_lost;
  }
}

Outcome failed(FailureKind kind, std::string reason) {
  Outcome outcome;
  outcome.failure = Failure{kind, std::move(reason)};
  return outcome;
}

class SessionRunner final : public Runner {
 public:
  explicit SessionRunner(const RunnerOptions& options, DeviceUrl url)
      : options_(options), url_(std::move(url)) {}

  Result<void> connect_session() {
    auto transport = TRY(connect(url_, options_.agents_folder, options_.agent));
    session_ = std::make_unique<Session>(TRY(Session::open(std::move(transport), {})));
    const DeviceInfo& device = session_->device();
    if (device.arch != options_.agent)
      return fail("device {} is {}, the target needs {}", url_.text, device.arch, options_.agent);
    facts_ = describe(device);
    return {};
  }

  const DeviceFacts& facts() const override { return facts_; }

  Result<void> set_up(const TaskData& task) override {
    task_ = task;
    const SetUpReply reply = TRY(session_->set_up(to_specs(task)));
    if (!reply.ok) return fail("device {}: {}", url_.text, reply.reason);
    return {};
  }

  Result<Answer> answer_of(const Built& built, double deadline_seconds) override {
    RunRequest request = to_request(built, task_, 1, deadline_seconds);
    request.max_samples = 0;
    const RunReply reply = TRY(session_->run(request));
    if (!reply.measured()) return fail("{}", hone::describe(reply));
    return to_answer(reply);
  }

  Result<Outcome> run(const Built& built, const Answer& want, const RunLimits& limits) override {
    const auto start = Clock::now();
    Outcome outcome;
    int losses = 0;
    for (int attempt = 1;; ++attempt) {
      auto reply = run_once(built, limits);
      if (!reply) {
        outcome = failed(FailureKind::device_lost, reply.error().message);
        TRYV(recover());
        if (++losses < kAttemptsOnLoss) continue;
        break;
      }
      outcome = judge(*reply, want);
      if (!outcome.measured() || !tainted(*reply)) break;
      if (attempt == kAttemptsWhileTainted) {
        // The machine may have settled at another speed for good: what is normal is learnt anew.
        fastest_canary_ns_ = 0;
        outcome = failed(FailureKind::throttled, "the canary ran slow at every attempt");
        break;
      }
    }
    outcome.run_seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return outcome;
  }

 private:
  DeviceFacts describe(const DeviceInfo& device) const {
    DeviceFacts facts;
    facts.identity = fmt::format("{} {}", device.arch, fmt::join(device.features, ","));
    facts.agent_version = fmt::format("{} {:016x}", device.version, device.agent_hash);
    facts.load_address = device.load_address;
    facts.cores = static_cast<int64_t>(device.cores.size());
    facts.emulated = url_.emulated;
    facts.summary = fmt::format(
        "{}\n  architecture  {}, {} cores\n  features      {}\n  timer         {} ({}), overhead "
        "{} ns\n"
        "  load region   {} KiB at {:#x}\n  buffers       up to {} MiB\n  agent         version "
        "{}\n",
        session_->describe(), device.arch, device.cores.size(), fmt::join(device.features, " "),
        device.timer, device.unit, device.timer_overhead_ns, device.load_bytes >> 10,
        device.load_address, device.arena_bytes >> 20, facts.agent_version);
    return facts;
  }

  Result<RunReply> run_once(const Built& built, const RunLimits& limits) {
    RunRequest request = to_request(built, task_, limits.threads, limits.deadline_seconds);
    request.max_samples = limits.samples;
    request.min_sample_ns = static_cast<int64_t>(limits.min_sample_seconds * 1e9);
    request.max_total_ns = static_cast<int64_t>(limits.max_total_seconds * 1e9);
    if (limits.best) request.abandon_above_ns = static_cast<int64_t>(*limits.best * kHopeless);
    return session_->run(request);
  }

  Result<void> recover() {
    session_.reset();
    TRYV(connect_session());
    return set_up(TaskData(task_));
  }

  Outcome judge(const RunReply& reply, const Answer& want) const {
    if (!reply.measured()) {
      std::string reason = hone::describe(reply);
      if (reply.outcome == HONE_GUARD_BROKEN) reason = guard_reason(reply);
      return failed(kind_of(reply.outcome), reason);
    }
    if (const auto right = compare(to_answer(reply), want, task_); !right)
      return failed(FailureKind::wrong_answer, right.error().message);
    Outcome outcome;
    outcome.unit = parse_time_unit(session_->device().unit).value_or(TimeUnit::ns);
    outcome.emulated = url_.emulated;
    outcome.abandoned = reply.outcome == HONE_ABANDONED;
    for (const RawSample& sample : reply.samples) outcome.samples.push_back(sample.ns_per_call());
    outcome.context = context_json(reply);
    return outcome;
  }

  std::string guard_reason(const RunReply& reply) const {
    const auto index = static_cast<size_t>(reply.guard_buffer);
    std::string what = "the workspace";
    if (index < task_.buffers.size()) what = fmt::format("buffer '{}'", task_.buffers[index].name);
    if (reply.guard_buffer == HONE_CONSTANTS_BUFFER) what = "the constants";
    return fmt::format("wrote {} {}", reply.guard_side == HONE_BELOW ? "below" : "above", what);
  }

  // Emulators have no clock worth guarding.
  bool tainted(const RunReply& reply) {
    const auto before = reply.find(HONE_CONTEXT_CANARY_BEFORE_NS);
    const auto after = reply.find(HONE_CONTEXT_CANARY_AFTER_NS);
    if (url_.emulated || !before || !after) return false;
    const double canary = static_cast<double>(std::min(*before, *after));
    if (fastest_canary_ns_ == 0 || canary < fastest_canary_ns_) fastest_canary_ns_ = canary;
    return canary > fastest_canary_ns_ * kCanaryTolerance;
  }

  RunnerOptions options_;
  DeviceUrl url_;
  std::unique_ptr<Session> session_;
  DeviceFacts facts_;
  TaskData task_;
  double fastest_canary_ns_ = 0;
};

}  // namespace

Result<std::unique_ptr<Runner>> open_runner(const RunnerOptions& options) {
  auto runner = std::make_unique<SessionRunner>(options, TRY(parse_device_url(options.device)));
  TRYV(runner->connect_session());
  return std::unique_ptr<Runner>(std::move(runner));
}

}  // namespace hone
