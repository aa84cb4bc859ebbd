// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/text.h"
#include "store/database.h"
#include "store/trial_json.h"

using namespace hone;

namespace {

struct Folder {
  std::string path;
  Folder() {
    char name[] = "/tmp/hone-store-XXXXXX";
    path = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return path + "/" + name; }
};

const TaskKey kKey{"00000000000000aa", "native", "f1", "local", 1};

Trial trial_of(const std::string& decisions, double time) {
  Trial trial;
  trial.skeleton = "trace 1\n";
  trial.decisions = decisions;
  trial.outcome.samples = {time + 1, time};
  trial.outcome.context = "{\"core\":1}";
  trial.outcome.text_bytes = 100;
  return trial;
}

Trial failure_of(const std::string& decisions, FailureKind kind) {
  Trial trial = trial_of(decisions, 0);
  trial.outcome.samples.clear();
  trial.outcome.failure = Failure{kind, "why"};
  return trial;
}

}  // namespace

TEST_CASE("trials come back whole, winners in order") {
  Folder folder;
  auto db = open_sqlite(folder.file("t.db")).value();
  REQUIRE(db->add_workload(kKey.workload, "mm", "text").has_value());
  REQUIRE(db->add_trial(kKey, trial_of("1 2", 50)).has_value());
  REQUIRE(db->add_trial(kKey, trial_of("3 4", 20)).has_value());
  REQUIRE(db->add_trial(kKey, failure_of("5 6", FailureKind::fault)).has_value());
  const auto all = db->trials({.workload = kKey.workload}).value();
  REQUIRE_EQ(all.size(), 3);
  CHECK_EQ(all[0].trial.decisions, "1 2");
  CHECK_EQ(all[0].trial.outcome.samples, std::vector<double>{51, 50});
  CHECK_EQ(all[0].trial.outcome.text_bytes, 100);
  CHECK_EQ(all[2].trial.outcome.failure->reason, "why");
  const auto best = db->trials({.winners_only = true, .limit = 1}).value();
  REQUIRE_EQ(best.size(), 1);
  CHECK_EQ(best[0].trial.decisions, "3 4");
  const auto stats = db->stats().value();
  REQUIRE_EQ(stats.size(), 1);
  CHECK_EQ(stats[0].trials, 3);
  CHECK_EQ(stats[0].failures, 1);
  CHECK_EQ(stats[0].best.value(), 20);
}

TEST_CASE("another fingerprint, device, target or thread count is another measurement") {
  Folder folder;
  auto db = open_sqlite(folder.file("t.db")).value();
  REQUIRE(db->add_workload(kKey.workload, "mm", "text").has_value());
  REQUIRE(db->add_trial(kKey, trial_of("1", 50)).has_value());
  CHECK(db->trials({.fingerprint = "f2"}).value().empty());
  CHECK(db->trials({.device = "pi"}).value().empty());
  CHECK(db->trials({.target = "cortex-a53"}).value().empty());
  CHECK(db->trials({.threads = 2}).value().empty());
  CHECK_EQ(db->trials({.fingerprint = "f1", .threads = 1}).value().size(), 1);
}

TEST_CASE("the first row of a candidate stays, unless the device was to blame") {
  Folder folder;
  auto db = open_sqlite(folder.file("t.db")).value();
  REQUIRE(db->add_workload(kKey.workload, "mm", "text").has_value());
  REQUIRE(db->add_trial(kKey, failure_of("1", FailureKind::device_lost)).has_value());
  REQUIRE(db->add_trial(kKey, trial_of("1", 50)).has_value());
  REQUIRE(db->add_trial(kKey, trial_of("1", 40)).has_value());
  const auto rows = db->trials({}).value();
  REQUIRE_EQ(rows.size(), 1);
  CHECK_EQ(score(rows[0].trial.outcome), 50);
}

TEST_CASE("export and import give the same rows, twice the same as once") {
  Folder folder;
  auto db = open_sqlite(folder.file("a.db")).value();
  REQUIRE(db->add_workload(kKey.workload, "mm", "text \"quoted\"\nline").has_value());
  REQUIRE(db->add_trial(kKey, trial_of("1", 50)).has_value());
  REQUIRE(db->add_trial(kKey, failure_of("2", FailureKind::timeout)).has_value());
  std::string lines;
  REQUIRE(db->export_lines([&](const std::string& line) { lines += line + "\n"; }).has_value());
  auto other = open_sqlite(folder.file("b.db")).value();
  CHECK_EQ(other->import_lines(lines, "x").value(), 2);
  CHECK_EQ(other->import_lines(lines, "x").value(), 0);
  std::string again;
  REQUIRE(other->export_lines([&](const std::string& line) { again += line + "\n"; }).has_value());
  CHECK_EQ(again, lines);
}

