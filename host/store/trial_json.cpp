// SPDX-License-Identifier: Apache-2.0
#include "store/trial_json.h"

#include <nlohmann/json.hpp>

namespace hone {
namespace {

using Json = nlohmann::json;

// Runs `body`, which reads fields with nlohmann's throwing accessors, and turns what it throws into an
// Error.
template <typename T>
Result<T> reading(const std::function<Result<T>()>& body) {
  try {
    return body();
  } catch (const nlohmann::json::exception& error) {
    return fail("{}", error.what());
  }
}

Json parse_or_null(const std::string& text) {
  return Json::parse(text.empty() ? "{}" : text, nullptr, false);
}

}  // namespace

std::string status_of(const Outcome& outcome) {
  if (outcome.failure) return std::string(to_string(outcome.failure->kind));
  return outcome.abandoned ? "abandoned" : "ok";
}

std::string samples_json(const Outcome& outcome) { return Json(outcome.samples).dump(); }

std::string sizes_json(const Outcome& outcome) {
  return Json{{"text_bytes", outcome.text_bytes},
              {"stack_bytes", outcome.stack_bytes},
              {"workspace_bytes", outcome.workspace_bytes}}
      .dump();
}

Result<Outcome> outcome_from_columns(const std::string& status, const std::string& reason,
                                     const std::string& unit, bool emulated,
                                     const std::string& samples, const std::string& context,
                                     const std::string& sizes, double seconds) {
  return reading<Outcome>([&]() -> Result<Outcome> {
    Outcome outcome;
    if (status == "abandoned") {
      outcome.abandoned = true;
    } else if (status != "ok") {
      const auto kind = parse_failure_kind(status);
      if (!kind) return fail("unknown status '{}'", status);
      outcome.failure = Failure{*kind, reason};
    }
    const auto parsed_unit = parse_time_unit(unit);
    if (!parsed_unit) return fail("unknown unit '{}'", unit);
    outcome.unit = *parsed_unit;
    outcome.emulated = emulated;
    outcome.samples = Json::parse(samples).get<std::vector<double>>();
    if (outcome.measured() && outcome.samples.empty()) return fail("a measured trial has no samples");
    outcome.context = context;
    const Json parsed_sizes = Json::parse(sizes);
    outcome.text_bytes = parsed_sizes.at("text_bytes").get<int64_t>();
    outcome.stack_bytes = parsed_sizes.at("stack_bytes").get<int64_t>();
    outcome.workspace_bytes = parsed_sizes.at("workspace_bytes").get<int64_t>();
    outcome.run_seconds = seconds;
    return outcome;
  });
}

std::string to_json_line(const TrialRow& row) {
  const Outcome& outcome = row.trial.outcome;
  Json json{{"workload", row.key.workload},
            {"target", row.key.target},
            {"fingerprint", row.key.fingerprint},
            {"device", row.key.device},
            {"threads", row.key.threads},
            {"skeleton", row.trial.skeleton},
            {"decisions", row.trial.decisions},
            {"status", status_of(outcome)},
            {"reason", outcome.failure ? outcome.failure->reason : ""},
            {"unit", to_string(outcome.unit)},
            {"emulated", outcome.emulated},
            {"samples", outcome.samples},
            {"context", parse_or_null(outcome.context)},
            {"sizes", Json::parse(sizes_json(outcome))},
            {"seconds", outcome.build_seconds + outcome.run_seconds},
            {"created", row.trial.created}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<TrialRow> trial_from_json(std::string_view line) {
  return reading<TrialRow>([&]() -> Result<TrialRow> {
    const Json json = Json::parse(line);
    TrialRow row;
    row.key = {json.at("workload"), json.at("target"), json.at("fingerprint"), json.at("device"),
               json.at("threads").get<int64_t>()};
    row.trial.skeleton = json.at("skeleton");
    row.trial.decisions = json.at("decisions");
    row.trial.created = json.at("created");
    row.trial.outcome = TRY(outcome_from_columns(
        json.at("status"), json.at("reason"), json.at("unit"), json.at("emulated").get<bool>(),
        json.at("samples").dump(), json.at("context").dump(), json.at("sizes").dump(),
        json.at("seconds").get<double>()));
    return row;
  });
}

std::string workload_json_line(const std::string& hash, const std::string& name,
                               const std::string& text) {
  return Json{{"workload_text", text}, {"workload", hash}, {"name", name}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

bool is_workload_line(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  return json.is_object() && json.contains("workload_text");
}

Result<WorkloadRow> workload_from_json(std::string_view line) {
  return reading<WorkloadRow>([&]() -> Result<WorkloadRow> {
    const Json json = Json::parse(line);
    return WorkloadRow{json.at("workload"), json.at("name"), json.at("workload_text")};
  });
}

}  // namespace hone
