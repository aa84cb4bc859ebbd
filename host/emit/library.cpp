// SPDX-License-Identifier: Apache-2.0
#include "emit/library.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "emit/names.h"
#include "measure/outcome.h"

namespace hone {
namespace {

std::string time_text(double time, TimeUnit unit) {
  if (unit != TimeUnit::ns) return fmt::format("{:.0f} {}", time, to_string(unit));
  if (time < 1e3) return fmt::format("{:.1f} ns", time);
  if (time < 1e6) return fmt::format("{:.2f} us", time / 1e3);
  return fmt::format("{:.3f} ms", time / 1e6);
}

std::string parameter(const Library& library, const LibraryArgument& argument) {
  return fmt::format("{}{} *{}_RESTRICT {}", argument.kind == BufferKind::output ? "" : "const ",
                     c_type(argument.dtype), library.upper(), argument.name);
}

std::string prototype(const Library& library, const std::string& name,
                      const std::vector<std::string>& parameters) {
  return fmt::format("{}_status {}(\n    {})", library.prefix, name,
                     fmt::join(parameters, ",\n    "));
}

}  // namespace

std::string Library::upper() const { return upper_case(prefix); }
std::string Library::function(const LibraryTask& task) const { return prefix + "_" + task.c_name; }
std::string Library::kernel(const LibraryTask& task) const { return function(task) + "_kernel"; }
std::string Library::prepare(const LibraryTask& task) const { return function(task) + "_prepare"; }
std::string Library::prepare_kernel(const LibraryTask& task) const {
  return prepare(task) + "_kernel";
}
std::string Library::macro(const LibraryTask& task, std::string_view what) const {
  return fmt::format("{}_{}_{}", upper(), upper_case(task.c_name), what);
}

std::string_view c_type(DType dtype) {
  switch (dtype) {
    case DType::b1:
    case DType::u8:
      return "uint8_t";
    case DType::i8:
      return "int8_t";
    case DType::i16:
      return "int16_t";
    case DType::i32:
      return "int32_t";
    case DType::i64:
      return "int64_t";
    case DType::f16:
    case DType::bf16:
      return "uint16_t";
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
  }
  return "";
}

std::string shape_text(const LibraryArgument& argument) {
  return fmt::format("{}[{}]", to_string(argument.dtype), fmt::join(argument.shape, ", "));
}

std::string declaration(const Library& library, const LibraryTask& task) {
  std::vector<std::string> parts;
  for (const LibraryArgument& argument : task.arguments)
    parts.push_back(parameter(library, argument));
  if (task.has_prepare())
    parts.push_back(fmt::format("const void *{}_RESTRICT constants", library.upper()));
  parts.push_back("void *workspace");
  parts.push_back(fmt::format("const {}_parallel *parallel", library.prefix));
  return prototype(library, library.function(task), parts);
}

std::string prepare_declaration(const Library& library, const LibraryTask& task) {
  std::vector<std::string> parts;
  for (const LibraryArgument& argument : task.arguments)
    if (argument.kind == BufferKind::param) parts.push_back(parameter(library, argument));
  parts.push_back(fmt::format("void *{}_RESTRICT constants", library.upper()));
  return prototype(library, library.prepare(task), parts);
}

std::string measured_text(const LibraryTask& task) {
  if (!task.record) return "not tuned: plain loops";
  const Outcome& outcome = task.record->trial.outcome;
  const double best = score(outcome);
  std::string text = time_text(best, outcome.unit);
  if (outcome.unit == TimeUnit::ns) text += fmt::format(", {:.2f} GFLOP/s", task.operations / best);
  text += fmt::format(" on {}, {} thread{}", task.record->key.device, task.threads(),
                      task.threads() == 1 ? "" : "s");
  if (task.has_constants()) text += ", constants made before";
  return outcome.emulated ? text + " (emulated, no statement about hardware)" : text;
}

std::string build_info(const Library& library) {
  const Target& target = library.target;
  std::string text =
      fmt::format("Hone {}; {}; {} {}{}{}{}", library.version, library.fingerprint, target.triple,
                  target.cpu, target.features.empty() ? "" : " ", fmt::join(target.features, ","),
                  target.float_abi.empty() ? "" : " " + target.float_abi);
  for (const LibraryTask& task : library.tasks)
    text += fmt::format("; {} {}: {}", task.c_name, task.workload_hash, measured_text(task));
  if (!library.date.empty()) text += "; " + library.date;
  return text;
}

std::string c_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') result += {'\\', c};
    // Octal with three digits: hexadecimal would swallow digits that follow. '?' makes trigraphs.
    else if (byte < 0x20 || byte >= 0x7f || c == '?')
      result += fmt::format("\\{:03o}", byte);
    else
      result += c;
  }
  return result + "\"";
}

std::string c_double(double value) {
  ENSURE(std::isfinite(value));
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string fill_template(std::string_view text,
                          const std::vector<std::pair<std::string, std::string>>& values) {
  std::string result;
  size_t at = 0;
  for (;;) {
    const size_t open = text.find('@', at);
    result += text.substr(at, open - at);
    if (open == std::string_view::npos) return result;
    const size_t close = text.find('@', open + 1);
    ENSURE(close != std::string_view::npos, "a template has a lonely @");
    const std::string_view name = text.substr(open + 1, close - open - 1);
    const auto found =
        std::ranges::find_if(values, [&](const auto& row) { return row.first == name; });
    ENSURE(found != values.end(), "a template asks for '{}', which nobody gives", name);
    result += found->second;
    at = close + 1;
  }
}

}  // namespace hone
