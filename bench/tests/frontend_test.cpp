// SPDX-License-Identifier: Apache-2.0
//
// The comparison and Hone read the same files with readers of their own: they must see the same
// tensors, or a ratio would compare two different computations.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "frontend/workload.h"
#include "peers/case_toml.h"

using namespace hone;

namespace {

int64_t elements(const Tensor& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<>());
}

std::vector<std::string> workload_files() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(HONE_SOURCE_DIR "/bench/workloads"))
    if (entry.path().extension() == ".toml") files.push_back(entry.path().string());
  for (const char* example : {"matmul", "conv_bias_relu"})
    files.push_back(std::string(HONE_SOURCE_DIR "/examples/") + example + ".toml");
  return files;
}

}  // namespace

TEST_CASE("the frontend and the comparison see the same tensors in every workload file") {
  for (const std::string& file : workload_files()) {
    CAPTURE(file);
    const auto cases = bench::load_cases(file);
    const auto workloads = load_workloads(file);
    REQUIRE_MESSAGE(cases, (cases ? "" : cases.error().message));
    REQUIRE_MESSAGE(workloads, (workloads ? "" : workloads.error().message));
    REQUIRE(cases->size() == workloads->size());
    for (size_t i = 0; i < cases->size(); ++i) {
      CHECK((*cases)[i].name == (*workloads)[i].name);
      std::vector<int64_t> given;
      int64_t constants = 0, output = 0;
      for (const Tensor& tensor : (*workloads)[i].graph.tensors) {
        if (tensor.role != TensorRole::computed) given.push_back(elements(tensor));
        if (tensor.role == TensorRole::param) ++constants;
        if (tensor.output) output = elements(tensor);
      }
      const bench::Shape& shape = (*cases)[i].shape;
      const std::vector<int64_t> sizes = bench::input_sizes(shape);
      CHECK(output == bench::output_size(shape));
      // A batch norm's scale and offset are folded here, so the frontend may have more of them.
      REQUIRE(given.size() >= sizes.size());
      CHECK(std::equal(sizes.begin(), sizes.end(), given.begin()));
      if (const auto* matmul = std::get_if<bench::Matmul>(&shape))
        CHECK(matmul->constant_b == (constants > 0));
    }
  }
}

TEST_CASE("the frontend reads every example") {
  size_t read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HONE_SOURCE_DIR "/examples")) {
    if (entry.path().extension() != ".toml") continue;
    const auto workloads = load_workloads(entry.path().string());
    CHECK_MESSAGE(workloads, (workloads ? "" : workloads.error().message));
    ++read;
  }
  CHECK(read >= 3);
}
