// SPDX-License-Identifier: Apache-2.0
//
// Compilers and emulators of a target that are not ours, and what a user does with them.
#pragma once

#include <string>
#include <vector>

namespace hone {

struct Outside {
  std::string target;
  std::vector<std::string> compilers;       // of portable C and self-test
  std::vector<std::string> compiler_flags;  // that make the self-test fit the archive
  std::vector<std::string> emulator;        // empty: runs here
};
const std::vector<Outside>& outside_world();

// Runs argv; the test fails if it does not end with 0. Gives what it printed.
std::string run_well(const std::vector<std::string>& argv);

// Lines "TYPE NAME" of the archive's global symbols, by llvm-nm.
struct ArchiveSymbols {
  std::vector<std::string> defined;
  std::vector<std::string> undefined;  // and not defined by another member
  std::vector<std::string> writable;
};
ArchiveSymbols symbols_of_archive(const std::string& archive);

}  // namespace hone
