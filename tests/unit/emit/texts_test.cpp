// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "sample_library.h"

using namespace hone;

namespace {

// The text of a golden file; a difference is shown by its first line.
void compare_with(const std::string& file, const std::string& text) {
  const auto wanted = read_file(std::string(HONE_SOURCE_DIR) + "/tests/unit/emit/golden/" + file);
  REQUIRE(wanted.has_value());
  const auto got_lines = split_lines(text);
  const auto wanted_lines = split_lines(*wanted);
  for (size_t i = 0; i < std::min(got_lines.size(), wanted_lines.size()); ++i) {
    INFO(file, ":", i + 1);
    REQUIRE(got_lines[i] == wanted_lines[i]);
  }
  CHECK(text == *wanted);
}

}  // namespace

TEST_CASE("header") { compare_with("net.h", header_text(sample_library())); }

TEST_CASE("source of a task") {
  const Library library = sample_library();
  compare_with("net_scale.c", task_source_text(library, library.tasks[0]));
}

TEST_CASE("the self-test's tables") {
  const std::string text = selftest_text(sample_library());
  const auto has = [&](std::string_view part) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  };
  has("    uint16_t w[35];\n");
  has("    unsigned char workspace[NET_SCALE_WORKSPACE_BYTES(HOOK_THREADS) + ALIGN];\n");
  has("  {\"x\", memory.scale_memory.x, 6u, F32, 0, 0xbull, -3, 3, 0u, 0, 0, 0, 0},\n");
  has("  {\"y\", memory.scale_memory.y, 6u, I8, 1, 0u, 0, 0, 0xabcdefull, 0, 0, 0, 0},\n");
  has("samples_1_0[] = {\n  {0u, 0.5},\n  {33u, 1e+300},\n  {66u, -3.0},\n};\n");
  has("blocks_1_0[] = {\n  {0u, 100u, 1.25, 4.5},\n};\n");
  has("NET_NORM_2_WORKSPACE_BYTES(HOOK_THREADS), 1e-07, 1e-06, 0.0},\n");
  CHECK(text.find('@') == std::string::npos);
}

TEST_CASE("the manifest") {
  const auto json = nlohmann::json::parse(manifest_text(sample_library(), {"a", "b"}));
  CHECK(json["generator"] == "hone");
  CHECK(json["files"] == nlohmann::json{"a", "b"});
  CHECK_FALSE(json.contains("date"));
  CHECK(json["target"]["float_abi"] == "hard");
  const auto& scale = json["tasks"][0];
  CHECK(scale["function"] == "net_scale");
  CHECK(scale["flash_bytes"] == 120);
  CHECK(scale["workspace_bytes_per_thread"] == 64);
  CHECK(scale["record"]["best"] == 1500);
  CHECK(scale["record"]["median"] == 1800);
  CHECK(scale["record"]["gflops"] == 4);
  CHECK(scale["record"]["threads"] == 2);
  CHECK(scale["arguments"][1]["role"] == "param");
  CHECK(scale["arguments"][1]["c_type"] == "uint16_t");
  CHECK(scale["arguments"][1]["bytes"] == 6);
  CHECK(json["tasks"][1]["record"].is_null());
}

TEST_CASE("a task with constants: a weight that the call takes from them may be null") {
  Library library = sample_library();
  LibraryTask& task = library.tasks[0];
  task.constants_bytes = 128;
  task.prepare_source = "/* its kernel */\n";
  task.arguments[1].read_by_call = false;
  CHECK(prepare_declaration(library, task) ==
        "net_status net_scale_prepare(\n    const uint16_t *NET_RESTRICT w,\n"
        "    void *NET_RESTRICT constants)");
  CHECK(declaration(library, task) ==
        "net_status net_scale(\n    const float *NET_RESTRICT x,\n    const uint16_t *NET_RESTRICT "
        "w,\n"
        "    int8_t *NET_RESTRICT y,\n"
        "    const void *NET_RESTRICT constants,\n    void *workspace,\n"
        "    const net_parallel *parallel)");
  const auto has = [](const std::string& text, std::string_view part) {
    INFO(text, "lacks\n", part);
    CHECK(text.find(part) != std::string::npos);
  };
  has(header_text(library), "#define NET_SCALE_CONSTANTS_BYTES 128\n");
  has(header_text(library), prepare_declaration(library, task) + ";\n");
  const std::string source = task_source_text(library, task);
  has(source, "/* its kernel */\n");
  has(source,
      "  void *buffers[4] = {0};\n  if (w == 0 || constants == 0) return NET_ERROR_NULL;\n");
  has(source, "  buffers[3] = constants;\n  net_scale_prepare_kernel(buffers, 0, 0);\n");
  has(source, "  buffers[3] = (void *)(uintptr_t)constants;\n");
  has(source,
      "  if (x == 0 || y == 0 || constants == 0 || workspace == 0) return NET_ERROR_NULL;\n");
  const std::string test = selftest_text(library);
  has(test, "    unsigned char constants[NET_SCALE_CONSTANTS_BYTES + ALIGN];\n");
  has(test, "  const int status = (int)net_scale_prepare((const uint16_t *)buffers[1],\n");
  const auto json = nlohmann::json::parse(manifest_text(library, {}));
  CHECK(json["tasks"][0]["prepare_function"] == "net_scale_prepare");
  CHECK(json["tasks"][0]["constants_bytes"] == 128);
  CHECK(json["tasks"][0]["arguments"][1]["read_by_call"] == false);
  CHECK(json["tasks"][1]["prepare_function"].is_null());
  has(readme_text(library), " constants made before |");
}

TEST_CASE("what a library says about itself") {
  Library library = sample_library();
  library.date = "2001-02-03";
  CHECK(build_info(library) ==
        "Hone 1.2.3; hone-codegen 1, LLVM 19.1.7; armv7-linux-gnueabihf cortex-a7 hard; "
        "scale 0123456789abcdef: 1.50 us, 4.00 GFLOP/s on board, 2 threads; "
        "norm_2 fedcba9876543210: not tuned: plain loops; 2001-02-03");
}

TEST_CASE("emulated time and other units are marked") {
  LibraryTask task = sample_library().tasks[0];
  task.record->trial.outcome.emulated = true;
  CHECK(measured_text(task) ==
        "1.50 us, 4.00 GFLOP/s on board, 2 threads (emulated, no statement about hardware)");
  task.record->trial.outcome.emulated = false;
  task.record->trial.outcome.unit = TimeUnit::insn;
  CHECK(measured_text(task) == "1500 insn on board, 2 threads");
}

TEST_CASE("C literals") {
  CHECK(c_string("a\"b\\c\n") == R"("a\"b\\c\012")");
  CHECK(c_string("\a"
                 "1") == R"("\0071")");
  CHECK(c_string("?") == R"("\077")");
  CHECK(c_double(3) == "3.0");
  CHECK(c_double(-0.1) == "-0.1");
  CHECK(c_double(1e22) == "1e+22");
}
