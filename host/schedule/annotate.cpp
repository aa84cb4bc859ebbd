// SPDX-License-Identifier: Apache-2.0
//
//   annotate b "rule" 3:   block b   -->   block b  with rule=3
//
// A remark for whoever reads the Program next; the meaning of the Program does not depend on it.
#include <algorithm>

#include "ir/expr_text.h"
#include "schedule/legality.h"
#include "schedule/primitives.h"

namespace hone {

Result<void> annotate(Program& program, Node node, const std::string& key, int64_t value) {
  if (node.loop.valid()) TRYV(check_alive(program, node.loop));
  if (!is_name(key)) return fail("annotation key \"{}\" is not a name", key);
  std::vector<Annotation>& annotations = node.loop.valid() ? program.loops[node.loop].annotations
                                                           : program.blocks[node.block].annotations;
  const auto found = std::find_if(annotations.begin(), annotations.end(),
                                  [&](const Annotation& entry) { return entry.key == key; });
  if (found != annotations.end()) {
    found->value = value;
  } else {
    annotations.push_back(Annotation{key, value});
  }
  return {};
}

}  // namespace hone
