// SPDX-License-Identifier: Apache-2.0
//
// Kernel → machine code and C. The only folder that sees LLVM; this header shows nothing of it.
//
// ABI of a generated entry point (the agent's protocol.h and emitted headers state the same):
//   void NAME(void *const *buffers, void *workspace, const struct hone_parallel *parallel);
// buffers[i] is argument slot i, 64-byte aligned, none overlapping another; behind the last stands,
// for a Kernel with constants, the memory that holds them. `workspace` is 64-byte aligned and holds
// workspace_bytes + threads * workspace_bytes_per_worker; `parallel` is never null (threads = 1
// runs in line):
//   struct hone_parallel {
//     void (*run)(const struct hone_parallel *self,
//                 void (*body)(void *context, intptr_t index, intptr_t worker),
//                 void *context, intptr_t count);
//     int32_t threads;
//     void *pool;
//   };
// run() calls body once for every index in [0, count) and returns when all calls have. `worker`, in
// [0, threads), is the caller's alone while the body runs: its part of the workspace begins at
// workspace + workspace_bytes + worker * workspace_bytes_per_worker. Code outside parallel loops
// uses worker 0's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "lower/kernel.h"
#include "target/target.h"

namespace hone {

struct ObjectCode {
  std::vector<uint8_t> bytes;  // ELF relocatable; the same input gives the same bytes
  int64_t text_bytes = 0;
  int64_t rodata_bytes = 0;
  // Frames of all functions added up: nothing calls itself, so no chain of calls needs more.
  int64_t stack_bytes = 0;
};

struct CodegenOptions {
  std::string entry;     // symbol of the entry point
  bool optimize = true;  // false: fastest compile, for code that runs once
};

// Makes object code for one target. It keeps what is costly to set up; a worker that compiles many
// Kernels holds one. Compiling leaves no trace in it: the same Kernel gives the same bytes every
// time.
class CodeGenerator {
 public:
  static Result<CodeGenerator> create(const Target& target);
  CodeGenerator(CodeGenerator&&) noexcept;
  CodeGenerator& operator=(CodeGenerator&&) noexcept;
  ~CodeGenerator();

  Result<ObjectCode> compile(const Kernel& kernel, const CodegenOptions& options);
  // Text of the same Kernel at later stages, for hone show.
  Result<std::string> llvm_text(const Kernel& kernel, const CodegenOptions& options);
  Result<std::string> assembly_text(const Kernel& kernel, const CodegenOptions& options);

 private:
  struct State;
  explicit CodeGenerator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The same with a generator for one call.
Result<ObjectCode> compile(const Kernel& kernel, const Target& target,
                           const CodegenOptions& options);
Result<std::string> llvm_text(const Kernel& kernel, const Target& target,
                              const CodegenOptions& options);
Result<std::string> assembly_text(const Kernel& kernel, const Target& target,
                                  const CodegenOptions& options);

// A flat image: bytes to place at load_address, then bss_bytes of zeros; offsets from its start.
struct Image {
  std::vector<uint8_t> bytes;
  uint64_t load_address = 0;
  int64_t bss_bytes = 0;
  int64_t entry_offset = 0;               // of the first part
  std::optional<int64_t> prepare_offset;  // of the second, if there is one: it makes constants
};
struct LinkPart {
  const ObjectCode* object;
  std::string entry;
};
Result<Image> link_image(const std::vector<LinkPart>& parts, const Target& target,
                         uint64_t load_address);

// Portable C99 without any header but <stdint.h>, same ABI, same results; no libm.
struct CSource {
  std::string text;  // helper functions (static) and the entry's definition
};
Result<CSource> c_source(const Kernel& kernel, const CodegenOptions& options);

// Names this code generator and its LLVM; part of every record's fingerprint.
std::string codegen_fingerprint();

}  // namespace hone
