// SPDX-License-Identifier: Apache-2.0
//
// What must hold of objects and images, whatever they compute.
#include <doctest/doctest.h>

#include "base/hash.h"
#include "base/process.h"
#include "base/text.h"
#include "kernels.h"
#include "op_kernels.h"

using namespace hone;
using namespace hone::test;

namespace {

const std::string kTargets = HONE_SOURCE_DIR "/targets";

uint64_t hash_of_bytes(const std::vector<uint8_t>& bytes) {
  return hash_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Objects of a few Kernels for every target, as one number.
uint64_t objects_hash() {
  uint64_t hash = 0;
  for (const std::string& name : target_names(kTargets)) {
    const Target target = good(find_target(kTargets, name));
    CodeGenerator generator = good(CodeGenerator::create(target));
    for (const Kernel& kernel :
         {matmul_tile(4, 2, 4, 64), make_op_kernel({.dtype = DType::f32, .lanes = 4}).kernel})
      hash =
          hash_combine(hash, hash_of_bytes(good(generator.compile(kernel, {.entry = "k"})).bytes));
  }
  return hash;
}

}  // namespace

TEST_CASE("the same input gives the same bytes, again and in another process") {
  const uint64_t hash = objects_hash();
  CHECK_EQ(hash, objects_hash());
  const auto other =
      run_command({"/proc/self/exe", "-ns", "-tc=print the hash of objects"}, after_seconds(60));
  REQUIRE(other.has_value());
  CHECK_MESSAGE(other->text.find("objects " + to_hex(hash)) != std::string::npos, other->text);
}

TEST_CASE("print the hash of objects" * doctest::skip()) {
  fmt::print("objects {}\n", to_hex(objects_hash()));
}

// Linking resolves every symbol or fails, so an image is proof that no library is called.
TEST_CASE("no operation of any type needs a library, on a microcontroller neither") {
  const Target target = good(find_target(kTargets, "cortex-m4"));
  CodeGenerator generator = good(CodeGenerator::create(target));
  for (const DType dtype : {DType::b1, DType::i8, DType::u8, DType::i16, DType::i32, DType::i64,
                            DType::f16, DType::bf16, DType::f32}) {
    for (const bool casts : {false, true}) {
      CAPTURE(to_string(dtype));
      CAPTURE(casts);
      const OpKernel kernel = make_op_kernel({.dtype = dtype, .casts = casts, .f64 = false});
      for (const bool optimize : {false, true}) {
        const ObjectCode object =
            good(generator.compile(kernel.kernel, {.entry = "k", .optimize = optimize}));
        const auto image = link_image({{&object, "k"}}, target, 0x20000000);
        CHECK_MESSAGE(image.has_value(), (image ? "" : image.error().message));
      }
    }
  }
  const OpKernel wide = make_op_kernel({.dtype = DType::f64});
  const auto refused = generator.compile(wide.kernel, {.entry = "k"});
  REQUIRE_FALSE(refused.has_value());
  CHECK_EQ(refused.error().message,
           "kernel operations computes in f64, which cortex-m4 has no instructions for");
}

TEST_CASE("sizes come from the object's sections") {
  const Target target = good(find_target(kTargets, "x86-64-v3"));
  Kernel kernel = matmul_tile(2, 1, 8, 16);
  const ObjectCode plain = good(compile(kernel, target, {.entry = "k"}));
  CHECK(plain.text_bytes > 32);
  CHECK_EQ(plain.stack_bytes, 0);
  KernelBuffer buffer{"tile", DType::f32, 1024, Space::stack, -1, 0, true};
  const BufferId tile = kernel.buffers.add(buffer);
  const VarId i = kernel.vars.add("i");
  KernelBody body;
  body.push_back(store(tile, at(i), load_expr(BufferId{0}, DType::f32, {index_constant(0)})));
  kernel.body.push_back(loop(i, 0, 1024, std::move(body)));
  kernel.body.push_back(
      store(BufferId{2}, index_constant(0), load_expr(tile, DType::f32, {index_constant(3)})));
  const ObjectCode framed = good(compile(kernel, target, {.entry = "k", .optimize = false}));
  CHECK(framed.stack_bytes >= 4096);
  CHECK(framed.stack_bytes < 8192);
}

TEST_CASE("an image lies where it was asked to, a thousand times in one process") {
  const Target target = good(find_target(kTargets, "x86-64-v2"));
  const Kernel kernel = make_op_kernel({.dtype = DType::f32}).kernel;
  const ObjectCode object = good(compile(kernel, target, {.entry = "k"}));
  CHECK(object.rodata_bytes > 0);
  const Image first = good(link_image({{&object, "k"}}, target, 0x200000000));
  CHECK_EQ(first.load_address, 0x200000000);
  CHECK_EQ(first.bss_bytes, 0);
  CHECK(first.entry_offset < static_cast<int64_t>(first.bytes.size()));
  for (int i = 0; i < 1000; ++i) {
    const Image again = good(link_image({{&object, "k"}}, target, 0x200000000));
    REQUIRE(again.bytes == first.bytes);
  }
  const auto missing = link_image({{&object, "other"}}, target, 0x200000000);
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().message.find("other") != std::string::npos);
}
