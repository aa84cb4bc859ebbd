// SPDX-License-Identifier: Apache-2.0
#include "emit/folder.h"

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <doctest/doctest.h>

#include "base/text.h"

using namespace hone;
namespace fs = std::filesystem;

namespace {

struct Scratch {
  fs::path path = fs::temp_directory_path() / fmt::format("hone-emit-folder-{}", getpid());
  Scratch() { fs::create_directories(path); }
  ~Scratch() { fs::remove_all(path); }
  std::string at(const char* name) const { return (path / name).string(); }
};

FolderContent content(const std::string& text) {
  return {{"lib/a", text},
          {"manifest.json", R"({"generator": "hone", "files": ["lib/a", "manifest.json"]})"}};
}

std::string complaint(const std::string& folder) {
  const auto done = write_folder(folder, content("new"));
  return done ? "" : done.error().message;
}

void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace

TEST_CASE("a folder appears, is replaced, and nothing else is left behind") {
  const Scratch scratch;
  const std::string folder = scratch.at("deep/er/out");
  REQUIRE(write_folder(folder + "/", content("one")));
  CHECK(read_file(folder + "/lib/a") == "one");
  FolderContent other = content("two");
  other.erase("lib/a");
  other["src/b"] = "two";
  REQUIRE(write_folder(folder, other));
  CHECK(read_file(folder + "/src/b") == "two");
  CHECK_FALSE(fs::exists(folder + "/lib"));
  const fs::directory_iterator all(scratch.at("deep/er"));
  CHECK(std::distance(begin(all), end(all)) == 1);
}

TEST_CASE("an empty folder is taken") {
  const Scratch scratch;
  fs::create_directory(scratch.at("out"));
  CHECK(complaint(scratch.at("out")) == "");
}

TEST_CASE("what Hone did not write is not replaced") {
  const Scratch scratch;
  const std::string out = scratch.at("out");
  const std::string head = out + " is not replaced: ";
  put(out, "a file");
  CHECK(complaint(out) == head + "it is not a folder");
  fs::remove(out);
  fs::create_directory(out);
  put(out + "/thesis.tex", "years of work");
  CHECK(complaint(out) == head + "it holds files and no manifest.json of Hone's");
  put(out + "/manifest.json", "{}");
  CHECK(complaint(out) == head + "its manifest.json is not Hone's");
  put(out + "/manifest.json", R"({"generator": "hone", "files": ["manifest.json"]})");
  CHECK(complaint(out) == head + "it holds 'thesis.tex', which Hone did not write");
  CHECK(read_file(out + "/thesis.tex") == "years of work");
  fs::remove(out + "/thesis.tex");
  CHECK(complaint(out) == "");
}
