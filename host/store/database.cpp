// SPDX-License-Identifier: Apache-2.0
#include "store/database.h"

#include <chrono>
#include <ctime>
#include <filesystem>
#include <string_view>

#include <sqlite3.h>

#include "base/hash.h"
#include "base/text.h"
#include "store/schema_text.h"
#include "store/trial_json.h"

namespace hone {
namespace {

constexpr int64_t kSchemaVersion = 1;
constexpr int kBusyMilliseconds = 20'000;  // another host process may hold the write lock

std::string file_of(sqlite3* db) {
  const char* name = sqlite3_db_filename(db, "main");
  return name == nullptr || *name == '\0' ? "in memory" : std::filesystem::path(name).filename().string();
}

// A prepared statement with typed binding, in order, and typed columns.
class Statement {
 public:
  static Result<Statement> prepare(sqlite3* db, std::string_view sql) {
    Statement statement;
    statement.db_ = db;
    if (sqlite3_prepare_v2(db, sql.data(), static_cast<int>(sql.size()), &statement.raw_, nullptr) !=
        SQLITE_OK)
      return fail("database {}: {}", file_of(db), sqlite3_errmsg(db));
    return statement;
  }
  Statement(Statement&& other) noexcept
      : db_(other.db_), raw_(std::exchange(other.raw_, nullptr)), next_(other.next_) {}
  Statement(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(raw_); }

  Statement& bind(std::string_view text) {
    sqlite3_bind_text(raw_, ++next_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(int64_t value) {
    sqlite3_bind_int64(raw_, ++next_, value);
    return *this;
  }
  Statement& bind(double value) {
    sqlite3_bind_double(raw_, ++next_, value);
    return *this;
  }
  Statement& bind_null() {
    sqlite3_bind_null(raw_, ++next_);
    return *this;
  }

  // True: a row stands ready. False: done.
  Result<bool> step() {
    const int code = sqlite3_step(raw_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return fail("database {}: {}", file_of(db_), sqlite3_errmsg(db_));
  }
  Result<void> run() {
    while (TRY(step())) {
    }
    return {};
  }

  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(raw_, column));
    return bytes == nullptr ? std::string()
                            : std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(raw_, column)));
  }
  int64_t integer(int column) const { return sqlite3_column_int64(raw_, column); }
  double real(int column) const { return sqlite3_column_double(raw_, column); }
  bool is_null(int column) const { return sqlite3_column_type(raw_, column) == SQLITE_NULL; }

 private:
  Statement() = default;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* raw_ = nullptr;
  int next_ = 0;
};

std::string now_utc() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string device_fault_statuses() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(FailureKind::throttled); ++i) {
    const FailureKind kind = static_cast<FailureKind>(i);
    if (facts(kind).blame == Blame::device) names.push_back(fmt::format("'{}'", to_string(kind)));
  }
  return join(names, ",");
}

class SqliteDatabase final : public Database {
 public:
  explicit SqliteDatabase(sqlite3* db) : db_(db) {}
  SqliteDatabase(const SqliteDatabase&) = delete;
  ~SqliteDatabase() override { sqlite3_close(db_); }

  Result<void> prepare_file(const std::string& path) {
    sqlite3_busy_timeout(db_, kBusyMilliseconds);
    // Full sync per commit costs milliseconds and guards against power loss only; a killed process loses
    // nothing under NORMAL.
    TRYV(check_ownership(path));  // switching to WAL writes to the file already
    TRYV(execute("pragma journal_mode = wal; pragma synchronous = normal; pragma foreign_keys = on"));
    TRYV(execute("begin immediate"));
    if (auto made = make_schema(path); !made) {
      (void)execute("rollback");
      return made;
    }
    return execute("commit");
  }

  Result<void> add_workload(const std::string& hash, const std::string& name,
                            const std::string& text) override {
    Statement insert = TRY(Statement::prepare(
        db_, "insert into workload (hash, name, text) values (?, ?, ?) "
             "on conflict (hash) do update set name = excluded.name"));
    return insert.bind(hash).bind(name).bind(text).run();
  }

  Result<std::optional<std::string>> workload_text(const std::string& hash) override {
    return one_text("select text from workload where hash = ?", hash, std::nullopt);
  }

  Result<std::optional<std::string>> answer(const std::string& workload, int64_t seed) override {
    return one_text("select outputs from answer where workload = ? and seed = ?", workload, seed);
  }

  Result<void> add_answer(const std::string& workload, int64_t seed,
                          const std::string& outputs) override {
    Statement insert = TRY(Statement::prepare(
        db_, "insert or replace into answer (workload, seed, outputs) values (?, ?, ?)"));
    return insert.bind(workload).bind(seed).bind(outputs).run();
  }

