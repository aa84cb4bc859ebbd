// SPDX-License-Identifier: Apache-2.0
//
// How a trial ends: in samples, or in exactly one failure with a kind and a reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hone {

enum class FailureKind : uint8_t {
  build,                // the code generator failed or died
  constraint,           // the target cannot hold or do it: registers, code, stack, workspace, form
  upload,               // the image did not arrive
  illegal_instruction,  // the device's core does not know an instruction
  fault,                // a signal, with address and pc
  timeout,              // still running at the deadline
  out_of_bounds,        // a guard zone around a buffer was written
  wrong_answer,         // output differs from the reference
  device_lost,          // no answer from the agent
  throttled,            // the device slowed down during every attempt
};

enum class Blame : uint8_t { candidate, device };

struct FailureFacts {
  std::string_view name;
  Blame blame;
  bool retry;  // the same candidate may be tried again, on a device that is well
  std::string_view meaning;
};
const FailureFacts& facts(FailureKind kind);
inline std::string_view to_string(FailureKind kind) { return facts(kind).name; }
std::optional<FailureKind> parse_failure_kind(std::string_view name);

struct Failure {
  FailureKind kind = FailureKind::build;
  std::string reason;
};

enum class TimeUnit : uint8_t { ns, cycles, insn };
std::string_view to_string(TimeUnit unit);
std::optional<TimeUnit> parse_time_unit(std::string_view name);

struct Outcome {
  std::optional<Failure> failure;  // set: nothing below but sizes and seconds counts
  TimeUnit unit = TimeUnit::ns;
  bool emulated = false;
  bool abandoned = false;          // stopped early: it could not win. Samples hold what there was.
  std::vector<double> samples;     // time of one call, in `unit`, in the order taken
  std::string context;             // JSON object: core, switches, frequency, canary, …
  int64_t text_bytes = 0;
  int64_t stack_bytes = 0;
  int64_t workspace_bytes = 0;
  double build_seconds = 0;
  double run_seconds = 0;

  bool measured() const { return !failure.has_value(); }
};

// What a set of samples says. Quartiles by linear interpolation (Hyndman and Fan's type 7).
struct Summary {
  double min = 0;
  double median = 0;
  double q1 = 0;
  double q3 = 0;
  double mad = 0;  // median absolute deviation from the median
};
Summary summarize(const std::vector<double>& samples);  // at least one sample

// The figure that candidates are compared by: the smallest sample. Noise of an idle machine only adds
// time, and the minimum of few samples repeats better than their mean.
double score(const Outcome& outcome);

}  // namespace hone
