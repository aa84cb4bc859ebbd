// SPDX-License-Identifier: Apache-2.0
//
// Files that say what to tune. A .toml file holds [[workload]] tables; any other file is the text
// language and holds one workload, named after the file.
//
//   [[workload]]
//   name = "cbr"          # unique in the file
//   weight = 2.5          # its share when several are tuned together, 1 if left out
//   compute = """…"""     # the text language, or instead:
//   op = "conv2d"         # an operator of the library with its attributes beside it, or:
//   ops = [{op = "conv2d", …}, {op = "bias"}, {op = "relu"}]   # a chain of them
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "frontend/graph.h"

namespace hone {

struct Workload {
  std::string name;
  double weight = 1;
  Graph graph;
};

Result<std::vector<Workload>> load_workloads(const std::string& path);

// The same from a text that was read already; `path` names it in errors.
Result<std::vector<Workload>> parse_workloads_toml(std::string_view text, const std::string& path);

}  // namespace hone
