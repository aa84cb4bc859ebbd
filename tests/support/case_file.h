// SPDX-License-Identifier: Apache-2.0
//
// Cases as text. A case file is a list of sections, each headed by a line "--- NAME"; a new case
// starts with a line "=== TITLE". Lines before the first title are for the reader.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/text.h"

namespace hone {

struct TextCase {
  std::string title;
  std::map<std::string, std::string> sections;
};

inline std::vector<TextCase> parse_cases(const std::string& text) {
  std::vector<TextCase> cases;
  std::string* section = nullptr;
  for (const std::string_view line : split_lines(text)) {
    if (line.starts_with("=== ")) {
      cases.push_back({std::string(line.substr(4)), {}});
      section = &cases.back().sections[""];
    } else if (line.starts_with("--- ") && !cases.empty()) {
      section = &cases.back().sections[std::string(line.substr(4))];
    } else if (section != nullptr) {
      *section += std::string(line) + "\n";
    }
  }
  return cases;
}

}  // namespace hone
