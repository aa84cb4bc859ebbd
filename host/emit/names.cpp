// SPDX-License-Identifier: Apache-2.0
#include "emit/names.h"

#include <algorithm>
#include <array>

namespace hone {
namespace {

constexpr size_t kLongestPrefix = 40;

// Keywords of C up to C23 and of C++ up to C++20, since headers are read by both.
constexpr auto kKeywords = std::to_array<std::string_view>({
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "typeof_unqual",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
});

static_assert(std::ranges::is_sorted(kKeywords));

bool is_keyword(std::string_view word) { return std::ranges::binary_search(kKeywords, word); }

// Not isalpha(): its answer depends on the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

Result<void> check_prefix(const std::string& prefix) {
  if (prefix.empty()) return fail("the prefix is empty, expected a C identifier such as 'net'");
  if (!is_letter(prefix[0]))
    return fail("the prefix '{}' begins with '{}', expected a letter", prefix, prefix[0]);
  for (const char c : prefix)
    if (!is_letter(c) && !is_digit(c) && c != '_')
      return fail("the prefix '{}' holds '{}', expected letters, digits and underscores", prefix,
                  c);
  if (prefix.find("__") != std::string::npos || prefix.ends_with('_'))
    return fail("the prefix '{}' makes names with two underscores, which C++ keeps for itself",
                prefix);
  if (is_keyword(prefix)) return fail("the prefix '{}' is a keyword of C or C++", prefix);
  if (prefix.size() > kLongestPrefix)
    return fail("the prefix '{}' has {} characters, at most {} expected", prefix, prefix.size(),
                kLongestPrefix);
  return {};
}

std::string to_identifier(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const char wanted = is_letter(c) || is_digit(c) ? c : '_';
    if (wanted != '_' || (!result.empty() && result.back() != '_')) result += wanted;
  }
  while (result.ends_with('_')) result.pop_back();
  if (result.empty()) return "unnamed";
  if (is_digit(result[0])) result = fmt::format("n{}", result);
  if (is_keyword(result)) result += '_';
  return result;
}

std::string upper_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return result;
}

std::string NameSet::claim(const std::string& wish) {
  std::string name = wish;
  for (int number = 2; contains(name); ++number) name = fmt::format("{}_{}", wish, number);
  add(name);
  return name;
}

}  // namespace hone
