// SPDX-License-Identifier: Apache-2.0
//
// What a machine is, as facts. They come from targets/cores/*.toml; code asks facts and never names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/dtype.h"

namespace hone {

enum class Isa : uint8_t { x86_64, aarch64, armv7a, armv7em, riscv64 };

struct Target {
  std::string name;
  Isa isa = Isa::x86_64;
  // -- for the code generator
  std::string triple;                 // "aarch64-linux-gnu"
  std::string cpu;                    // LLVM's name for the core
  std::vector<std::string> features;  // LLVM's, each with + or -
  std::string float_abi;              // "hard", "soft", or empty where the ABI knows no choice
  std::string c_flags;                // how gcc and clang select this machine, for emitted C
  int pointer_bits = 64;
  // -- registers and vectors
  int vector_bits = 0;       // native vector register; 0: none
  int vector_registers = 0;  // architectural, of that width
  int scalar_registers = 0;  // general purpose, free for values
  int float_registers = 0;   // scalar floating point where there are no vectors
  std::vector<DType> vector_dtypes;  // element types with vector arithmetic
  bool fma = false;          // f32 fused multiply-add in hardware
  bool masks = false;        // masked vector loads and stores
  bool by_element = false;   // multiply by one lane of a register (AArch64)
  bool f16_conversion = false;  // f16 <-> f32 in hardware
  bool f16_arithmetic = false;
  bool f64 = true;           // f64 arithmetic in hardware; code of a machine without refuses f64
  // -- throughput, per cycle
  double fma_per_cycle = 1;   // vector fma instructions
  int fma_latency = 4;        // cycles
  double loads_per_cycle = 1;  // vector loads
  // -- memory
  int64_t l1d_bytes = 0;
  int64_t l1i_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t l3_bytes = 0;
  int64_t line_bytes = 64;
  // -- limits on a candidate
  int64_t stack_bytes = 64 << 10;
  int64_t code_bytes = 64 << 10;
  int64_t workspace_bytes = int64_t{1} << 30;
  // -- running it
  int cores = 1;
  std::string agent;  // which agent binary: "x86_64", "aarch64", "armv7", "riscv64"; empty: none yet
  std::string rules;  // rule set of space/

  // Lanes of a native vector of `dtype`; 1 where there is no vector arithmetic on it.
  int lanes(DType dtype) const;
};

std::string_view to_string(Isa isa);

// Reads one core file (schema: targets/README.md). Unknown keys, wrong types and missing facts are
// errors with file, line and field.
Result<Target> load_target(const std::string& path);

// `name` in `folder`/cores/*.toml, or "native": the running machine, detected (x86-64: the facts of the
// best matching level, with the real vector width, caches and core count). The error lists what is there.
Result<Target> find_target(const std::string& folder, const std::string& name);
std::vector<std::string> target_names(const std::string& folder);

}  // namespace hone
