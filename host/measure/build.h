// SPDX-License-Identifier: Apache-2.0
//
// Building a candidate: scheduled Program → Kernel → object → image, and the limits of the target
// that only finished code can be held against.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/result.h"
#include "codegen/codegen.h"
#include "measure/outcome.h"
#include "target/target.h"

namespace hone {

struct BuildRequest {
  std::string program;        // text of the scheduled Program
  uint64_t load_address = 0;  // where the device loads images
  bool optimize = true;
};

struct Built {
  Image image;
  int64_t text_bytes = 0;
  int64_t rodata_bytes = 0;
  int64_t stack_bytes = 0;
  int64_t constants_bytes = 0;
  int64_t workspace_bytes = 0;
  int64_t workspace_bytes_per_worker = 0;
  uint64_t object_hash = 0;
  double seconds = 0;
};

using BuildResult = std::variant<Built, Failure>;

// In this process. `constraint` when lowering refuses the schedule or the code passes a limit of
// the target, `build` when the code generator fails.
BuildResult build(const BuildRequest& request, const Target& target);

// The same as bytes (CBOR), for a worker's pipe.
std::string encode(const BuildRequest& request);
Result<BuildRequest> decode_request(const std::string& bytes);
std::string encode(const BuildResult& result);
Result<BuildResult> decode_result(const std::string& bytes);

}  // namespace hone
