// SPDX-License-Identifier: Apache-2.0
//
// A call of the operator library as a file wrote it, and what an operator says about the attributes
// it takes. The file's syntax (TOML today) is not known here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "frontend/lexer.h"
#include "frontend/syntax.h"

namespace hone {

using AttributeValue = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>>;

struct Attribute {
  std::string name;
  AttributeValue value;
  Place place;
};

struct OperatorCall {
  std::string op;
  std::string file;
  Place place;
  std::vector<Attribute> attributes;
};

enum class ParameterType : uint8_t {
  positive,       // an integer > 0
  natural,        // an integer ≥ 0
  integer,        // any integer
  number,         // an integer or a decimal
  word,           // text
  shape,          // a list of integers > 0
  positive_list,  // an integer > 0 for all dimensions, or a list of them
  natural_list,   // the same, ≥ 0
};

struct Parameter {
  std::string_view name;
  ParameterType type;
  std::string_view fallback;  // when left out, as text; empty: it must be given
  std::string_view doc;       // one line, for messages and documents
  bool describes_input;       // only of the first operator of a chain; later ones get their input
};

// The attributes of one call, checked against the parameters: no unknown name, the right types.
class Attributes {
 public:
  static Result<Attributes> match(const OperatorCall& call, std::span<const Parameter> parameters,
                                  bool is_first);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  std::string word(std::string_view name) const;
  // A list as it is, an integer as a list of one.
  std::vector<int64_t> list(std::string_view name) const;

  // An error at the attribute, or at the operator when it was left out.
  std::unexpected<Error> error(std::string_view name, const std::string& message) const;
  const std::string& op() const { return call_->op; }

 private:
  const Attribute* find(std::string_view name) const;
  const Parameter& parameter(std::string_view name) const;

  const OperatorCall* call_ = nullptr;
  std::span<const Parameter> parameters_;
};

}  // namespace hone
