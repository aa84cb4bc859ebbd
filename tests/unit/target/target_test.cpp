// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "base/text.h"
#include "target/target.h"

using namespace hone;

namespace {

const std::string kFolder = HONE_SOURCE_DIR "/targets";

// The text of a shipped file with one replacement, loaded from a scratch file named t.toml.
std::string error_of(const std::string& from, const std::string& to) {
  std::string text = read_file(kFolder + "/cores/cortex-a53.toml").value();
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  char name[] = "/tmp/hone-target-XXXXXX";
  const std::string folder = mkdtemp(name);
  std::ofstream(folder + "/t.toml") << text;
  const auto target = load_target(folder + "/t.toml");
  std::filesystem::remove_all(folder);
  REQUIRE_FALSE(target.has_value());
  std::string message = target.error().message;
  message.erase(0, folder.size() + 1);
  return message;
}

}  // namespace

TEST_CASE("every shipped core file is valid") {
  const std::vector<std::string> names = target_names(kFolder);
  CHECK(names.size() >= 10);
  for (const std::string& name : names) {
    CAPTURE(name);
    const auto target = find_target(kFolder, name);
    CHECK_MESSAGE(target.has_value(), (target ? "" : target.error().message));
    if (target) CHECK_EQ(target->name, name);
  }
}

TEST_CASE("lanes follow from vector width and element type") {
  const Target target = find_target(kFolder, "cortex-a53").value();
  CHECK_EQ(target.lanes(DType::f32), 4);
  CHECK_EQ(target.lanes(DType::i8), 16);
  CHECK_EQ(target.lanes(DType::bf16), 1);
  CHECK_EQ(find_target(kFolder, "cortex-m4").value().lanes(DType::f32), 1);
}

TEST_CASE("native is the running machine") {
  const auto target = find_target(kFolder, "native");
  REQUIRE(target.has_value());
  CHECK_EQ(target->name, "native");
  CHECK(target->cores >= 1);
  CHECK(target->l1d_bytes > 0);
}

TEST_CASE("errors of core files name file, line and field") {
  CHECK_EQ(error_of("isa = \"aarch64\"", "isa = \"arm\""),
           "t.toml:3:7: field 'isa': expected one of x86_64, aarch64, armv7a, armv7em, riscv64");
  CHECK_EQ(error_of("vector = 32", "vector = \"32\""),
           "t.toml:11:10: field 'registers.vector': expected a count");
  CHECK_EQ(error_of("l1d_bytes = 32768\n", ""), "t.toml: field 'memory.l1d_bytes' is missing");
  CHECK_EQ(error_of("line_bytes", "lime_bytes"),
           "t.toml:30:1: unknown field 'lime_bytes'; is it line_bytes?");
  CHECK_EQ(error_of("fma_latency = 4", "fma_latency = 4 5").substr(0, 11), "t.toml:22:1");
  CHECK_EQ(error_of("vector_bits = 128", "vector_bits = 100"),
           "t.toml: registers.vector_bits is 100, expected a multiple of 64 up to 4096");
}

TEST_CASE("a target that is not there comes with the list and a guess") {
  const std::string message = find_target(kFolder, "cortex-a54").error().message;
  CHECK(message.starts_with("there is no target 'cortex-a54' (is it cortex-a53?); there are: native, "));
}
