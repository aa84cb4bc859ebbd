// SPDX-License-Identifier: Apache-2.0
#include "frontend/attributes.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace hone {
namespace {

std::string_view describe(ParameterType type) {
  switch (type) {
    case ParameterType::positive:
      return "a positive integer";
    case ParameterType::natural:
      return "an integer that is not negative";
    case ParameterType::integer:
      return "an integer";
    case ParameterType::number:
      return "a number";
    case ParameterType::word:
      return "a string";
    case ParameterType::shape:
      return "a list of positive integers";
    case ParameterType::positive_list:
      return "a positive integer or a list of them";
    case ParameterType::natural_list:
      return "an integer that is not negative, or a list of such integers";
  }
  return "";
}

std::string found_text(const AttributeValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* word = std::get_if<std::string>(&value)) return fmt::format("\"{}\"", *word);
  return fmt::format("[{}]", fmt::join(std::get<std::vector<int64_t>>(value), ", "));
}

bool fits(const AttributeValue& value, ParameterType type) {
  const auto* integer = std::get_if<int64_t>(&value);
  const auto* list = std::get_if<std::vector<int64_t>>(&value);
  const auto all_at_least = [&](int64_t least) {
    return !list->empty() && std::all_of(list->begin(), list->end(),
                                         [least](int64_t element) { return element >= least; });
  };
  switch (type) {
    case ParameterType::positive:
      return integer != nullptr && *integer > 0;
    case ParameterType::natural:
      return integer != nullptr && *integer >= 0;
    case ParameterType::integer:
      return integer != nullptr;
    case ParameterType::number:
      return integer != nullptr || std::holds_alternative<double>(value);
    case ParameterType::word:
      return std::holds_alternative<std::string>(value);
    case ParameterType::shape:
      return list != nullptr && all_at_least(1);
    case ParameterType::positive_list:
      return integer ? *integer > 0 : list && all_at_least(1);
    case ParameterType::natural_list:
      return integer ? *integer >= 0 : list && all_at_least(0);
  }
  return false;
}

// Products of two attributes then fit in 64 bits.
constexpr int64_t kLargest = INT32_MAX;

std::optional<int64_t> too_large(const AttributeValue& value) {
  const auto is_large = [](int64_t integer) { return integer > kLargest || integer < -kLargest; };
  if (const auto* integer = std::get_if<int64_t>(&value); integer && is_large(*integer))
    return *integer;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
    for (const int64_t integer : *list)
      if (is_large(integer)) return integer;
  return std::nullopt;
}

std::unexpected<Error> unknown(const OperatorCall& call, const Attribute& attribute,
                               const std::vector<std::string>& known) {
  return fail_at(
      call.file, attribute.place,
      fmt::format("'{}' has no attribute '{}', it takes {}{}", call.op, attribute.name,
                  known.empty() ? "none" : join(known, ", "), suggestion(attribute.name, known)));
}

}  // namespace

Result<Attributes> Attributes::match(const OperatorCall& call,
                                     std::span<const Parameter> parameters, bool is_first) {
  std::vector<std::string> known;
  for (const Parameter& parameter : parameters)
    if (is_first || !parameter.describes_input) known.emplace_back(parameter.name);
  for (const Attribute& attribute : call.attributes) {
    const auto row =
        std::find_if(parameters.begin(), parameters.end(),
                     [&](const Parameter& parameter) { return parameter.name == attribute.name; });
    if (row == parameters.end()) return unknown(call, attribute, known);
    if (row->describes_input && !is_first)
      return fail_at(call.file, attribute.place,
                     fmt::format("'{}' of '{}' follows from the operator before it: leave it out",
                                 attribute.name, call.op));
    if (!fits(attribute.value, row->type))
      return fail_at(call.file, attribute.place,
                     fmt::format("'{}' must be {}, found {}", attribute.name, describe(row->type),
                                 found_text(attribute.value)));
  }
  for (const Attribute& attribute : call.attributes)
    if (const auto large = too_large(attribute.value))
      return fail_at(call.file, attribute.place,
                     fmt::format("'{}' is too large (at most {}), found {}", attribute.name,
                                 kLargest, *large));
  for (const Parameter& parameter : parameters) {
    if (!parameter.fallback.empty() || (parameter.describes_input && !is_first)) continue;
    const bool given =
        std::any_of(call.attributes.begin(), call.attributes.end(),
                    [&](const Attribute& attribute) { return attribute.name == parameter.name; });
    if (!given)
      return fail_at(
          call.file, call.place,
          fmt::format("'{}' needs the attribute '{}': {}", call.op, parameter.name, parameter.doc));
  }
  Attributes attributes;
  attributes.call_ = &call;
  attributes.parameters_ = parameters;
  return attributes;
}

const Attribute* Attributes::find(std::string_view name) const {
  for (const Attribute& attribute : call_->attributes)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

const Parameter& Attributes::parameter(std::string_view name) const {
  const auto row = std::find_if(parameters_.begin(), parameters_.end(),
                                [&](const Parameter& parameter) { return parameter.name == name; });
  ENSURE(row != parameters_.end(), "'{}' has no parameter '{}'", call_->op, name);
  return *row;
}

double Attributes::number(std::string_view name) const {
  const Parameter& row = parameter(name);
  if (const Attribute* attribute = find(name)) {
    if (const auto* integer = std::get_if<int64_t>(&attribute->value))
      return static_cast<double>(*integer);
    return std::get<double>(attribute->value);
  }
  double value = 0;
  const auto [end, code] =
      std::from_chars(row.fallback.data(), row.fallback.data() + row.fallback.size(), value);
  ENSURE(code == std::errc(), "the default of '{}' is not a number", name);
  return value;
}

int64_t Attributes::integer(std::string_view name) const {
  if (const Attribute* attribute = find(name)) return std::get<int64_t>(attribute->value);
  return static_cast<int64_t>(number(name));
}

std::string Attributes::word(std::string_view name) const {
  if (const Attribute* attribute = find(name)) return std::get<std::string>(attribute->value);
  return std::string(parameter(name).fallback);
}

std::vector<int64_t> Attributes::list(std::string_view name) const {
  const Attribute* attribute = find(name);
  if (attribute != nullptr)
    if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute->value)) return *list;
  return {integer(name)};
}

std::unexpected<Error> Attributes::error(std::string_view name, const std::string& message) const {
  const Attribute* attribute = find(name);
  return fail_at(call_->file, attribute ? attribute->place : call_->place, message);
}

}  // namespace hone
