// SPDX-License-Identifier: Apache-2.0
#include "frontend/workload.h"

#include <cctype>
#include <filesystem>

#include "base/text.h"

namespace hone {
namespace {

// The file's name without its ending, as a word.
std::string name_of(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0)
    name = "w" + name;
  return name;
}

}  // namespace

Result<std::vector<Workload>> load_workloads(const std::string& path) {
  const std::string text = TRY(read_file(path));
  if (path.ends_with(".toml")) return parse_workloads_toml(text, path);
  Workload workload;
  workload.name = name_of(path);
  workload.graph = TRY(parse_graph({text, path, 1}));
  return std::vector<Workload>{std::move(workload)};
}

}  // namespace hone
