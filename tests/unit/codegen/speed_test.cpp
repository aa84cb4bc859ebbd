// SPDX-License-Identifier: Apache-2.0
//
// How fast a register tile compiles, links and runs. Skipped by default, since it asserts nothing:
//   unit_codegen -ns -tc="speed*"
#include <doctest/doctest.h>

#include <chrono>
#include <cstring>

#include <sys/mman.h>

#include "codegen/codegen.h"
#include "kernels.h"
#include "runner.h"

using namespace hone;
using namespace hone::test;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double best_of(int repeats, const auto& work) {
  double best = 1e9;
  for (int i = 0; i < repeats; ++i) {
    const double start = now();
    work();
    best = std::min(best, now() - start);
  }
  return best;
}

}  // namespace

TEST_CASE("speed of a register tile" * doctest::skip()) {
  const Target target = good(find_target(HONE_SOURCE_DIR "/targets", "native"));
  const int lanes = target.lanes(DType::f32);
  const int rows = lanes == 16 ? 14 : 6;
  const int64_t depth = 256;
  const Kernel kernel = matmul_tile(rows, 2, lanes, depth);
  const CodegenOptions options{.entry = "tile", .optimize = true};
  CodeGenerator generator = good(CodeGenerator::create(target));
  ObjectCode object = good(generator.compile(kernel, options));
  Image image = good(link_image({{&object, "tile"}}, target, 0x300000000));
  fmt::print("{}\n", good(generator.assembly_text(kernel, options)));
  fmt::print("create generator {:.2f} ms\n",
             1e3 * best_of(20, [&] { (void)good(CodeGenerator::create(target)); }));
  fmt::print("compile {:.2f} ms, unoptimised {:.2f} ms\n",
             1e3 * best_of(50, [&] { (void)good(generator.compile(kernel, options)); }),
             1e3 * best_of(50, [&] {
               (void)good(generator.compile(kernel, {.entry = "tile", .optimize = false}));
             }));
  fmt::print("link {:.2f} ms\n", 1e3 * best_of(50, [&] {
                                   (void)good(link_image({{&object, "tile"}}, target, 0x300000000));
                                 }));
  void* memory = mmap(reinterpret_cast<void*>(image.load_address), image.bytes.size(),
                      PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  std::memcpy(memory, image.bytes.data(), image.bytes.size());
  auto* entry = reinterpret_cast<void (*)(void* const*, void*, const void*)>(
      image.load_address + static_cast<uint64_t>(image.entry_offset));
  void* buffers[3];
  for (void*& buffer : buffers) {
    buffer = aligned_alloc(4096, 1 << 20);
    std::memset(buffer, 0, 1 << 20);
  }
  const double seconds = best_of(200, [&] {
    for (int i = 0; i < 100; ++i) entry(buffers, nullptr, nullptr);
  });
  const double operations = 2.0 * rows * 2 * lanes * static_cast<double>(depth) * 100;
  fmt::print("tile {}x{}: {:.1f} GFLOP/s, stack {} text {} rodata {}\n", rows, 2 * lanes,
             operations / seconds * 1e-9, object.stack_bytes, object.text_bytes,
             object.rodata_bytes);
}
