// SPDX-License-Identifier: Apache-2.0
#include "ir/region.h"

#include <doctest/doctest.h>

#include "rewriting.h"

namespace hone {
namespace {

std::string text_of(const Program& program, const Region& region) {
  std::string text;
  for (const RegionDim& dim : region)
    text += fmt::format("[{} : {}]", print_form(program, dim.base), dim.extent);
  return text;
}

// What block B reads of A (or writes of its own buffer) with the named loops standing still.
std::string touched(const std::string& text, const std::vector<std::string>& fixed, bool writes) {
  const Program program = program_of(text);
  std::vector<LoopId> loops;
  for (const std::string& name : fixed) loops.push_back(*find_loop(program, name));
  const BlockId block = *find_block(program, "B");
  const BufferId buffer = *find_buffer(program, writes ? "B" : "A");
  return text_of(program, region_of(program, block, buffer, writes, loops));
}

const std::string kWindow = R"(program p
buffer A f32[20,12] input
buffer B f32[18,12] output
for y_0 in 5, x in 12, y_1 in 4, r in 3
  block B  spatial y:18=y_0*4+y_1 x=x  reduce r=r
    where y_0*4+y_1 < 18
    init   B[y,x] = 0
    update B[y,x] = B[y,x] + A[y+r,x]
)";

TEST_CASE("a window: tile, halo and the whole") {
  CHECK(touched(kWindow, {"y_0", "x"}, false) == "[y_0*4 : 6][x : 1]");
  CHECK(touched(kWindow, {"y_0"}, false) == "[y_0*4 : 6][0 : 12]");
  CHECK(touched(kWindow, {"y_0", "x", "y_1"}, false) == "[y_0*4+y_1 : 3][x : 1]");
  CHECK(touched(kWindow, {}, false) == "[0 : 20][0 : 12]");
  CHECK(touched(kWindow, {"y_0"}, true) == "[y_0*4 : 4][0 : 12]");
}

std::string read_of_index(const std::string& index, const std::vector<std::string>& fixed) {
  return touched(fmt::format(R"(program p
buffer A f32[40] input
buffer I i64[16] input
buffer B f32[4,4] output
for i in 4, j in 4
  block B  spatial i=i j=j
    update B[i,j] = A[{}]
)",
                             index),
                 fixed, false);
}

TEST_CASE("indices: strides, offsets, quotients, guards, data") {
  CHECK(read_of_index("2*i+3*j", {"i"}) == "[i*2 : 10]");
  CHECK(read_of_index("3-j", {}) == "[0 : 4]");
  CHECK(read_of_index("i-j", {"i"}) == "[i-3 : 4]");
  CHECK(read_of_index("i-j", {}) == "[0 : 4]");
  CHECK(read_of_index("(i*4+j)/3", {"i"}) == "[(i*4)/3 : 2]");
  CHECK(read_of_index("(i*4+j)/2", {"i"}) == "[i*2 : 2]");
  CHECK(read_of_index("(i*4+j) % 6", {"i"}) == "[0 : 6]");
  CHECK(read_of_index("(i*4+j) % 8", {"i"}) == "[i%2*4 : 4]");
  CHECK(read_of_index("i*j", {"i"}) == "[0 : 40]");
  CHECK(read_of_index("I[i*4+j]", {"i", "j"}) == "[0 : 40]");
  CHECK(read_of_index("5", {}) == "[5 : 1]");
}

TEST_CASE("several loads make a hull, and bases that do not compare the whole") {
  const auto two = [](const std::string& a, const std::string& b) {
    return touched(fmt::format(R"(program p
buffer A f32[40] input
buffer B f32[4,4] output
for i in 4, j in 4
  block B  spatial i=i j=j
    update B[i,j] = A[{}] + A[{}]
)",
                               a, b),
                   {"i"}, false);
  };
  CHECK(two("i", "i+5") == "[i : 6]");
  CHECK(two("i+5+j", "i") == "[i : 9]");
  CHECK(two("i", "2*i") == "[0 : 40]");
}

TEST_CASE("fused and split loops keep tiles small") {
  const std::string text = R"(program p
buffer A f32[6,8] input
buffer B f32[6,8] output
for f_0 in 12, f_1 in 4
  block B  spatial i:6=f_0/2 j:8=f_0%2*4+f_1
    update B[i,j] = A[i,j]
)";
  CHECK(touched(text, {"f_0"}, false) == "[f_0/2 : 1][f_0%2*4 : 4]");
  CHECK(touched(text, {"f_1"}, false) == "[0 : 6][f_1 : 5]");
}

TEST_CASE("a buffer that is not touched gives nothing") {
  const Program program = program_of(kWindow);
  const Region region =
      region_of(program, *find_block(program, "B"), *find_buffer(program, "A"), true, {});
  CHECK(text_of(program, region) == "[0 : 0][0 : 0]");
}

}  // namespace
}  // namespace hone
