// SPDX-License-Identifier: Apache-2.0
//
// Control flow, registers, memory of every space, parallel bodies: as machine code on every ISA and
// as C.
#include <doctest/doctest.h>

#include "elements.h"
#include "kernels.h"

using namespace hone;
using namespace hone::test;

namespace {

// Integers that f32 holds exactly, so that results do not depend on the order of sums.
Bytes counting(DType dtype, int64_t elements) {
  Bytes bytes;
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t value = i * 7 % 23 - 11;
    put(bytes, is_float(dtype) ? float_constant(static_cast<double>(value), dtype)
                               : int_constant(value, dtype));
  }
  return bytes;
}

double number(const Bytes& bytes, DType dtype, int64_t element) {
  const Expr value = get(bytes, dtype, element);
  return is_float(dtype) ? value->float_value : static_cast<double>(value->int_value);
}

// Runs a Kernel everywhere; `check` sees the buffers afterwards.
void run_everywhere(const Kernel& kernel, const Run& run,
                    const std::function<void(const std::vector<Bytes>&)>& check) {
  const CSource source = good(c_source(kernel, {.entry = "kernel", .optimize = true}));
  for (const Machine& machine : machines()) {
    if (!runs_here(machine)) continue;
    CAPTURE(machine.target);
    const Target target = target_of(machine);
    for (const bool optimize : {false, true}) {
      CAPTURE(optimize);
      const CodegenOptions options{.entry = "kernel", .optimize = optimize};
      (void)good(llvm_text(kernel, target, options));  // verifies the module
      const ObjectCode object = good(compile(kernel, target, options));
      const Image image = good(link_image({{&object, "kernel"}}, target, load_address_for(target)));
      CHECK_EQ(image.bss_bytes, 0);
      const auto after = run_image(machine, image, run);
      REQUIRE_MESSAGE(after.has_value(), (after ? "" : after.error().message));
      check(*after);
    }
    const auto by_c = run_c(
        machine, machine.compiler,
        {"-std=c99", "-O2", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"},
        source.text, "kernel", run);
    REQUIRE_MESSAGE(by_c.has_value(), (by_c ? "" : by_c.error().message));
    check(*by_c);
  }
}

}  // namespace

TEST_CASE("a register tile of a matmul") {
  const int64_t depth = 37;
  const Kernel kernel = matmul_tile(3, 2, 4, depth);
  Run run;
  for (const KernelBuffer& buffer : kernel.buffers)
    run.buffers.push_back(counting(DType::f32, buffer.elements));
  const std::vector<Bytes> before = run.buffers;
  run_everywhere(kernel, run, [&](const std::vector<Bytes>& after) {
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 8; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k)
          sum += number(before[0], DType::f32, i * depth + k) *
                 number(before[1], DType::f32, k * 8 + j);
        CHECK_EQ(number(after[2], DType::f32, i * 8 + j), sum);
      }
  });
}

TEST_CASE("loops of unknown length carry registers; ifs merge them") {
  Kernel kernel;
  kernel.name = "triangle";
  const BufferId a = add_argument(kernel, "A", DType::i32, 64, false);
  const BufferId b = add_argument(kernel, "B", DType::i32, 8, true);
  const BufferId c = add_argument(kernel, "C", DType::i64, 8, true);
  const VarId i = kernel.vars.add("i");
  const VarId j = kernel.vars.add("j");
  const VarId last = kernel.vars.add("last");
  const RegId sum = kernel.registers.add({"sum", DType::i32, 1});
  const RegId odd = kernel.registers.add({"odd", DType::i32, 1});
  const auto reg = [](RegId id) { return reg_expr(id.value, DType::i32, 1); };
  const Expr element = load_expr(a, DType::i32, {add(times(at(i), 8), at(j))});
  KernelIf test;
  test.condition = binary(Op::eq, binary(Op::mod, at(j), index_constant(2)), index_constant(1));
  test.then_body.push_back(set(odd, binary(Op::add, reg(odd), element)));
  test.else_body.push_back(set(sum, binary(Op::sub, reg(sum), element)));
  KernelBody inner;
  inner.push_back(set(sum, binary(Op::add, reg(sum), element)));
  inner.push_back(statement(std::move(test)));
  KernelBody outer;
  outer.push_back(set(sum, int_constant(5, DType::i32)));
  outer.push_back(set(odd, int_constant(0, DType::i32)));
  outer.push_back({KernelLet{last, plus(binary(Op::sub, index_constant(7), at(i)), -2)}});
  outer.push_back({KernelFor{j, index_constant(0), at(last), false, std::move(inner)}});
  outer.push_back(store(
      b, at(i), binary(Op::sub, reg(sum), binary(Op::mul, reg(odd), int_constant(2, DType::i32)))));
  outer.push_back(store(c, at(i), binary(Op::mul, at(last), index_constant(-3))));
  kernel.body.push_back(loop(i, 0, 8, std::move(outer)));
  Run run;
  run.buffers = {counting(DType::i32, 64), Bytes(32), Bytes(64)};
  const Bytes before = run.buffers[0];
  run_everywhere(kernel, run, [&](const std::vector<Bytes>& after) {
    for (int64_t row = 0; row < 8; ++row) {
      double want = 5;
      for (int64_t column = 0; column < 5 - row; ++column)
        if (column % 2 == 1) want -= number(before, DType::i32, row * 8 + column);
      CHECK_EQ(number(after[1], DType::i32, row), want);
      CHECK_EQ(number(after[2], DType::i64, row), (5.0 - static_cast<double>(row)) * -3);
    }
  });
}

