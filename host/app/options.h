// SPDX-License-Identifier: Apache-2.0
//
// Checks of numbers on the command line. CLI11's own let values that do not fit wrap or saturate, take nan
// for a number that is positive, and name bounds with 300 digits.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

namespace hone {

// A whole number of the option's type T that is at least `least`.
template <typename T>
CLI::Validator whole_number(T least) {
  return CLI::Validator(
      [least](std::string& text) -> std::string {
        T value{};
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, value);
        if (parsed.ec == std::errc() && parsed.ptr == end && value >= least) return {};
        if (parsed.ec == std::errc::result_out_of_range && text[0] != '-')
          return "'" + text + "' is too large";
        return "'" + text + "' is not a whole number from " + std::to_string(least) + " on";
      },
      "");
}

// A span of time: what is past this is no limit in practice, and overflows clocks that count nanoseconds.
constexpr double kLongestSeconds = 1e9;

inline CLI::Validator seconds(bool zero_allowed) {
  return CLI::Validator(
      [zero_allowed](std::string& text) -> std::string {
        double value = 0;
        const char* end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, value);
        // Written so that nan fails.
        const bool fits = value <= kLongestSeconds && (zero_allowed ? value >= 0 : value > 0);
        if (parsed.ec == std::errc() && parsed.ptr == end && fits) return {};
        return "'" + text + "' is not a number of seconds " +
               (zero_allowed ? "from 0 to 1e9" : "above 0, up to 1e9");
      },
      "");
}

}  // namespace hone