  Result<void> add_trial(const TaskKey& key, const Trial& trial) override {
    TRYV(execute("begin immediate"));
    if (auto added = insert_trial(key, trial); !added) {
      (void)execute("rollback");
      return std::unexpected(added.error());
    }
    return execute("commit");
  }

  Result<std::vector<TrialRow>> trials(const TrialFilter& filter) override;
  Result<std::vector<TaskStats>> stats() override;
  Result<void> export_lines(const std::function<void(const std::string&)>& line) override;
  Result<int64_t> import_lines(const std::string& text, const std::string& name) override;

 private:
  Result<void> execute(const char* sql) {
    if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      return fail("database {}: {}", file_of(db_), sqlite3_errmsg(db_));
    return {};
  }

  // Before anything is made: another program's file must stay as it is. An empty one is free to take.
  Result<void> check_ownership(const std::string& path) {
    Statement tables = TRY(Statement::prepare(
        db_, "select count(*), sum(name in ('meta', 'workload', 'answer', 'skeleton', 'trial'))"
             " from sqlite_master where type = 'table' and name not like 'sqlite_%'"));
    TRYV(tables.step());
    if (tables.integer(0) > 0 && tables.integer(1) < 5)
      return fail("{} is another program's database: nothing in it was changed", path);
    return {};
  }

  Result<void> make_schema(const std::string& path) {
    TRYV(execute(kSchemaText));
    const auto version = TRY(one_text("select value from meta where key = ?", "schema", std::nullopt));
    if (version && *version != fmt::format("{}", kSchemaVersion))
      return fail("{} has schema {}, this Hone reads schema {}", path, *version, kSchemaVersion);
    Statement insert = TRY(Statement::prepare(
        db_, "insert or ignore into meta (key, value) values ('schema', ?)"));
    return insert.bind(fmt::format("{}", kSchemaVersion)).run();
  }

  Result<std::optional<std::string>> one_text(std::string_view sql, const std::string& first,
                                              std::optional<int64_t> second) {
    Statement query = TRY(Statement::prepare(db_, sql));
    query.bind(first);
    if (second) query.bind(*second);
    if (!TRY(query.step())) return std::optional<std::string>();
    return std::optional(query.text(0));
  }

  Result<bool> insert_trial(const TaskKey& key, const Trial& trial);
  Result<int64_t> import_checked(const std::string& text, const std::string& name);

  sqlite3* db_;
};

Result<bool> SqliteDatabase::insert_trial(const TaskKey& key, const Trial& trial) {
  const Outcome& outcome = trial.outcome;
  const std::string skeleton = to_hex(hash_bytes(trial.skeleton));
  Statement open_trace = TRY(
      Statement::prepare(db_, "insert or ignore into skeleton (hash, text) values (?, ?)"));
  TRYV(open_trace.bind(skeleton).bind(trial.skeleton).run());
  const std::string sql = fmt::format(
      "insert into trial (workload, target, fingerprint, device, threads, skeleton, decisions, status,"
      " reason, unit, emulated, samples, score, context, sizes, seconds, created)"
      " values (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
      " on conflict (workload, target, fingerprint, device, threads, skeleton, decisions) do update set"
      " status = excluded.status, reason = excluded.reason, unit = excluded.unit,"
      " emulated = excluded.emulated, samples = excluded.samples, score = excluded.score,"
      " context = excluded.context, sizes = excluded.sizes, seconds = excluded.seconds,"
      " created = excluded.created where trial.status in ({})",
      device_fault_statuses());
  Statement insert = TRY(Statement::prepare(db_, sql));
  const std::string status = status_of(outcome);
  insert.bind(key.workload).bind(key.target).bind(key.fingerprint).bind(key.device)
      .bind(key.threads).bind(skeleton).bind(trial.decisions).bind(status)
      .bind(outcome.failure ? outcome.failure->reason : std::string())
      .bind(to_string(outcome.unit)).bind(int64_t{outcome.emulated}).bind(samples_json(outcome));
  if (status == "ok") {
    insert.bind(score(outcome));
  } else {
    insert.bind_null();
  }
  TRYV(insert.bind(outcome.context.empty() ? "{}" : outcome.context)
           .bind(sizes_json(outcome)).bind(outcome.build_seconds + outcome.run_seconds)
           .bind(trial.created.empty() ? now_utc() : trial.created)
           .run());
  return sqlite3_changes(db_) > 0;
}

