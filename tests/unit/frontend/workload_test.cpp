// SPDX-License-Identifier: Apache-2.0
#include "frontend/workload.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "frontend/operators.h"
#include "frontend/tasks.h"
#include "ir/text.h"

namespace hone {
namespace {

std::vector<std::string> toml_files(const std::string& folder) {
  std::vector<std::string> files;
  const std::filesystem::path root = std::filesystem::path(HONE_SOURCE_DIR) / folder;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

void check_fixpoint(const Graph& graph) {
  const std::string text = print(graph);
  const auto again = parse_graph({text, "printed", 1});
  REQUIRE_MESSAGE(again.has_value(), again.error().message);
  CHECK(print(*again) == text);
  CHECK(hash_of(*again) == hash_of(graph));
}

TEST_CASE("every workload file loads, prints to a fixpoint and becomes a task") {
  size_t count = 0;
  for (const std::string folder : {"bench/workloads", "examples"})
    for (const std::string& file : toml_files(folder)) {
      CAPTURE(file);
      const auto workloads = load_workloads(file);
      REQUIRE_MESSAGE(workloads.has_value(), workloads.error().message);
      for (const Workload& workload : *workloads) {
        ++count;
        check_fixpoint(workload.graph);
        const auto task = make_task(workload);
        REQUIRE_MESSAGE(task.has_value(), task.error().message);
        CHECK(task->operations.nominal > 0);
        CHECK(task->operations.useful <= task->operations.nominal);
        CHECK(task->program.buffers.size() == workload.graph.tensors.size());
        const auto program = parse_program(print(task->program), "printed");
        REQUIRE_MESSAGE(program.has_value(), program.error().message);
        CHECK(equal(*program, task->program));
        CHECK(task->check.exact ==
              (task->check.tolerance.relative == 0 && task->check.tolerance.of_largest == 0));
      }
    }
  CHECK(count >= 44 + 8 + 3);
}

TEST_CASE("a TOML file holds several workloads with weights") {
  const auto workloads = parse_workloads_toml(R"toml(
[[workload]]
name = "first.one"
weight = 2.5
op = "matmul"
m = 3
n = 4
k = 5
[[workload]]
name = "second"
weight = 3
compute = "output Y[i:4] = f32(i)"
[[workload]]
name = "third"
compute = """input X: f32[4]
output Y[i] = X[i]"""
)toml",
                                              "w.toml");
  REQUIRE_MESSAGE(workloads.has_value(), workloads.error().message);
  REQUIRE(workloads->size() == 3);
  CHECK(workloads->at(0).name == "first.one");
  CHECK(workloads->at(0).weight == 2.5);
  CHECK(workloads->at(1).weight == 3);
  CHECK(print(workloads->at(1).graph) == "output Y[i:4] = f32(i)\n");
  CHECK(workloads->at(2).weight == 1);
  CHECK(print(workloads->at(2).graph) == "input X: f32[4]\noutput Y[i:4] = X[i]\n");
}

TEST_CASE("a file that is not TOML is text of the language") {
  const std::string path = std::string(HONE_BINARY_DIR) + "/7-row sums.hone";
  REQUIRE(write_file(path, "input X: f32[4, 5]\noutput S[i] = sum(j) X[i, j]\n").has_value());
  const auto workloads = load_workloads(path);
  REQUIRE_MESSAGE(workloads.has_value(), workloads.error().message);
  CHECK(workloads->at(0).name == "w7_row_sums");
  CHECK(print(workloads->at(0).graph) == "input X: f32[4, 5]\noutput S[i:4] = sum(j:5) X[i, j]\n");

  REQUIRE(write_file(path, "input X: f32[4\n").has_value());
  CHECK(load_workloads(path).error().message ==
        path + ":2:1: expected ',' or ']', found the end of the text");
  std::filesystem::remove(path);
  CHECK(load_workloads(path).error().message ==
        "cannot read " + path + ": No such file or directory");
}

// The texts between ```LANGUAGE and ``` of a document.
std::vector<std::string> fenced(const std::string& document, const std::string& language) {
  std::vector<std::string> blocks;
  bool inside = false;
  for (const std::string_view line : split_lines(document)) {
    if (line.starts_with("```")) {
      inside = !inside && line.substr(3) == language;
      if (inside) blocks.emplace_back();
    } else if (inside) {
      blocks.back() += std::string(line) + "\n";
    }
  }
  return blocks;
}

TEST_CASE("the examples of the documentation hold") {
  const auto document = read_file(std::string(HONE_SOURCE_DIR) + "/docs/text-language.md");
  REQUIRE(document.has_value());
  const auto texts = fenced(*document, "hone");
  CHECK(texts.size() >= 4);
  for (const std::string& text : texts) {
    const auto graph = parse_graph({text, "docs/text-language.md", 1});
    REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
    check_fixpoint(*graph);
  }
  const auto files = fenced(*document, "toml");
  REQUIRE(files.size() == 1);
  const auto workloads = parse_workloads_toml(files[0], "docs/text-language.md");
  REQUIRE_MESSAGE(workloads.has_value(), workloads.error().message);
  CHECK(workloads->size() == 3);
  for (const Operator& row : operators())
    CHECK(document->find(fmt::format("`{}`", row.name)) != std::string::npos);
  for (const PointFunction& row : point_functions())
    CHECK(document->find(std::string(row.name)) != std::string::npos);
}

TEST_CASE("names of tensors and axes count in the hash, the workload's name does not") {
  const auto hash = [](std::string_view text) { return hash_of(*parse_graph({text, "t", 1})); };
  const uint64_t one = hash("input X: f32[4]\noutput Y[i] = X[i]");
  CHECK(one == hash("# same\ninput X : f32 [ 4 ]\n\noutput Y[i:4]=X[i]  # layout\n"));
  CHECK(one != hash("input A: f32[4]\noutput Y[i] = A[i]"));
  CHECK(one != hash("input X: f32[4]\noutput Y[j] = X[j]"));
  CHECK(one != hash("param X: f32[4]\noutput Y[i] = X[i]"));
  CHECK(one != hash("input X: f32[5]\noutput Y[i] = X[i]"));
}

TEST_CASE("each operator has a row that can be shown") {
  for (const Operator& row : operators()) {
    CAPTURE(std::string(row.name));
    CHECK(!row.doc.empty());
    for (const Parameter& parameter : row.parameters) CHECK(!parameter.doc.empty());
  }
  for (const PointFunction& function : point_functions()) {
    const auto graph = graph_of_operators({{std::string(function.name),
                                            "f",
                                            {1, 1},
                                            {{"shape", std::vector<int64_t>{2, 3}, {1, 1}}}}});
    REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
    check_fixpoint(*graph);
  }
}

TEST_CASE("a long chain keeps its names apart") {
  std::vector<OperatorCall> chain = {
      {"relu", "f", {1, 1}, {{"shape", std::vector<int64_t>{2, 3}, {1, 1}}}}};
  for (int i = 0; i < 8; ++i) chain.push_back({"relu", "f", {1, 1}, {}});
  chain.push_back({"relu6", "f", {1, 1}, {}});
  const auto graph = graph_of_operators(chain);
  REQUIRE_MESSAGE(graph.has_value(), graph.error().message);
  check_fixpoint(*graph);
}

}  // namespace
}  // namespace hone
