// SPDX-License-Identifier: Apache-2.0
#include "measure/answer.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "base/hash.h"

namespace hone {
namespace {

using Json = nlohmann::json;

// Not a number agrees with not a number only, an infinity with itself only.
bool near(double got, double want, double absolute, double relative) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::fabs(got - want) <= absolute + relative * std::fabs(want);
}

Result<void> compare_tolerant(const OutputAnswer& got, const OutputAnswer& want,
                              const TaskBuffer& buffer, const TaskData& task) {
  if (got.samples.size() != want.samples.size() || got.sums.size() != want.sums.size())
    return fail("output '{}': the device answered with {} samples and {} sums, expected {} and {}",
                buffer.name, got.samples.size(), got.sums.size(), want.samples.size(),
                want.sums.size());
  double largest = 0;
  for (const double sample : want.samples)
    if (std::isfinite(sample)) largest = std::max(largest, std::fabs(sample));
  const double absolute = task.absolute + task.of_largest * largest;
  for (size_t i = 0; i < want.samples.size(); ++i)
    if (!near(got.samples[i], want.samples[i], absolute, task.relative))
      return fail("output '{}' holds {} at sample {} of {}, expected {}", buffer.name,
                  got.samples[i], i, want.samples.size(), want.samples[i]);
  // A sum may be off by what all its elements may be off by together.
  const double elements =
      static_cast<double>(buffer.elements) / static_cast<double>(std::max<size_t>(1, want.sums.size()));
  for (size_t i = 0; i < want.sums.size(); ++i) {
    const double slack = absolute * (elements + 1) + task.relative * want.magnitudes[i];
    if (!near(got.sums[i], want.sums[i], slack, 0) ||
        !near(got.magnitudes[i], want.magnitudes[i], slack, 0))
      return fail("output '{}': block {} of {} sums to {}, expected {}", buffer.name, i,
                  want.sums.size(), got.sums[i], want.sums[i]);
  }
  return {};
}

// JSON has no infinities and no NaN; they travel as strings.
Json to_json_value(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}
double from_json_value(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  return std::strtod(json.get<std::string>().c_str(), nullptr);
}

Json to_json_values(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(to_json_value(value));
  return json;
}
std::vector<double> from_json_values(const Json& json) {
  std::vector<double> values;
  for (const Json& value : json) values.push_back(from_json_value(value));
  return values;
}

}  // namespace

uint64_t input_seed(const TaskData& task, size_t buffer) { return hash_combine(task.seed, buffer); }

Result<void> compare(const Answer& got, const Answer& want, const TaskData& task) {
  size_t output = 0;
  for (const TaskBuffer& buffer : task.buffers) {
    if (!buffer.is_output) continue;
    if (output >= got.outputs.size() || output >= want.outputs.size())
      return fail("{} outputs were checked, expected at least {}", got.outputs.size(), output + 1);
    const OutputAnswer& have = got.outputs[output];
    const OutputAnswer& need = want.outputs[output];
    ++output;
    if (!task.exact && is_float(buffer.dtype)) {
      TRYV(compare_tolerant(have, need, buffer, task));
    } else if (have.hash != need.hash) {
      return fail("output '{}' differs: its hash is {:016x}, expected {:016x}", buffer.name,
                  have.hash, need.hash);
    }
  }
  return {};
}

std::string to_json(const Answer& answer) {
  Json outputs = Json::array();
  for (const OutputAnswer& output : answer.outputs)
    outputs.push_back(Json{{"hash", output.hash},
                           {"samples", to_json_values(output.samples)},
                           {"sums", to_json_values(output.sums)},
                           {"magnitudes", to_json_values(output.magnitudes)}});
  return outputs.dump();
}

Result<Answer> answer_from_json(const std::string& text) {
  try {
    Answer answer;
    for (const Json& output : Json::parse(text))
      answer.outputs.push_back({output.at("hash").get<uint64_t>(),
                                from_json_values(output.at("samples")),
                                from_json_values(output.at("sums")),
                                from_json_values(output.at("magnitudes"))});
    return answer;
  } catch (const nlohmann::json::exception& error) {
    return fail("not an answer: {}", error.what());
  }
}

}  // namespace hone
