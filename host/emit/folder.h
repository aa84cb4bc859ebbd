// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace hone {

// Path below the folder → content.
using FolderContent = std::map<std::string, std::string>;

// The folder holds exactly this afterwards; readers see what was there before or all of this. What
// is there may only be an earlier emit: a manifest.json of ours, and no file that it does not list.
Result<void> write_folder(const std::string& folder, const FolderContent& content);

}  // namespace hone
