// SPDX-License-Identifier: Apache-2.0
#include "measure/outcome.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace hone {
namespace {

constexpr std::array<FailureFacts, 10> kFacts = {{
    {"build", Blame::candidate, false, "the code generator failed or died"},
    {"constraint", Blame::candidate, false, "the target cannot hold or do what the schedule asks for"},
    {"upload", Blame::device, true, "the image did not arrive at the device"},
    {"illegal_instruction", Blame::candidate, false, "the core does not know an instruction"},
    {"fault", Blame::candidate, false, "the candidate was ended by a signal"},
    {"timeout", Blame::candidate, false, "the candidate was still running at its deadline"},
    {"out_of_bounds", Blame::candidate, false, "the candidate wrote beside its buffers"},
    {"wrong_answer", Blame::candidate, false, "the output differs from the reference"},
    {"device_lost", Blame::device, true, "the agent stopped answering"},
    {"throttled", Blame::device, true, "the device slowed down during every attempt"},
}};

constexpr std::array<std::string_view, 3> kUnits = {"ns", "cycles", "insn"};

double quantile(const std::vector<double>& sorted, double fraction) {
  const double at = fraction * static_cast<double>(sorted.size() - 1);
  const size_t low = static_cast<size_t>(at);
  const size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace

const FailureFacts& facts(FailureKind kind) { return kFacts[static_cast<size_t>(kind)]; }

std::optional<FailureKind> parse_failure_kind(std::string_view name) {
  for (size_t i = 0; i < kFacts.size(); ++i)
    if (kFacts[i].name == name) return static_cast<FailureKind>(i);
  return std::nullopt;
}

std::string_view to_string(TimeUnit unit) { return kUnits[static_cast<size_t>(unit)]; }

std::optional<TimeUnit> parse_time_unit(std::string_view name) {
  for (size_t i = 0; i < kUnits.size(); ++i)
    if (kUnits[i] == name) return static_cast<TimeUnit>(i);
  return std::nullopt;
}

Summary summarize(const std::vector<double>& samples) {
  ENSURE(!samples.empty());
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  Summary summary{sorted.front(), quantile(sorted, 0.5), quantile(sorted, 0.25),
                  quantile(sorted, 0.75), 0};
  for (double& value : sorted) value = std::fabs(value - summary.median);
  std::sort(sorted.begin(), sorted.end());
  summary.mad = quantile(sorted, 0.5);
  return summary;
}

double score(const Outcome& outcome) { return summarize(outcome.samples).min; }

}  // namespace hone
