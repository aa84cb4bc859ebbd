// SPDX-License-Identifier: Apache-2.0
//
// manifest.json: the library for programs, and the mark by which a later emit knows the folder as
// its own.
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "emit/library.h"

namespace hone {
namespace {

using Json = nlohmann::ordered_json;

std::string_view role(BufferKind kind) {
  if (kind == BufferKind::output) return "output";
  return kind == BufferKind::param ? "param" : "input";
}

Json arguments_json(const LibraryTask& task) {
  Json rows = Json::array();
  for (const LibraryArgument& argument : task.arguments)
    rows.push_back({{"name", argument.given_name},
                    {"c_name", argument.name},
                    {"role", role(argument.kind)},
                    {"dtype", to_string(argument.dtype)},
                    {"c_type", c_type(argument.dtype)},
                    {"shape", argument.shape},
                    {"layout", "row-major"},
                    {"read_by_call", argument.read_by_call},
                    {"bytes", argument.elements * bytes_of(argument.dtype)}});
  return rows;
}

Json record_json(const LibraryTask& task) {
  if (!task.record) return nullptr;
  const TrialRow& row = *task.record;
  const Outcome& outcome = row.trial.outcome;
  const double best = score(outcome);
  Json json{{"device", row.key.device},
            {"threads", row.key.threads},
            {"unit", to_string(outcome.unit)},
            {"emulated", outcome.emulated},
            {"best", best},
            {"median", summarize(outcome.samples).median},
            {"gflops", nullptr},
            {"fingerprint", row.key.fingerprint},
            {"created", row.trial.created},
            {"decisions", row.trial.decisions},
            {"skeleton", row.trial.skeleton}};
  if (outcome.unit == TimeUnit::ns) json["gflops"] = task.operations / best;
  return json;
}

Json task_json(const Library& library, const LibraryTask& task) {
  return {{"name", task.name},
          {"function", library.function(task)},
          {"prepare_function", task.has_prepare() ? Json(library.prepare(task)) : Json(nullptr)},
          {"workload_hash", task.workload_hash},
          {"arguments", arguments_json(task)},
          {"operations", task.operations},
          {"alignment", kArgumentAlignment},
          {"text_bytes", task.text_bytes},
          {"rodata_bytes", task.rodata_bytes},
          {"flash_bytes", task.text_bytes + task.rodata_bytes},
          {"stack_bytes", task.stack_bytes},
          {"constants_bytes", task.constants_bytes},
          {"workspace_bytes", task.workspace_bytes},
          {"workspace_bytes_per_thread", task.workspace_bytes_per_thread},
          {"object_hash", to_hex(task.object_hash)},
          {"trace", task.trace},
          {"record", record_json(task)}};
}

Json target_json(const Target& target) {
  return {{"name", target.name},         {"isa", to_string(target.isa)},
          {"triple", target.triple},     {"cpu", target.cpu},
          {"features", target.features}, {"float_abi", target.float_abi},
          {"c_flags", target.c_flags}};
}

}  // namespace

std::string manifest_text(const Library& library, const std::vector<std::string>& files) {
  Json json{{"generator", "hone"},
            {"version", library.version},
            {"code_generator", library.fingerprint},
            {"prefix", library.prefix},
            {"target", target_json(library.target)},
            {"tasks", Json::array()},
            {"files", files}};
  if (!library.date.empty()) json["date"] = library.date;
  for (const LibraryTask& task : library.tasks) json["tasks"].push_back(task_json(library, task));
  // Names of tensors and devices may hold bytes that are no UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hone
