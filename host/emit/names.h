// SPDX-License-Identifier: Apache-2.0
//
// C names from names of workloads and tensors, which may hold anything.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hone {

// A prefix begins with a letter, is a C identifier without "__" and no word of C or C++.
Result<void> check_prefix(const std::string& prefix);

// Letters, digits and single underscores; a word of C or C++ gets an underscore behind.
std::string to_identifier(std::string_view name);

std::string upper_case(std::string_view text);

// Names given out so far. Upper and lower case count as the same, because macros are upper case.
class NameSet {
 public:
  bool contains(std::string_view name) const { return taken_.contains(upper_case(name)); }
  void add(std::string_view name) { taken_.insert(upper_case(name)); }
  // The wish, or the wish with the first number behind that makes it new.
  std::string claim(const std::string& wish);

 private:
  std::set<std::string> taken_;
};

}  // namespace hone
