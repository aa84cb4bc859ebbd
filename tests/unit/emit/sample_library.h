// SPDX-License-Identifier: Apache-2.0
//
// A library as if two small tasks had been compiled, for tests of texts.
#pragma once

#include "emit/library.h"

namespace hone {

inline Library sample_library() {
  Library library;
  library.prefix = "net";
  library.target.name = "cortex-a7";
  library.target.isa = Isa::armv7a;
  library.target.triple = "armv7-linux-gnueabihf";
  library.target.cpu = "cortex-a7";
  library.target.float_abi = "hard";
  library.target.c_flags = "-mcpu=cortex-a7 -mfpu=neon-vfpv4 -mfloat-abi=hard";
  library.target.vector_bits = 128;
  library.target.fma = true;
  library.version = "1.2.3";
  library.fingerprint = "hone-codegen 1, LLVM 19.1.7";

  LibraryTask scale;
  scale.name = "scale";
  scale.c_name = "scale";
  scale.workload_hash = "0123456789abcdef";
  scale.arguments = {{"x", "x", DType::f32, {2, 3}, BufferKind::input, 6},
                     {"w", "w", DType::f16, {3}, BufferKind::param, 3},
                     {"y", "y", DType::i8, {2, 3}, BufferKind::output, 6}};
  scale.operations = 6000;
  scale.exact = true;
  scale.golden.inputs = {{11, -3, 3}, {12, 0, 7}};
  scale.golden.outputs = {{0xabcdef, {}, {}, {}}};
  scale.text_bytes = 100;
  scale.rodata_bytes = 20;
  scale.stack_bytes = 48;
  scale.workspace_bytes = 128;
  scale.workspace_bytes_per_thread = 64;
  scale.kernel_source = "/* kernel */\n";
  TrialRow row;
  row.key = {scale.workload_hash, "cortex-a7", "f00d", "board", 2};
  row.trial.outcome.samples = {2000, 1500, 1800};
  row.trial.skeleton = "trace 1\n";
  scale.record = row;

  LibraryTask norm;
  norm.name = "norm */ 2";
  norm.c_name = "norm_2";
  norm.workload_hash = "fedcba9876543210";
  norm.arguments = {{"a", "a", DType::f64, {}, BufferKind::input, 1},
                    {"b", "b", DType::f64, {100}, BufferKind::output, 100}};
  norm.tolerance = {1e-6, 0, 1e-7};
  norm.golden.inputs = {{13, 1, 9}};
  norm.golden.outputs = {{0, {0.5, 1e300, -3}, {1.25}, {4.5}}};
  norm.text_bytes = 500;
  norm.stack_bytes = 16;
  library.tasks = {scale, norm};
  return library;
}

}  // namespace hone