TEST_CASE("a bad line names file and line, and nothing of the file is kept") {
  Folder folder;
  auto db = open_sqlite(folder.file("a.db")).value();
  const std::string good = workload_json_line(kKey.workload, "mm", "text");
  const auto result = db->import_lines(good + "\n{\"workload\": 3}\n", "in.jsonl");
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message.starts_with("in.jsonl:2: "));
  CHECK_FALSE(db->workload_text(kKey.workload).value().has_value());
  CHECK(db->import_lines("hello", "in.jsonl").error().message.starts_with("in.jsonl:1: "));
  const std::string orphan =
      to_json_line(TrialRow{kKey, "mm", trial_of("1", 5)});
  CHECK_EQ(db->import_lines(orphan, "in.jsonl").error().message,
           "in.jsonl:1: workload 00000000000000aa was not given before its trial");
}

TEST_CASE("a file that is no database is refused and left as it was") {
  Folder folder;
  const std::string path = folder.file("x.db");
  std::ofstream(path) << std::string(5000, 'x');
  CHECK(open_sqlite(path).error().message.starts_with("cannot open database " + path));
  CHECK_EQ(std::filesystem::file_size(path), 5000);
  CHECK(open_sqlite(folder.file("no/such/folder.db")).error().message.starts_with("cannot open"));
}

TEST_CASE("another program's database is refused and left as it was, byte for byte") {
  Folder folder;
  const std::vector<std::string> foreign = {
      "create table bookmarks (a, b)",
      "create table workload (x)",
      "create table bookmarks (a); create table meta (key text primary key, value text)",
      "pragma user_version = 99; create table trials (a); insert into trials values (1)"};
  for (size_t i = 0; i < foreign.size(); ++i) {
    const std::string path = folder.file(std::to_string(i) + ".db");
    sqlite3* raw = nullptr;
    REQUIRE_EQ(sqlite3_open(path.c_str(), &raw), SQLITE_OK);
    REQUIRE_EQ(sqlite3_exec(raw, foreign[i].c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(raw);
    const std::string before = read_file(path).value();
    const auto db = open_sqlite(path);
    REQUIRE_FALSE(db.has_value());
    CHECK_NE(db.error().message.find("another program's database"), std::string::npos);
    CHECK_NE(db.error().message.find(path), std::string::npos);
    CHECK_EQ(read_file(path).value(), before);
  }
}

TEST_CASE("an empty file becomes a database, and Hone's own opens again") {
  Folder folder;
  std::ofstream(folder.file("e.db")).flush();
  CHECK(open_sqlite(folder.file("e.db")).has_value());
  CHECK(open_sqlite(folder.file("e.db")).has_value());
}

TEST_CASE("what is no file is not opened, and nothing is made beside it") {
  Folder folder;
  REQUIRE_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  for (const std::string& path : {std::string(), folder.path, folder.file("pipe")})
    CHECK_FALSE(open_sqlite(path).has_value());
  CHECK_EQ(std::distance(std::filesystem::directory_iterator(folder.path), {}), 1);
}

TEST_CASE("a writer killed at any moment leaves every finished trial") {
  Folder folder;
  const std::string path = folder.file("k.db");
  {
    auto db = open_sqlite(path).value();
    REQUIRE(db->add_workload(kKey.workload, "mm", "text").has_value());
  }
  Rng rng(99);
  int64_t told = 0;
  for (int round = 0; round < 20; ++round) {
    int ends[2];
    REQUIRE_EQ(pipe(ends), 0);
    const int pid = fork();
    if (pid == 0) {
      auto db = open_sqlite(path);
      for (int64_t i = 0;; ++i) {
        if (!db || !(*db)->add_trial(kKey, trial_of(fmt::format("{} {}", round, i), 10))) _exit(1);
        if (write(ends[1], "x", 1) != 1) _exit(2);
      }
    }
    close(ends[1]);
    usleep(static_cast<useconds_t>(rng.between(2'000, 30'000)));
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    char byte;
    while (read(ends[0], &byte, 1) == 1) ++told;
    close(ends[0]);
  }
  auto db = open_sqlite(path).value();
  const int64_t kept = static_cast<int64_t>(db->trials({}).value().size());
  CHECK(kept >= told);
  CHECK(kept <= told + 20);
}
