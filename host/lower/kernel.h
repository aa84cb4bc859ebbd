// SPDX-License-Identifier: Apache-2.0
//
// A Kernel: plain loops over index variables, flat memory, vector values and registers. What code
// generators read and what costs are computed from. Nothing in it is left to be decided: vectors
// have their final width, register tiles are registers, tails are code.
//
// Index variables are i64 scalars, each assigned once (by the For or Let that binds it). Registers
// are mutable values of one dtype and lane count; a code generator makes SSA of them (control flow
// is structured: phis stand only at For headers and after Ifs). A register is undefined until it is
// set.
//
// Operations that may stand in a Kernel: all but axis. exp, log, rsqrt, tanh, sigmoid, erf, pow and
// mod of floats are operations here, so that features can count them and text stays short; code
// generators write them out (codegen/math.h), no libm is called. f16 and bf16 are only loaded,
// stored, cast and bitcast; arithmetic is on f32. A select may hold loads that are out of bounds
// where it does not pick them: they must not be done there. Lanes of all operands of an operation
// agree, except a select's condition, which may be a scalar.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/id.h"
#include "ir/expr.h"
#include "ir/program.h"

namespace hone {

using VarId = Id<struct VarTag>;
using RegId = Id<struct RegTag>;

enum class Space : uint8_t {
  argument,    // pointer number `slot` of the call
  constants,   // at `offset` bytes of what pointer number `slot` points to, behind all arguments
  workspace,   // at `offset` bytes of the workspace, one for all threads
  per_worker,  // at `offset` bytes of the calling worker's part of the workspace
  stack,       // in the frame
};

struct KernelBuffer {
  std::string name;
  DType dtype = DType::f32;
  int64_t elements = 0;
  Space space = Space::argument;
  int slot = -1;       // argument, constants
  int64_t offset = 0;  // constants, workspace, per_worker: bytes, a multiple of 64
  bool written = false;
};

struct Register {
  std::string name;
  DType dtype = DType::f32;
  int lanes = 1;
};

struct KernelStmt;
using KernelBody = std::vector<KernelStmt>;

struct KernelFor {
  VarId var;
  Expr begin;  // i64 scalars; the loop runs while var < end, step 1
  Expr end;
  bool parallel = false;  // only outside every other parallel loop; the body sets no outer register
  KernelBody body;
};
struct KernelIf {
  Expr condition;  // scalar b1
  KernelBody then_body;
  KernelBody else_body;
};
struct KernelLet {
  VarId var;
  Expr value;  // i64 scalar
};
struct KernelSet {
  RegId reg;
  Expr value;
};
struct KernelStore {
  BufferId buffer;  // row of Kernel::buffers
  Expr index;       // flat element index: scalar (consecutive elements) or vector (scatter)
  Expr value;
  Expr mask;  // null: none; else b1 of the value's lanes
};

struct KernelStmt {
  std::variant<KernelFor, KernelIf, KernelLet, KernelSet, KernelStore> node;
};

struct Kernel {
  std::string name;
  Table<BufferId, KernelBuffer> buffers;  // arguments first, by slot
  Table<VarId, std::string> vars;         // names
  Table<RegId, Register> registers;
  KernelBody body;
  int64_t constants_bytes = 0;             // made ahead of all calls, by a Kernel of their own
  int64_t workspace_bytes = 0;             // fixed part
  int64_t workspace_bytes_per_worker = 0;  // a multiple of 64; total = fixed + workers * this
  int64_t stack_bytes = 0;                 // stack buffers only
};

std::string print(const Kernel& kernel);
uint64_t hash_of(const Kernel& kernel);
// Every statement well formed: types, lanes, variables bound before use, no store to an unwritten
// argument. For tests and after each pass.
Result<void> verify(const Kernel& kernel);

}  // namespace hone