// Each worker fills its own part, a stack tile and the shared workspace; the parallel body reads a
// register, a variable and stack memory of the code around it.
TEST_CASE("parallel bodies see what is around them and keep their own memory") {
  Kernel kernel;
  kernel.name = "parallel";
  const BufferId a = add_argument(kernel, "A", DType::f32, 64, false);
  const BufferId b = add_argument(kernel, "B", DType::f32, 2 * 8 * 4, true);
  const auto add_buffer = [&](const char* name, Space space, int64_t offset) {
    KernelBuffer buffer{name, DType::f32, 8, space, -1, offset, true};
    return kernel.buffers.add(buffer);
  };
  const BufferId shared = add_buffer("shared", Space::workspace, 64);
  const BufferId mine = add_buffer("mine", Space::per_worker, 0);
  const BufferId tile = add_buffer("tile", Space::stack, 0);
  const BufferId outside = add_buffer("outside", Space::stack, 0);
  kernel.workspace_bytes = 128;
  kernel.workspace_bytes_per_worker = 64;
  kernel.stack_bytes = 64;
  const VarId round = kernel.vars.add("round");
  const VarId p = kernel.vars.add("p");
  const RegId four = kernel.registers.add({"four", DType::f32, 4});
  const RegId local = kernel.registers.add({"local", DType::f32, 4});
  const auto vector = [&](BufferId from, Expr index) {
    return vector_load_expr(from, DType::f32, 4, std::move(index));
  };
  const Expr given = reg_expr(four.value, DType::f32, 4);
  const Expr own = reg_expr(local.value, DType::f32, 4);
  KernelBody inner;
  inner.push_back(store(mine, index_constant(0), vector(a, times(at(p), 4))));
  inner.push_back(store(tile, index_constant(4), given));
  inner.push_back(
      set(local, add(vector(mine, index_constant(0)), vector(tile, index_constant(4)))));
  inner.push_back(set(local, add(own, vector(shared, index_constant(4)))));
  inner.push_back(set(local, add(own, vector(outside, index_constant(0)))));
  inner.push_back(store(b, add(times(at(round), 32), times(plus(at(p), -2), 4)), own));
  KernelBody outer;
  outer.push_back(set(four, vector(a, times(at(round), 4))));
  outer.push_back(store(shared, index_constant(4), vector(a, index_constant(8))));
  outer.push_back(store(outside, index_constant(0), vector(a, index_constant(12))));
  outer.push_back(store(mine, index_constant(4), given));  // worker 0's, before the loop
  outer.push_back(parallel_loop(p, 2, 10, std::move(inner)));
  kernel.body.push_back(loop(round, 0, 2, std::move(outer)));
  for (const int threads : {1, 3}) {
    CAPTURE(threads);
    Run run;
    run.buffers = {counting(DType::f32, 64), Bytes(256)};
    run.threads = threads;
    run.workspace_bytes = kernel.workspace_bytes + threads * kernel.workspace_bytes_per_worker;
    const Bytes before = run.buffers[0];
    run_everywhere(kernel, run, [&](const std::vector<Bytes>& after) {
      const auto in = [&](int64_t i) { return number(before, DType::f32, i); };
      for (int64_t r = 0; r < 2; ++r)
        for (int64_t i = 0; i < 8; ++i)
          for (int64_t l = 0; l < 4; ++l)
            CHECK_EQ(number(after[1], DType::f32, r * 32 + i * 4 + l),
                     in((i + 2) * 4 + l) + in(r * 4 + l) + in(8 + l) + in(12 + l));
    });
  }
}

