// SPDX-License-Identifier: Apache-2.0
//
// The error policy of the house in three words.
//
//   Result<T>   an expected fault (anything that input, a device or a file can cause) is a value
//   TRY, TRYV   pass an expected fault up: `Program p = TRY(parse(text));`  `TRYV(verify(p));`
//   ENSURE      a broken invariant is our bug: print where and what, and abort
//
// Nothing is thrown by our code. A library that throws is wrapped where it is called.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace hone {

struct Error {
  std::string message;  // lower case, no final period, says what was found and what was expected
};

template <typename T>
using Result = std::expected<T, Error>;

// An Error in the shape that every Result<T> accepts: `return fail("loop {} has no parent", name);`
template <typename... Args>
std::unexpected<Error> fail(fmt::format_string<Args...> format, Args&&... args) {
  return std::unexpected(Error{fmt::format(format, std::forward<Args>(args)...)});
}

// The same fault seen from further out: "reading targets/x.toml: line 3: …".
template <typename... Args>
Error within(const Error& inner, fmt::format_string<Args...> format, Args&&... args) {
  return Error{fmt::format(format, std::forward<Args>(args)...) + ": " + inner.message};
}

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace hone

#define TRY(...)                                                        \
  (__extension__({                                                      \
    auto result_of_try = (__VA_ARGS__);                                 \
    if (!result_of_try)                                                 \
      return std::unexpected(std::move(result_of_try).error());         \
    std::move(result_of_try).value();                                   \
  }))

#define TRYV(...)                                                       \
  do {                                                                  \
    if (auto result_of_try = (__VA_ARGS__); !result_of_try)             \
      return std::unexpected(std::move(result_of_try).error());         \
  } while (false)

// ENSURE(condition) or ENSURE(condition, "format {}", value)
#define ENSURE(condition, ...)                                                            \
  (static_cast<bool>(condition)                                                          \
       ? static_cast<void>(0)                                                            \
       : ::hone::check_failed(__FILE__, __LINE__, #condition, fmt::format("" __VA_ARGS__)))
