// SPDX-License-Identifier: Apache-2.0
#include "emit/folder.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "manifest.json";

// Goes away with what is in it, unless it is kept.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(fs::path path) : path_(std::move(path)) {}
  TemporaryFolder(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Result<std::set<std::string>> files_of_manifest(const fs::path& folder) {
  const std::string text = TRY(read_file((folder / kManifest).string()));
  try {
    const auto json = nlohmann::json::parse(text);
    if (json.at("generator") != "hone") return fail("its {} is not Hone's", kManifest);
    return json.at("files").get<std::set<std::string>>();
  } catch (const nlohmann::json::exception&) {
    return fail("its {} is not Hone's", kManifest);
  }
}

Result<void> check_ours(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fail("it is not a folder");
  if (fs::is_empty(folder, error)) return {};
  if (!fs::exists(folder / kManifest, error))
    return fail("it holds files and no {} of Hone's", kManifest);
  const std::set<std::string> ours = TRY(files_of_manifest(folder));
  fs::recursive_directory_iterator walk(folder, error);
  for (; !error && walk != fs::recursive_directory_iterator(); walk.increment(error)) {
    const fs::directory_entry& entry = *walk;
    const std::string path = entry.path().lexically_relative(folder).string();
    const bool plain_folder = entry.is_directory(error) && !entry.is_symlink(error);
    if (!plain_folder && !ours.contains(path))
      return fail("it holds '{}', which Hone did not write", path);
  }
  if (error) return fail("{}", error.message());
  return {};
}

Result<void> write_all_files(const fs::path& folder, const FolderContent& content) {
  for (const auto& [path, text] : content) {
    std::error_code error;
    fs::create_directories((folder / path).parent_path(), error);
    if (error)
      return fail("cannot make {}: {}", (folder / path).parent_path().string(), error.message());
    TRYV(write_file((folder / path).string(), text));
  }
  return {};
}

// Trailing separators would make "the folder beside it" one inside it.
fs::path without_slash(const std::string& folder) {
  const fs::path path = fs::path(folder).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

Result<void> write_folder(const std::string& folder, const FolderContent& content) {
  const fs::path wanted = fs::absolute(without_slash(folder));
  std::error_code error;
  const bool there = fs::exists(fs::symlink_status(wanted, error));
  if (there)
    if (const auto ours = check_ours(wanted); !ours)
      return fail("{} is not replaced: {}", folder, ours.error().message);
  fs::create_directories(wanted.parent_path(), error);
  const TemporaryFolder temporary(fmt::format("{}.new-{}", wanted.string(), getpid()));
  fs::create_directory(temporary.path(), error);
  if (error) return fail("cannot make {}: {}", temporary.path().string(), error.message());
  TRYV(write_all_files(temporary.path(), content));
  // Exchanged, the temporary name has the old content, which goes away with it.
  const unsigned flags = there ? RENAME_EXCHANGE : RENAME_NOREPLACE;
  if (renameat2(AT_FDCWD, temporary.path().c_str(), AT_FDCWD, wanted.c_str(), flags) != 0)
    return fail("cannot put {} in its place: {}", folder, std::strerror(errno));
  return {};
}

}  // namespace hone
