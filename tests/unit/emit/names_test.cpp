// SPDX-License-Identifier: Apache-2.0
#include "emit/names.h"

#include <doctest/doctest.h>

using namespace hone;

namespace {
std::string complaint(const std::string& prefix) {
  const auto done = check_prefix(prefix);
  return done ? "" : done.error().message;
}
}  // namespace

TEST_CASE("prefixes that C and C++ accept") {
  for (const char* prefix : {"net", "Net2", "my_net", "n", "in_t", "forx"})
    CHECK(complaint(prefix) == "");
}

TEST_CASE("prefixes that they do not accept are refused with the reason") {
  CHECK(complaint("") == "the prefix is empty, expected a C identifier such as 'net'");
  CHECK(complaint("2net") == "the prefix '2net' begins with '2', expected a letter");
  CHECK(complaint("_net") == "the prefix '_net' begins with '_', expected a letter");
  CHECK(complaint("my-net") ==
        "the prefix 'my-net' holds '-', expected letters, digits and underscores");
  CHECK(complaint("n\xc3\xa4").find("expected letters, digits and underscores") !=
        std::string::npos);
  CHECK(complaint("a__b") ==
        "the prefix 'a__b' makes names with two underscores, which C++ keeps for itself");
  CHECK(complaint("a_") ==
        "the prefix 'a_' makes names with two underscores, which C++ keeps for itself");
  for (const char* word : {"int", "class", "restrict", "while", "xor_eq", "alignas", "co_await"})
    CHECK(complaint(word) == std::string("the prefix '") + word + "' is a keyword of C or C++");
  CHECK(complaint(std::string(41, 'a')).ends_with("has 41 characters, at most 40 expected"));
}

TEST_CASE("identifiers from anything") {
  CHECK(to_identifier("conv2d") == "conv2d");
  CHECK(to_identifier("conv-1x1.b") == "conv_1x1_b");
  CHECK(to_identifier("__a  b__") == "a_b");
  CHECK(to_identifier("3d") == "n3d");
  CHECK(to_identifier("for") == "for_");
  CHECK(to_identifier("\xc3\xa4*/") == "unnamed");
  CHECK(to_identifier("") == "unnamed");
}

TEST_CASE("a name is given out once, whatever its case") {
  NameSet names;
  CHECK(names.claim("x") == "x");
  CHECK(names.claim("X") == "X_2");
  CHECK(names.claim("x") == "x_3");
  names.add("status");
  CHECK(names.claim("Status") == "Status_2");
}