TEST_CASE("masks, gathers, strides and guarded loads touch only what they may") {
  Kernel kernel;
  kernel.name = "guarded";
  const int64_t size = 16;
  const BufferId a = add_argument(kernel, "A", DType::f32, size, false);
  const BufferId table = add_argument(kernel, "table", DType::i32, 4, false);
  std::vector<BufferId> out;
  for (int i = 0; i < 9; ++i)
    out.push_back(add_argument(kernel, "o" + std::to_string(i), DType::f32, 4, true));
  const VarId far = kernel.vars.add("far");
  const Expr zero = broadcast_expr(float_constant(0, DType::f32), 4);
  const Expr lanes = ramp_expr(index_constant(0), index_constant(1), 4);
  const auto splat = [](int64_t value) { return broadcast_expr(index_constant(value), 4); };
  const Expr first_three = binary(Op::lt, lanes, splat(3));
  const auto load4 = [&](Expr index) {
    return vector_load_expr(a, DType::f32, 4, std::move(index));
  };
  // An address that faults if it is touched: 64 MiB further on.
  const Expr nowhere = times(at(far), 1 << 24);
  const auto put_at = [&](size_t row, Expr value) {
    kernel.body.push_back(store(out[row], index_constant(0), std::move(value)));
  };
  kernel.body.push_back({KernelLet{
      far,
      binary(Op::max, index_constant(1),
             cast_expr(Op::cast, DType::i64, load_expr(table, DType::i32, {index_constant(0)})))}});
  // 0: a vector select guards its lanes; 1: a scalar one guards all
  put_at(0, select_expr(first_three, load4(plus(times(at(far), 0), 13)), zero));
  put_at(1, select_expr(binary(Op::lt, at(far), index_constant(0)), load4(nowhere),
                        load4(index_constant(2))));
  // 2: a vector select around a scalar load that no lane wants
  put_at(2, select_expr(binary(Op::lt, lanes, splat(0)),
                        broadcast_expr(load_expr(a, DType::f32, {nowhere}), 4),
                        load4(index_constant(3))));
  // 3: gather by data, 4: stride 3, 5: stride -2
  put_at(3, load4(cast_expr(Op::cast, DType::i64,
                            vector_load_expr(table, DType::i32, 4, index_constant(0)))));
  put_at(4, load4(ramp_expr(index_constant(1), index_constant(3), 4)));
  put_at(5, load4(ramp_expr(index_constant(9), index_constant(-2), 4)));
  // 6: masked store, 7: scatter, 8: masked load with its own mask, scalar mask of a store
  kernel.body.push_back(store_if(first_three, out[6], index_constant(0), load4(index_constant(0))));
  kernel.body.push_back(store(out[7], binary(Op::sub, splat(3), lanes), load4(index_constant(4))));
  const Expr masked = with_args(load4(index_constant(13)), {index_constant(13), first_three});
  put_at(8, masked);
  kernel.body.push_back(store_if(binary(Op::lt, at(far), index_constant(0)), out[8], nowhere,
                                 float_constant(1, DType::f32)));
  Run run;
  run.buffers = {counting(DType::f32, size), Bytes{}};
  for (const int64_t index : {5, 0, 15, 7}) put(run.buffers[1], int_constant(index, DType::i32));
  for (size_t i = 0; i < out.size(); ++i) run.buffers.push_back(Bytes(16));
  const Bytes before = run.buffers[0];
  run_everywhere(kernel, run, [&](const std::vector<Bytes>& after) {
    const auto in = [&](int64_t i) { return number(before, DType::f32, i); };
    const int64_t picked[] = {5, 0, 15, 7};
    for (int64_t l = 0; l < 4; ++l) {
      CAPTURE(l);
      const auto got = [&](size_t row) { return number(after[2 + row], DType::f32, l); };
      CHECK_EQ(got(0), l < 3 ? in(13 + l) : 0);
      CHECK_EQ(got(1), in(2 + l));
      CHECK_EQ(got(2), in(3 + l));
      CHECK_EQ(got(3), in(picked[l]));
      CHECK_EQ(got(4), in(1 + 3 * l));
      CHECK_EQ(got(5), in(9 - 2 * l));
      CHECK_EQ(got(6), l < 3 ? in(l) : 0);
      CHECK_EQ(got(7), in(4 + 3 - l));
      CHECK_EQ(got(8), l < 3 ? in(13 + l) : 0);
    }
  });
}
