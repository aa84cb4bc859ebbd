// SPDX-License-Identifier: Apache-2.0
#include "emit/record.h"

#include <filesystem>

#include <unistd.h>

#include <doctest/doctest.h>

using namespace hone;

namespace {

struct Store {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("hone-emit-record-{}.db", getpid());
  std::unique_ptr<Database> database;

  Store() {
    auto opened = open_sqlite(path.string());
    REQUIRE(opened.has_value());
    database = std::move(*opened);
    REQUIRE(database->add_workload("w", "matmul", "text").has_value());
  }
  ~Store() {
    database.reset();
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + suffix);
  }
  void add(const std::string& decisions, const std::string& device, int64_t threads, double time,
           TimeUnit unit, bool emulated) {
    Outcome outcome;
    outcome.samples = {time};
    outcome.unit = unit;
    outcome.emulated = emulated;
    REQUIRE(database->add_trial({"w", "t", "print", device, threads}, {"s", decisions, outcome, ""})
                .has_value());
  }
  std::string best(const RecordWish& wish, std::vector<std::string>& warnings) {
    const auto row = best_record(*database, wish, warnings);
    REQUIRE(row.has_value());
    return *row ? (*row)->trial.decisions : "none";
  }
};

}  // namespace

TEST_CASE("the best record of a task") {
  Store store;
  std::vector<std::string> warnings;
  CHECK(store.best({"w", "t", {}, {}}, warnings) == "none");
  store.add("slow", "board", 1, 300, TimeUnit::ns, false);
  store.add("fast", "board", 1, 200, TimeUnit::ns, false);
  CHECK(store.best({"w", "t", {}, {}}, warnings) == "fast");
  CHECK(store.best({"w", "other", {}, {}}, warnings) == "none");
  CHECK(warnings.empty());

  SUBCASE("hardware goes before an emulator") {
    store.add("emulated", "qemu", 1, 10, TimeUnit::ns, true);
    CHECK(store.best({"w", "t", {}, {}}, warnings) == "fast");
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0] ==
          "task 'matmul' was measured under 2 circumstances that do not compare; taken: board, "
          "1 thread(s), fingerprint print");
    CHECK(store.best({"w", "t", "qemu", {}}, warnings) == "emulated");
    CHECK(warnings.size() == 1);
  }
  SUBCASE("time goes before cycles and instructions") {
    store.add("insn", "board", 1, 1, TimeUnit::insn, false);
    store.add("cycles", "board", 1, 2, TimeUnit::cycles, false);
    CHECK(store.best({"w", "t", {}, {}}, warnings) == "fast");
  }
  SUBCASE("a thread count can be asked for") {
    store.add("wide", "board", 4, 100, TimeUnit::ns, false);
    CHECK(store.best({"w", "t", {}, {}}, warnings) == "wide");
    CHECK(warnings.size() == 1);
    CHECK(store.best({"w", "t", {}, 1}, warnings) == "fast");
    CHECK(warnings.size() == 1);
  }
}
