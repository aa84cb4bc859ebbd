// SPDX-License-Identifier: Apache-2.0
//
// A library as its writers see it: names decided, code compiled, sizes known. Each writer is one
// function from this to the text of a file, so that a golden test of a text needs no code
// generator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emit/golden.h"
#include "frontend/fills.h"
#include "ir/program.h"
#include "store/database.h"
#include "target/target.h"

namespace hone {

// Every pointer that a kernel is given is a multiple of this.
inline constexpr int64_t kArgumentAlignment = 64;

struct LibraryArgument {  // by slot: inputs and params, then outputs
  std::string name;       // in C
  std::string given_name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  BufferKind kind = BufferKind::input;
  int64_t elements = 1;
  bool read_by_call = true;  // false: a weight that constants are made of, and nothing else
};

struct LibraryTask {
  std::string name;    // in the workload
  std::string c_name;  // behind the prefix
  std::string workload_hash;
  std::vector<LibraryArgument> arguments;
  double operations = 0;  // useful ones, of one call
  bool exact = false;
  Tolerance tolerance;
  GoldenVectors golden;
  // -- what was compiled
  std::string trace;       // closed; empty: plain loops
  int64_t text_bytes = 0;  // with the public function
  int64_t rodata_bytes = 0;
  int64_t stack_bytes = 0;      // of the public function and all below it
  int64_t constants_bytes = 0;  // what the prepare function fills
  int64_t workspace_bytes = 0;
  int64_t workspace_bytes_per_thread = 0;
  std::string kernel_source;   // C of the kernel
  std::string prepare_source;  // C of the one that makes constants; empty: there are none
  uint64_t object_hash = 0;
  std::optional<TrialRow> record;  // of which the trace is

  // Whatever the schedule: what callers write must not change when a better one is found.
  bool has_prepare() const {
    return std::ranges::any_of(
        arguments, [](const LibraryArgument& row) { return row.kind == BufferKind::param; });
  }
  bool has_constants() const { return constants_bytes > 0; }
  bool needs_workspace() const { return workspace_bytes + workspace_bytes_per_thread > 0; }
  int64_t workspace_for(int64_t threads) const {
    return workspace_bytes + threads * workspace_bytes_per_thread;
  }
  int64_t threads() const { return record ? record->key.threads : 1; }
};

struct Library {
  std::string prefix;
  Target target;
  std::string version;      // of Hone: "0.1.0"
  std::string fingerprint;  // of the code generator
  std::string date;         // empty: none
  std::vector<LibraryTask> tasks;

  std::string upper() const;                            // prefix for macros
  std::string function(const LibraryTask& task) const;  // the public one
  std::string kernel(const LibraryTask& task) const;    // the one behind it
  std::string prepare(const LibraryTask& task) const;   // makes the constants
  std::string prepare_kernel(const LibraryTask& task) const;
  std::string macro(const LibraryTask& task, std::string_view what) const;
};

// -- pieces that several writers use (library.cpp)
// ----------------------------------------------------

std::string_view c_type(DType dtype);  // float16 and bfloat16 travel as uint16_t
// Without ; at the end.
std::string declaration(const Library& library, const LibraryTask& task);
std::string prepare_declaration(const Library& library, const LibraryTask& task);
std::string shape_text(const LibraryArgument& argument);  // "f32[2, 3]"
std::string measured_text(const LibraryTask& task);  // "12.3 us, 40.1 GFLOP/s, measured on local …"
std::string build_info(const Library& library);
std::string c_string(std::string_view text);  // as a literal, in quotes
std::string c_double(double value);           // as a literal that gives the same bits back; finite
// Puts values for @names@; every @name@ must have one.
std::string fill_template(std::string_view text,
                          const std::vector<std::pair<std::string, std::string>>& values);

// -- writers
// ------------------------------------------------------------------------------------------

std::string header_text(const Library& library);
std::string common_source_text(const Library& library);  // src/<prefix>.c
std::string task_source_text(const Library& library,
                             const LibraryTask& task);  // src/<prefix>_<task>.c
std::string selftest_text(const Library& library);
std::string manifest_text(const Library& library, const std::vector<std::string>& files);
std::string readme_text(const Library& library);
std::string cmake_text(const Library& library);

}  // namespace hone
