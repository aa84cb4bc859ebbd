// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <doctest/doctest.h>

#include "base/process.h"
#include "base/text.h"
#include "emit/emit.h"
#include "outside.h"
#include "sample_tasks.h"

using namespace hone;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kSeed = 20240607;

struct Workshop {
  fs::path path = fs::temp_directory_path() / fmt::format("hone-emit-{}", getpid());
  std::vector<Task> tasks = sample_tasks();
  std::unique_ptr<Database> database;

  Workshop() {
    fs::create_directories(path);
    auto opened = open_sqlite((path / "db").string());
    REQUIRE(opened.has_value());
    database = std::move(*opened);
  }
  ~Workshop() {
    database.reset();
    fs::remove_all(path);
  }
  std::string at(const std::string& name) const { return (path / name).string(); }

  EmitRequest request(const std::string& target, const std::string& prefix,
                      const std::string& folder) {
    EmitRequest request;
    for (const Task& task : tasks) request.tasks.push_back(&task);
    auto found = find_target(std::string(HONE_SOURCE_DIR) + "/targets", target);
    REQUIRE_MESSAGE(found.has_value(), found.error().message);
    request.target = std::move(*found);
    request.prefix = prefix;
    request.folder = at(folder);
    request.database = database.get();
    request.tune_command = "hone tune sample.toml --target " + target + " --db test.db";
    request.golden = evaluated_golden;
    return request;
  }
};

EmitReport emit_well(const EmitRequest& request) {
  auto report = emit_library(request);
  REQUIRE_MESSAGE(report.has_value(), report.error().message);
  return std::move(*report);
}

std::vector<std::string> operator+(std::vector<std::string> left,
                                   const std::vector<std::string>& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

std::vector<std::string> c_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

const std::vector<std::string> kStrict = {"-std=c99", "-O2",     "-pedantic",
                                          "-Wall",    "-Wextra", "-Wconversion",
                                          "-Wshadow", "-Wundef", "-Werror"};

void check_selftest(const Workshop& shop, const Outside& world,
                    const std::vector<std::string>& compile, const std::string& backend) {
  const std::string program = shop.at("selftest");
  run_well(compile + std::vector<std::string>{"-o", program});
  const std::string text = run_well(world.emulator + std::vector<std::string>{program});
  CHECK(text.find("\n" + backend + "\n") != std::string::npos);
  for (const Task& task : shop.tasks) {
    INFO(task.name);
    CHECK(text.find("PASS " + task.name + "\n") != std::string::npos);
  }
}

void check_library(const Workshop& shop, const Outside& world, const EmitReport& report,
                   const std::string& folder, const std::string& prefix) {
  const std::vector<std::string> header = {"-I" + folder + "/include"};
  const std::string selftest = fmt::format("{}/test/{}_selftest.c", folder, prefix);
  const std::string archive = fmt::format("{}/lib/lib{}.a", folder, prefix);
  for (const std::string& compiler : world.compilers) {
    const std::vector<std::string> strict = std::vector<std::string>{compiler} + kStrict + header;
    check_selftest(shop, world,
                   strict + world.compiler_flags + std::vector<std::string>{selftest, archive},
                   "tuned for " + world.target);
    check_selftest(
        shop, world,
        strict + std::vector<std::string>{"-DNET_PORTABLE", selftest} + c_files(folder + "/src"),
        "portable C");
  }
  const ArchiveSymbols symbols = symbols_of_archive(archive);
  CHECK(symbols.undefined == std::vector<std::string>{});
  CHECK(symbols.writable == std::vector<std::string>{});
  // A function and its kernel for each call; one for params, and its kernel where there are
  // constants; two for the whole.
  size_t wanted = 2 * shop.tasks.size() + 2;
  for (size_t i = 0; i < shop.tasks.size(); ++i) {
    const auto& buffers = shop.tasks[i].program.buffers;
    const bool params = std::any_of(buffers.begin(), buffers.end(), [](const Buffer& buffer) {
      return buffer.kind == BufferKind::param;
    });
    wanted += (params ? 1U : 0U) + (report.tasks[i].constants_bytes > 0 ? 1U : 0U);
  }
  CHECK(symbols.defined.size() == wanted);
  for (const std::string& name : symbols.defined) CHECK(name.starts_with(prefix + "_"));
}

std::vector<std::pair<std::string, std::string>> content_of(const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> content;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      content.emplace_back(entry.path().string(), read_file(entry.path().string()).value());
  std::ranges::sort(content);
  return content;
}

}  // namespace

TEST_CASE("untuned libraries of every target pass their self-test") {
  Workshop shop;
  for (const Outside& world : outside_world()) {
    INFO(world.target);
    EmitRequest request = shop.request(world.target, "net", "out");
    request.allow_untuned = true;
    const EmitReport report = emit_well(request);
    CHECK(report.warnings.size() == shop.tasks.size());
    check_library(shop, world, report, request.folder, "net");
  }
}

TEST_CASE("libraries of random candidates pass their self-test on every target") {
  Workshop shop;
  for (const Outside& world : outside_world()) {
    INFO(world.target, ", seed ", kSeed);
    EmitRequest request = shop.request(world.target, "net", "out");
    add_random_records(*shop.database, shop.tasks, request.target, "local", kSeed);
    const EmitReport report = emit_well(request);
    CHECK(report.warnings == std::vector<std::string>{});
    CHECK(std::ranges::any_of(report.tasks,
                              [](const EmittedTask& task) { return task.constants_bytes > 0; }));
    for (const EmittedTask& task : report.tasks) {
      CHECK(task.tuned);
      CHECK(task.best == 1234.0);
      CHECK(task.text_bytes > 0);
    }
    check_library(shop, world, report, request.folder, "net");
  }
}

