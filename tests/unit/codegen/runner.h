// SPDX-License-Identifier: Apache-2.0
//
// Runs generated code for real: on this machine, or on another ISA under qemu-user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/codegen.h"

namespace hone::test {

struct Machine {
  std::string target;    // of targets/cores
  std::string compiler;  // builds the runner and generated C
  std::vector<std::string> compiler_flags;
  std::vector<std::string> emulator;  // empty: this machine
};

// Those on which code can be run here: this machine's levels, and every ISA under qemu-user.
std::vector<Machine> machines();
Target target_of(const Machine& machine);
// Whether this machine has the instructions of a target of its own ISA.
bool runs_here(const Machine& machine);

using Bytes = std::vector<uint8_t>;
struct Run {
  std::vector<Bytes> buffers;  // content by argument slot, before
  int64_t workspace_bytes = 0;
  int threads = 1;
  int calls = 1;
};

// The buffers afterwards.
Result<std::vector<Bytes>> run_image(const Machine& machine, const Image& image, const Run& run);
// The same for C: compiled together with the runner by `compiler` with `flags`.
Result<std::vector<Bytes>> run_c(const Machine& machine, const std::string& compiler,
                                 const std::vector<std::string>& flags, const std::string& source,
                                 const std::string& entry, const Run& run);
uint64_t load_address_for(const Target& target);

}  // namespace hone::test