Result<std::vector<TrialRow>> SqliteDatabase::trials(const TrialFilter& filter) {
  std::string sql =
      "select t.workload, w.name, t.target, t.fingerprint, t.device, t.threads, s.text, t.decisions,"
      " t.status, t.reason, t.unit, t.emulated, t.samples, t.context, t.sizes, t.seconds, t.created"
      " from trial t join workload w on w.hash = t.workload join skeleton s on s.hash = t.skeleton"
      " where 1";
  if (filter.workload) sql += " and t.workload = ?";
  if (filter.target) sql += " and t.target = ?";
  if (filter.fingerprint) sql += " and t.fingerprint = ?";
  if (filter.device) sql += " and t.device = ?";
  if (filter.threads) sql += " and t.threads = ?";
  sql += filter.winners_only ? " and t.status = 'ok' order by t.score, t.id" : " order by t.id";
  sql += " limit ?";
  Statement query = TRY(Statement::prepare(db_, sql));
  for (const auto* text : {&filter.workload, &filter.target, &filter.fingerprint, &filter.device})
    if (*text) query.bind(**text);
  if (filter.threads) query.bind(*filter.threads);
  query.bind(filter.limit);
  std::vector<TrialRow> rows;
  while (TRY(query.step())) {
    TrialRow row;
    row.key = {query.text(0), query.text(2), query.text(3), query.text(4), query.integer(5)};
    row.workload_name = query.text(1);
    row.trial.skeleton = query.text(6);
    row.trial.decisions = query.text(7);
    row.trial.outcome = TRY(outcome_from_columns(query.text(8), query.text(9), query.text(10),
                                                 query.integer(11) != 0, query.text(12),
                                                 query.text(13), query.text(14), query.real(15)));
    row.trial.created = query.text(16);
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<std::vector<TaskStats>> SqliteDatabase::stats() {
  Statement query = TRY(Statement::prepare(
      db_, "select t.workload, w.name, t.target, t.fingerprint, t.device, t.threads, count(*),"
           " sum(t.status not in ('ok', 'abandoned')), min(t.score), t.unit"
           " from trial t join workload w on w.hash = t.workload"
           " group by t.workload, t.target, t.fingerprint, t.device, t.threads, t.unit"
           " order by w.name, t.target, t.device, t.threads, t.fingerprint"));
  std::vector<TaskStats> rows;
  while (TRY(query.step())) {
    TaskStats row;
    row.key = {query.text(0), query.text(2), query.text(3), query.text(4), query.integer(5)};
    row.workload_name = query.text(1);
    row.trials = query.integer(6);
    row.failures = query.integer(7);
    if (!query.is_null(8)) row.best = query.real(8);
    row.unit = query.text(9);
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<void> SqliteDatabase::export_lines(const std::function<void(const std::string&)>& line) {
  {
    Statement query = TRY(
        Statement::prepare(db_, "select hash, name, text from workload order by hash"));
    while (TRY(query.step()))
      line(workload_json_line(query.text(0), query.text(1), query.text(2)));
  }
  for (const TrialRow& row : TRY(trials({}))) line(to_json_line(row));
  return {};
}

Result<int64_t> SqliteDatabase::import_lines(const std::string& text, const std::string& name) {
  TRYV(execute("begin immediate"));
  auto added = import_checked(text, name);
  if (!added) {
    (void)execute("rollback");
    return added;
  }
  TRYV(execute("commit"));
  return added;
}

Result<int64_t> SqliteDatabase::import_checked(const std::string& text, const std::string& name) {
  int64_t added = 0;
  int64_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto at = [&](const Error& error) {
      return std::unexpected(within(error, "{}:{}", name, number));
    };
    if (is_workload_line(line)) {
      const auto row = workload_from_json(line);
      if (!row) return at(row.error());
      if (auto done = add_workload(row->hash, row->name, row->text); !done) return at(done.error());
      continue;
    }
    const auto row = trial_from_json(line);
    if (!row) return at(row.error());
    if (!TRY(workload_text(row->key.workload)))
      return at(Error{fmt::format("workload {} was not given before its trial", row->key.workload)});
    const auto inserted = insert_trial(row->key, row->trial);
    if (!inserted) return at(inserted.error());
    added += *inserted ? 1 : 0;
  }
  return added;
}

}  // namespace

Result<std::unique_ptr<Database>> open_sqlite(const std::string& path) {
  if (path.empty()) return fail("the database's name is empty, expected a file");
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  // SQLite would take a device or pipe for a file, and put a journal beside it.
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return fail("cannot open database {}: not a file", path);
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX,
                                   nullptr);
  auto database = std::make_unique<SqliteDatabase>(raw);
  if (code != SQLITE_OK) return fail("cannot open database {}: {}", path, sqlite3_errmsg(raw));
  if (auto prepared = database->prepare_file(path); !prepared)
    return std::unexpected(within(prepared.error(), "cannot open database {}", path));
  return database;
}

}  // namespace hone