TEST_CASE("the same request gives the same bytes") {
  Workshop shop;
  EmitRequest request = shop.request("x86-64-v2", "net", "out");
  request.allow_untuned = true;
  emit_well(request);
  const auto first = content_of(request.folder);
  CHECK(first.size() == shop.tasks.size() + 7);
  emit_well(request);
  CHECK(content_of(request.folder) == first);
  request.source_date_epoch = 86400;
  emit_well(request);
  CHECK(read_file(request.folder + "/src/net.c")->find("1970-01-02") != std::string::npos);
}

TEST_CASE("two libraries in one C++ program") {
  Workshop shop;
  for (const char* prefix : {"alpha", "beta"}) {
    EmitRequest request = shop.request("x86-64-v2", prefix, prefix);
    request.allow_untuned = true;
    emit_well(request);
  }
  std::ofstream(shop.at("main.cpp")) << R"(
#include <cstdint>
#include <cstdio>
#include <cstring>
#include "alpha.h"
#include "beta.h"
alignas(64) static unsigned char work[1 + ALPHA_HALVES_WORKSPACE_BYTES(1)];
alignas(64) static std::uint16_t x[ALPHA_HALVES_X_ELEMENTS], y[BETA_HALVES_X_2_ELEMENTS];
alignas(64) static std::uint16_t a[ALPHA_HALVES_FOR1_ELEMENTS], b[BETA_HALVES_FOR1_ELEMENTS];
int main() {
  for (std::uint16_t& half : x) half = 0x3c00;  // 1
  for (std::uint16_t& half : y) half = 0x4040;  // 3
  if (alpha_halves(x, y, a, work, nullptr) != ALPHA_OK) return 1;
  if (beta_halves(x, y, b, work, nullptr) != BETA_OK) return 2;
  if (a[66] != 0x4500) return 3;  // 5
  if (std::memcmp(a, b, sizeof a) != 0) return 4;
  std::puts(alpha_build_info());
  std::puts(beta_backend());
}
)";
  run_well({"g++", "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-march=x86-64-v2",
            "-I" + shop.at("alpha/include"), "-I" + shop.at("beta/include"), shop.at("main.cpp"),
            shop.at("alpha/lib/libalpha.a"), shop.at("beta/lib/libbeta.a"), "-o", shop.at("both")});
  const std::string text = run_well({shop.at("both")});
  CHECK(text.find("x86_64-linux-gnu x86-64-v2") != std::string::npos);
  CHECK(text.find("tuned for x86-64-v2") != std::string::npos);
}

TEST_CASE("the wrong machine is refused by the header") {
  Workshop shop;
  EmitRequest request = shop.request("cortex-a53", "net", "out");
  request.allow_untuned = true;
  emit_well(request);
  const auto output =
      run_command({"sh", "-c", "gcc -fsyntax-only -x c " + request.folder + "/include/net.h 2>&1"},
                  after_seconds(60));
  REQUIRE(output.has_value());
  CHECK(output->status.code != 0);
  CHECK(output->text.find("libnet.a (cortex-a53) needs AArch64; elsewhere compile src/ and define "
                          "NET_PORTABLE") != std::string::npos);
}

TEST_CASE("the CMake file builds and tests both variants") {
  Workshop shop;
  EmitRequest request = shop.request("x86-64-v2", "net", "out");
  request.allow_untuned = true;
  emit_well(request);
  run_well({"cmake", "-S", request.folder, "-B", shop.at("cmake"), "-G", "Ninja"});
  run_well({"cmake", "--build", shop.at("cmake")});
  const std::string text = run_well({"ctest", "--test-dir", shop.at("cmake")});
  CHECK(text.find("100% tests passed, 0 tests failed out of 2") != std::string::npos);
}

TEST_CASE("what stops an emit, and leaves the folder as it was") {
  Workshop shop;
  EmitRequest request = shop.request("x86-64-v2", "net", "out");
  const auto complaint = [&] {
    const auto report = emit_library(request);
    REQUIRE_FALSE(report.has_value());
    CHECK_FALSE(fs::exists(request.folder));
    return report.error().message;
  };
  CHECK(complaint() ==
        "task 'matmul' was never measured for x86-64-v2; tune it with\n"
        "  hone tune sample.toml --target x86-64-v2 --db test.db --task matmul\n"
        "or let it come as plain loops with --allow-untuned");
  request.device = "board";
  CHECK(complaint().find("for x86-64-v2 on board; tune it with\n"
                         "  hone tune sample.toml --target x86-64-v2 --db test.db --task matmul "
                         "--device board\n") != std::string::npos);
  request.device.reset();
  request.allow_untuned = true;
  request.budgets.stack = 1;
  CHECK(complaint().starts_with("task 'matmul' needs "));
  request.budgets = {.flash = 100};
  CHECK(complaint().find("more than the budget of 100; of them '") != std::string::npos);
  request.budgets = {.ram = 1};
  CHECK(complaint().find("bytes of RAM") != std::string::npos);
  request.budgets = {};
  request.prefix = "class";
  CHECK(complaint() == "the prefix 'class' is a keyword of C or C++");
}
