// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "store/database.h"

namespace hone {

// Opens a database that must be there: reading commands do not make an empty one by a slip of a name.
inline Result<std::unique_ptr<Database>> open_existing(const std::string& path) {
  if (!std::filesystem::exists(path)) return fail("there is no database {}", path);
  return open_sqlite(path);
}

}  // namespace hone
