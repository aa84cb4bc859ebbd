// SPDX-License-Identifier: Apache-2.0
//
// What a static library needs beside kernels: functions with a prototype that C code calls, and the
// archive itself. There is no C compiler in this process, so the public functions are LLVM IR too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "codegen/codegen.h"
#include "target/target.h"

namespace hone {

// int NAME(pointer…, workspace, parallel)
// checks its arguments, puts the pointers into an array and calls a kernel's entry point.
struct PublicFunction {
  std::string name;
  std::string entry;  // of the kernel; empty: the arguments are checked and that is all
  struct Pointer {
    int64_t slot;      // of the kernel's; slots that no pointer is for hold a null
    bool may_be_null;  // the kernel does not look at it
  };
  std::vector<Pointer> pointers;
  bool runs_alone = false;       // takes neither workspace nor hook: its kernel needs none
  int64_t alignment = 64;        // of every pointer; a power of two
  bool needs_workspace = false;  // a null workspace is refused
  // -- what it returns
  int ok = 0;
  int null_pointer = 1;
  int misaligned = 2;
  int bad_parallel = 3;  // a hook without run, or with less than one thread
};
Result<ObjectCode> compile_public_function(const PublicFunction& function, const Target& target);

// const char *NAME(void), one for each row of name and text.
struct TextFunction {
  std::string name;
  std::string text;
};
Result<ObjectCode> compile_text_functions(const std::vector<TextFunction>& functions,
                                          const Target& target);

struct ArchiveMember {
  std::string name;  // "matmul.o"
  std::vector<uint8_t> bytes;
};
// With a symbol table, without dates and owners. Error: a member is no object.
Result<std::vector<uint8_t>> write_archive(const std::vector<ArchiveMember>& members);

struct Symbols {  // global ones, sorted
  std::vector<std::string> defined;
  std::vector<std::string> undefined;
};
Result<Symbols> symbols_of(const std::vector<uint8_t>& object);

}  // namespace hone
