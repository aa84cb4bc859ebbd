// SPDX-License-Identifier: Apache-2.0
//
// The C of a Kernel: compiled without a warning by gcc and clang, run, and compared like machine
// code.
#include <doctest/doctest.h>

#include "kernels.h"
#include "op_kernels.h"

using namespace hone;
using namespace hone::test;

namespace {

constexpr DType kAll[] = {DType::b1,  DType::i8,  DType::u8,   DType::i16, DType::i32,
                          DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64};

const std::vector<std::string> kStrict = {"-std=c99", "-O2",     "-pedantic",
                                          "-Wall",    "-Wextra", "-Wconversion",
                                          "-Wshadow", "-Wundef", "-Werror"};

void check_c(const Machine& machine, const std::string& compiler, std::vector<std::string> flags,
             std::initializer_list<int> lane_counts) {
  flags.insert(flags.end(), kStrict.begin(), kStrict.end());
  const Target target = target_of(machine);
  for (const DType dtype : kAll) {
    for (const int lanes : lane_counts) {
      for (const bool casts : {false, true}) {
        CAPTURE(compiler);
        CAPTURE(machine.target);
        CAPTURE(to_string(dtype));
        CAPTURE(lanes);
        // gcc may use NEON for f32, which takes denormals for zero.
        const OpKernel kernel = make_op_kernel({.dtype = dtype,
                                                .lanes = lanes,
                                                .denormals = target.isa != Isa::armv7a,
                                                .casts = casts,
                                                .f64 = target.f64});
        const CSource source = good(c_source(kernel.kernel, {.entry = "ops", .optimize = true}));
        const auto after = run_c(machine, compiler, flags, source.text, "ops", kernel.run);
        REQUIRE_MESSAGE(after.has_value(), (after ? "" : after.error().message));
        CHECK_EQ(compare(kernel, *after), "");
      }
    }
  }
}

Machine machine_named(const std::string& name) {
  for (const Machine& machine : machines())
    if (machine.target == name) return machine;
  ENSURE(false, "no machine {}", name);
  return {};
}

}  // namespace

TEST_CASE("C of every operation, gcc and clang") {
  check_c(machine_named("native"), "gcc", {"-march=x86-64-v3"}, {1, 5});
  check_c(machine_named("native"), "clang-19", {}, {1, 5});
}

TEST_CASE("C of every operation, cross compilers") {
  for (const char* name : {"cortex-a72", "cortex-a7", "rv64gc"}) {
    const Machine machine = machine_named(name);
    check_c(machine, machine.compiler, {}, {3});
  }
}
