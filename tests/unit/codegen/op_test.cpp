// SPDX-License-Identifier: Apache-2.0
//
// Every operation of every type and several lane counts, run for real on every ISA and compared
// with what ir/ folds.
#include <doctest/doctest.h>

#include "kernels.h"
#include "op_kernels.h"

using namespace hone;
using namespace hone::test;

namespace {

constexpr DType kAll[] = {DType::b1,  DType::i8,  DType::u8,   DType::i16, DType::i32,
                          DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64};

void check_machine(const Machine& machine, std::initializer_list<int> lane_counts) {
  const Target target = target_of(machine);
  CodeGenerator generator = good(CodeGenerator::create(target));
  for (const DType dtype : kAll) {
    for (const int lanes : lane_counts) {
      for (const bool casts : {false, true}) {
        CAPTURE(machine.target);
        CAPTURE(to_string(dtype));
        CAPTURE(lanes);
        // NEON arithmetic of 32-bit ARM takes denormal f32 for zero.
        const OpKernel kernel = make_op_kernel({.dtype = dtype,
                                                .lanes = lanes,
                                                .denormals = target.isa != Isa::armv7a,
                                                .casts = casts,
                                                .f64 = target.f64});
        const ObjectCode object =
            good(generator.compile(kernel.kernel, {.entry = "operations", .optimize = true}));
        const Image image =
            good(link_image({{&object, "operations"}}, target, load_address_for(target)));
        const auto after = run_image(machine, image, kernel.run);
        REQUIRE_MESSAGE(after.has_value(), (after ? "" : after.error().message));
        CHECK_EQ(compare(kernel, *after), "");
      }
    }
  }
}

}  // namespace

TEST_CASE("every operation on this machine and its levels") {
  for (const Machine& machine : machines())
    if (machine.emulator.empty() && runs_here(machine)) check_machine(machine, {1, 4, 5, 16});
}

TEST_CASE("every operation on aarch64") {
  for (const Machine& machine : machines())
    if (machine.target.starts_with("cortex-a72") || machine.target == "cortex-a76")
      check_machine(machine, {1, 4, 5});
}

TEST_CASE("every operation on armv7") {
  for (const Machine& machine : machines())
    if (machine.target == "cortex-a7") check_machine(machine, {1, 4, 5});
}

TEST_CASE("every operation on riscv64") {
  for (const Machine& machine : machines())
    if (machine.target.starts_with("rv64")) check_machine(machine, {1, 4, 5});
}
