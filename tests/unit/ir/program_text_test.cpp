// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "ir/text.h"

namespace hone {
namespace {

std::string again(std::string_view text) {
  const auto program = parse_program(text, "test");
  return program ? print(*program) : program.error().message;
}

constexpr std::string_view kMatmul = R"(program matmul_relu
buffer A f32[500,512] input
buffer B f32[512,512] param
buffer C f32[500,512] temp registers
buffer R f32[500,512] output
for i0 in 36 parallel
  for j in 512, k in 512
    for i1 in 14 tail=peel @unroll=16
      block mm  spatial vi:500=i0*14+i1 vj=j  reduce vk=k @grain=4 @deep=-1
        where i0*14+i1 < 500
        init   C[vi,vj] = 0.0
        update C[vi,vj] = C[vi,vj] + A[vi,vk] * B[vk,vj]
for x in 500, y in 512
  block relu  spatial vx=x vy=y
    update R[vx,vy] = max(C[vx,vy], 0.0)
)";

TEST_CASE("a scheduled program prints as it was written") { CHECK(again(kMatmul) == kMatmul); }

TEST_CASE("comments, blank lines and loose spacing give the canonical text") {
  CHECK(again(R"(
# a comment
program  p   # another
buffer A f32 [ 4 , 3 ] input
buffer B i8[] output

for i in 4
    for j in 3

        block b spatial vi=i vj=2+j-2   # binding
            update B[] = B[]+  3
)") == R"(program p
buffer A f32[4,3] input
buffer B i8[] output
for i in 4, j in 3
  block b  spatial vi=i vj=j
    update B[] = B[] + 3
)");
}

TEST_CASE("forms: quotients, remainders, inner forms, term order by loops") {
  constexpr std::string_view text = R"(program p
buffer A f32[64] output
for f in 12, g in 5
  block b  spatial va:3=f/4 vb:4=f%4 vc:20=(f*5+g)/3 vd:64=f/4*16-g+4 ve:1=0  reduce vf:7=(f*5+g)%7
    where f*5+g < 58
    update A[va] = 1.0
)";
  CHECK(again(text) == text);
}

TEST_CASE("where loops stand in the table does not show") {
  Program program = *parse_program(kMatmul, "test");
  Program copy = program;
  Loop dead;
  dead.name = "dead";
  dead.alive = false;
  copy.loops.add(std::move(dead));
  CHECK(equal(program, copy));
  copy.loops[LoopId{0}].kind = LoopKind::serial;
  CHECK_FALSE(equal(program, copy));
}

std::string error_of(std::string_view text) {
  const auto program = parse_program(text, "t");
  return program ? "no error" : program.error().message;
}

TEST_CASE("every parse error has a place, what was found and what was expected") {
  const std::string head = "program p\nbuffer Alpha f32[4,4] input\nbuffer O f32[4] output\n";
  struct Case {
    std::string text;
    std::string error;
  };
  const Case cases[] = {
      {"progam p\n", "t:1:1: expected 'program', found 'progam'"},
      {"", "t:1:1: expected 'program', found the end of the text"},
      {"program p q\n", "t:1:11: expected the end of the line, found 'q'"},
      {"program p\nbuffer A f33[4] input\n",
       "t:2:10: unknown element type 'f33', did you mean 'f32'?"},
      {"program p\nbuffer A f32[0] input\n",
       "t:2:14: expected a dimension from 1 to 1099511627776, found 0"},
      {"program p\nbuffer A f32[1000000,1000000,1000000] input\n",
       "t:2:10: buffer 'A' is too large"},
      {"program p\nbuffer A f32[4] inputs\n",
       "t:2:17: unknown kind of buffer 'inputs', did you mean 'input'?"},
      {"program p\nbuffer A f32[4] temp stak\n",
       "t:2:22: unknown scope 'stak', did you mean "
       "'stack'?"},
      {head + "buffer O f32[4] temp\n", "t:4:8: another buffer is already called 'O'"},
      {head + "buffer inf f32[4] temp\n", "t:4:8: no buffer can be called 'inf'"},
      {head + "loop i in 4\n", "t:4:1: expected 'for' or 'block', found 'loop'"},
      {head + "for i on 4\n", "t:4:7: expected 'in', found 'on'"},
      {head + "for i in 4 paralel\n",
       "t:4:12: unknown kind of loop 'paralel', did you mean 'parallel'?"},
      {head + "for i in 4 tail=shft\n", "t:4:17: unknown tail 'shft', did you mean 'shift'?"},
      {head + "for i in 4\n",
       "t:4:1: loop 'i' holds nothing; what it holds stands below it, "
       "further to the right"},
      {head + "for i in 4, i in 5\n", "t:4:13: another loop is already called 'i'"},
      {head + "for i in 4\n  block b spatial v=k\n", "t:5:21: unknown loop 'k', did you mean 'i'?"},
      {head + "for i in 4\n  block b spatial v=i*i\n",
       "t:5:22: expected a constant factor, found two loops"},
      {head + "for i in 4\n  block b spatial v=i+1\n",
       "t:5:20: expected the extent of axis 'v' (v:N=…): its binding is not a plain loop"},
      {head + "for i in 4\n  block b spatial v=i/0\n",
       "t:5:23: expected a divisor from 1 to 1099511627776, found 0"},
      {head + "for i in 4\n  block b spatial v=i*1099511627776*1099511627776\n",
       "t:5:36: the values of this form are too large"},
      {head + "for i in 4\n  block b spatial v=i v=i\n",
       "t:5:23: another axis is already called 'v'"},
      {head + "for i in 4\n  block b spatial v=i\n", "t:5:3: block 'b' has no 'update' line"},
      {head + "for i in 4\n  block b spatial v=i\n    udpate O[v] = 1\n",
       "t:6:5: expected 'where', 'init' or 'update', found 'udpate'"},
      {head + "for i in 4\n  block b spatial v=i\n    update O[v] = Alpa[v,v]\n",
       "t:6:19: unknown name 'Alpa', did you mean 'Alpha'?"},
      {head + "for i in 4\n  block b spatial v=i\n    update O[v] = Alpha[v]\n",
       "t:6:24: 'Alpha' has 2 dimensions, found 1 indices"},
      {head + "for i in 4\n  block b spatial v=i\n    update O[v] = Alpha[v,0.5]\n",
       "t:6:27: expected a constant of type i64, found a float"},
      {head + "for i in 4\n  block b spatial v=i\n    update O[v] = v\n",
       "t:6:19: expected a value of O's type f32, found i64"},
      {head + "for i in 4\n  block b spatial v=i\n    update O[v] = O[v] + v\n",
       "t:6:24: the operands of '+' are f32 and i64"},
      {head + "for i in 4\n  block b spatial v=i\n    update O[v] = sqr(O[v])\n",
       "t:6:19: unknown function 'sqr', did you mean 'sqrt'?"},
      {head + "for i in 4\n  block b spatial v=i\n    update O[v] = 1 +\n",
       "t:6:22: expected an expression, found the end of the line"},
      {head + "for i in 4\n  block b spatial v=i\n     update O[v] = 1\n    update O[v] = 1\n",
       "t:7:5: this line begins at column 5, those beside it at column 6"},
      {head +
           "for i in 4\n  block b spatial v=i\n    update O[v] = 1\nfor j in 4\n  block c spatial "
           "v=i\n    update O[v] = 1\n",
       "t:8:21: loop 'i' is not around this block"},
  };
  for (const Case& c : cases) CHECK(error_of(c.text) == c.error);
}

TEST_CASE("any cut or broken text is an error, not a crash") {
  for (size_t length = 0; length < kMatmul.size(); ++length) {
    const auto program = parse_program(kMatmul.substr(0, length), "cut");
    if (program) CHECK(again(print(*program)) == print(*program));
    for (const char c : {'(', '\n', '9', '*', ' ', 'v'}) {
      std::string broken(kMatmul);
      broken[length] = c;
      const auto other = parse_program(broken, "broken");
      if (other) CHECK(again(print(*other)) == print(*other));
    }
  }
  const std::string deep = "program p\nbuffer O f32[4] output\nblock b\n  update O[0] = ";
  CHECK_FALSE(parse_program(deep + std::string(100000, '('), "deep"));
  CHECK_FALSE(parse_program(deep + std::string(100000, '-'), "deep"));
}

}  // namespace
}  // namespace hone
