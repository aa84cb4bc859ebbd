// SPDX-License-Identifier: Apache-2.0
//
// Strong ids and the tables they index. A LoopId cannot be passed where a BlockId is meant, copying
// a table copies a vector, and an id stays good when other rows are added. Rows are never removed;
// an owner that deletes things marks the row dead.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"

namespace hone {

template <typename Tag>
struct Id {
  int32_t value = -1;

  bool valid() const { return value >= 0; }
  auto operator<=>(const Id&) const = default;
};

template <typename IdType, typename Row>
class Table {
 public:
  IdType add(Row row) {
    rows_.push_back(std::move(row));
    return IdType{static_cast<int32_t>(rows_.size() - 1)};
  }

  Row& operator[](IdType id) {
    ENSURE(contains(id));
    return rows_[static_cast<size_t>(id.value)];
  }
  const Row& operator[](IdType id) const {
    ENSURE(contains(id));
    return rows_[static_cast<size_t>(id.value)];
  }

  bool contains(IdType id) const { return id.value >= 0 && id.value < size(); }
  int32_t size() const { return static_cast<int32_t>(rows_.size()); }

  auto begin() { return rows_.begin(); }
  auto end() { return rows_.end(); }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }

 private:
  std::vector<Row> rows_;
};

}  // namespace hone

template <typename Tag>
struct std::hash<hone::Id<Tag>> {
  size_t operator()(hone::Id<Tag> id) const { return static_cast<size_t>(id.value); }
};
