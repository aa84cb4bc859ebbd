// SPDX-License-Identifier: Apache-2.0
#include "ir/interpret.h"

#include <doctest/doctest.h>

#include <cmath>

#include "ir/text.h"
#include "ir/verify.h"

namespace hone {
namespace {

// A Program and its tensors by name.
struct Run {
  Program program;
  Tensors tensors;

  explicit Run(std::string_view text) {
    auto parsed = parse_program(text, "test");
    REQUIRE_MESSAGE(parsed, parsed.error().message);
    program = std::move(*parsed);
    const auto verified = verify(program);
    REQUIRE_MESSAGE(verified, verified.error().message);
  }
  BufferId id(std::string_view name) const { return *find_buffer(program, name); }
  void give(std::string_view name, const std::vector<double>& numbers) {
    const Buffer& buffer = program.buffers[id(name)];
    tensors[id(name)] = tensor_of(buffer.dtype, buffer.shape, numbers);
  }
  std::vector<double> take(std::string_view name) {
    const auto done = interpret(program, tensors);
    REQUIRE_MESSAGE(done, done.error().message);
    std::vector<double> numbers;
    const Tensor& tensor = tensors.at(id(name));
    for (int64_t i = 0; i < tensor.count(); ++i) numbers.push_back(tensor.number(i));
    return numbers;
  }
};

using Numbers = std::vector<double>;

TEST_CASE("matmul") {
  Run run(R"(program p
buffer A f32[2,3] input
buffer B f32[3,2] input
buffer C f32[2,2] output
for i in 2, j in 2, k in 3
  block mm  spatial vi=i vj=j  reduce vk=k
    init   C[vi,vj] = 0.0
    update C[vi,vj] = C[vi,vj] + A[vi,vk] * B[vk,vj]
)");
  run.give("A", {1, 2, 3, 4, 5, 6});
  run.give("B", {7, 8, 9, 10, 11, 12});
  CHECK(run.take("C") == Numbers{58, 64, 139, 154});
}

TEST_CASE("a tiled matmul with tails, reduction outside, widening product") {
  Run run(R"(program p
buffer A i8[3,5] input
buffer B i8[5,3] input
buffer C i32[3,3] output
for k0 in 3
  for i0 in 2 parallel
    for j in 3 vectorized
      for i1 in 2 tail=peel
        for k1 in 2 tail=predicate
          block mm  spatial vi:3=i0*2+i1 vj=j  reduce vk:5=k0*2+k1
            where i0*2+i1 < 3
            where k0*2+k1 < 5
            init   C[vi,vj] = 0
            update C[vi,vj] = C[vi,vj] + i32(A[vi,vk]) * i32(B[vk,vj])
)");
  run.give("A", {127, 127, 127, 127, 127, 1, 0, 0, 0, 0, -128, 1, 0, 0, 2});
  run.give("B", {127, 1, 0, 127, 1, 0, 127, 1, 0, 127, 1, 0, 127, 1, 3});
  CHECK(run.take("C") == Numbers{80645, 635, 381, 127, 1, 0, -15875, -125, 6});
}

TEST_CASE("padded convolution: select guards the load") {
  Run run(R"(program p
buffer X f32[4] input
buffer W f32[3] param
buffer P f32[6] temp
buffer C f32[4] output
for y in 6
  block pad  spatial vy=y
    update P[vy] = select(1 <= vy && vy < 5, X[vy-1], 0.0)
for y1 in 4, r in 3
  block conv  spatial vy=y1  reduce vr=r
    init   C[vy] = 10.0
    update C[vy] = C[vy] + P[vy+vr] * W[vr]
)");
  run.give("X", {1, 2, 3, 4});
  run.give("W", {1, 10, 100});
  CHECK(run.take("C") == Numbers{10 + 210, 10 + 321, 10 + 432, 10 + 43});
}

TEST_CASE("softmax") {
  Run run(R"(program p
buffer X f64[3] input
buffer M f64[] temp
buffer E f64[3] temp registers
buffer S f64[] temp
buffer Y f64[3] output
for i in 3
  block most  reduce v=i
    init   M[] = -inf
    update M[] = max(M[], X[v])
for j in 3
  block power  spatial v=j
    update E[v] = exp(X[v] - M[])
for k in 3
  block sum  reduce v=k
    init   S[] = 0.0
    update S[] = S[] + E[v]
for l in 3
  block divide  spatial v=l
    update Y[v] = E[v] / S[]
)");
  run.give("X", {1, 2, 4});
  const Numbers y = run.take("Y");
  const double sum = std::exp(-3) + std::exp(-2) + 1;
  CHECK(y[0] == doctest::Approx(std::exp(-3) / sum).epsilon(1e-14));
  CHECK(y[1] == doctest::Approx(std::exp(-2) / sum).epsilon(1e-14));
  CHECK(y[2] == doctest::Approx(1 / sum).epsilon(1e-14));
}

TEST_CASE("argmax: a tuple reads all before it writes") {
  Run run(R"(program p
buffer X f32[2,4] input
buffer V f32[2] output
buffer I i32[2] output
for i in 2, k in 4
  block argmax  spatial vi=i  reduce vk=k
    init   V[vi] = -inf
    init   I[vi] = 0
    update V[vi] = select(V[vi] < X[vi,vk], X[vi,vk], V[vi])
    update I[vi] = select(V[vi] < X[vi,vk], i32(vk), I[vi])
)");
  run.give("X", {3, 9, 9, 1, -4, -3, -2, -1});
  CHECK(run.take("V") == Numbers{9, -1});
  CHECK(run.take("I") == Numbers{1, 3});
}

TEST_CASE("embedding: a load whose index is loaded") {
  Run run(R"(program p
buffer E f16[3,2] param
buffer idx i32[4] input
buffer O f16[4,2] output
for i in 4, j in 2
  block gather  spatial vi=i vj=j
    update O[vi,vj] = E[idx[vi],vj]
)");
  run.give("E", {1, 2, 3, 4, 5, 6});
  run.give("idx", {2, 0, 2, 1});
  CHECK(run.take("O") == Numbers{5, 6, 1, 2, 5, 6, 3, 4});
  run.give("idx", {2, 0, 3, 1});
  CHECK(interpret(run.program, run.tensors).error().message ==
        "program p: block gather (vi=2 vj=0) reads E[3,0], whose shape is [3,2]");
}

TEST_CASE("types: f16 rounds, u8 wraps, shifts, saturation, fma, bit casts") {
  Run run(R"(program p
buffer H f16[1] input
buffer U u8[1] input
buffer I i32[1] input
buffer a f16[] output
buffer b u8[] output
buffer c i8[] output
buffer d i32[] output
buffer e f32[] output
buffer f b1[] output
block one
  update a[] = H[0] + 1.0
block two
  update b[] = U[0] + 100
block three
  update c[] = saturate_i8(I[0] >> 2)
block four
  update d[] = bitcast_i32(fma(f32(H[0]), 2.0, 0.5))
block five
  update e[] = f32(I[0] % 7 - I[0] / 7)
block six
  update f[] = not(I[0] < 0) || U[0] == 200
)");
  run.give("H", {2048});
  run.give("U", {200});
  run.give("I", {-1000});
  CHECK(run.take("a") == Numbers{2048});
  CHECK(run.take("b") == Numbers{44});
  CHECK(run.take("c") == Numbers{-128});
  CHECK(run.take("d") == Numbers{0x45800400});
  CHECK(run.take("e") == Numbers{1 + 143});
  CHECK(run.take("f") == Numbers{1});
}

TEST_CASE("faults name program, block, axes, buffer and index") {
  const auto fault = [](std::string_view text) {
    Program program = *parse_program(text, "test");
    Tensors tensors;
    Rng rng(1);
    tensors = random_inputs(program, rng);
    const auto done = interpret(program, tensors);
    return done ? "none" : done.error().message;
  };
  const std::string head =
      "program p\nbuffer X f32[4] input\nbuffer T f32[4] temp\nbuffer O f32[4] "
      "output\nfor i in 4\n  block b  spatial v=i\n    update ";
  CHECK(fault(head + "O[v] = X[v+1]\n") ==
        "program p: block b (v=3) reads X[4], whose shape is [4]");
  CHECK(fault(head + "O[v-1] = X[v]\n") ==
        "program p: block b (v=0) stores to O[-1], whose shape is [4]");
  CHECK(fault(head + "O[v] = T[v]\n") ==
        "program p: block b (v=0) reads T[0], which nothing has written yet");
  CHECK(fault("program p\nbuffer O f32[4] output\nfor i in 6\n  block b spatial v:4=i-1\n"
              "    update O[v] = 1\n") ==
        "program p: block b: axis v is -1, outside its domain of 4");
  Program program = *parse_program(head + "O[v] = X[v]\n", "test");
  Tensors tensors;
  CHECK(interpret(program, tensors).error().message == "no values for X");
  tensors[*find_buffer(program, "X")] = zeros(DType::f32, {5});
  CHECK(interpret(program, tensors).error().message ==
        "the values for X are f32[5], expected f32[4]");
}

TEST_CASE("equivalence tells apart what differs, also only backwards") {
  const auto parsed = [](std::string_view text) { return *parse_program(text, "test"); };
  const std::string head = "program p\nbuffer X i32[4] input\nbuffer O i32[4] output\n";
  const Program plain =
      parsed(head + "for i in 4\n  block b  spatial v=i\n    update O[v] = X[v]\n");
  const Program reversed =
      parsed(head + "for i in 4\n  block b  spatial v:4=3-i\n    update O[v] = X[v]\n");
  CHECK(check_equivalent(plain, reversed, 1));
  const Program other =
      parsed(head + "for i in 4\n  block b  spatial v=i\n    update O[v] = X[v] + i32(v / 3)\n");
  CHECK(check_equivalent(plain, other, 1).error().message.starts_with("element 3 of output O is "));
  const auto chain = [&](const std::string& kind) {
    return parsed(head + "block z\n  update O[0] = X[0]\nfor i in 3" + kind +
                  "\n  block b  spatial v=i\n    update O[v+1] = O[v] + X[v+1]\n");
  };
  CHECK(check_equivalent(chain(""), chain(""), 1));
  CHECK(check_equivalent(chain(""), chain(" parallel"), 1).error().message ==
        "after (free loops backwards): program p: block b (v=2) reads O[2], which nothing has "
        "written yet");
}

}  // namespace
}  // namespace hone
