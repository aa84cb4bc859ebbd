// SPDX-License-Identifier: Apache-2.0
//
// Kernels as text. Sections of a case: `program`, scheduled; `target`, a name of lowering.h; then
// `kernel` (and `constants`, the Kernel that makes them) or `error`. Each Kernel also has to
// compute what its Program computes.
#include <doctest/doctest.h>

#include "base/text.h"
#include "case_file.h"
#include "ir/verify.h"
#include "lowering.h"

namespace hone::test {
namespace {

std::string without_last_blank_lines(std::string text) {
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

void run_case(const TextCase& one) {
  CAPTURE(one.title);
  std::string name = one.sections.at("target");
  name.resize(name.find_last_not_of('\n') + 1);
  const TargetShape* shape = nullptr;
  for (const TargetShape& known : kTargetShapes)
    if (name == known.name) shape = &known;
  REQUIRE_MESSAGE(shape != nullptr, "unknown target ", name);
  const Result<Program> program = parse_program(one.sections.at("program"), one.title);
  REQUIRE_MESSAGE(program.has_value(), program.error().message);
  const Result<void> sound = verify(*program);
  REQUIRE_MESSAGE(sound.has_value(), sound.error().message);

  const Result<Kernel> kernel = lower(*program, target_of(*shape), {});
  if (!kernel) {
    REQUIRE_MESSAGE(one.sections.contains("error"), kernel.error().message);
    CHECK(kernel.error().message + "\n" == without_last_blank_lines(one.sections.at("error")));
    return;
  }
  const Result<Kernel> constants = lower_constants(*program, target_of(*shape), {});
  REQUIRE_MESSAGE(constants.has_value(), constants.error().message);
  REQUIRE(one.sections.contains("constants") == (kernel->constants_bytes > 0));
  if (one.sections.contains("constants"))
    CHECK(print(*constants) == without_last_blank_lines(one.sections.at("constants")));
  const std::string text = print(*kernel);
  if (!one.sections.contains("kernel")) {
    FAIL_CHECK("a kernel came out:\n" << text);
    return;
  }
  CHECK(text == without_last_blank_lines(one.sections.at("kernel")));
  const Result<void> well_formed = verify(*kernel);
  CHECK_MESSAGE(well_formed.has_value(), well_formed.error().message);
  Rng rng(1);
  const Result<void> right =
      check_lowered(*program, *constants, *kernel, random_inputs(*program, rng));
  CHECK_MESSAGE(right.has_value(), right.error().message);
}

void run_file(const std::string& name, size_t at_least) {
  const Result<std::string> text =
      read_file(std::string(HONE_SOURCE_DIR) + "/tests/cases/lower/" + name + ".case");
  REQUIRE(text.has_value());
  const std::vector<TextCase> cases = parse_cases(*text);
  CHECK(cases.size() >= at_least);
  for (const TextCase& one : cases) run_case(one);
}

}  // namespace

TEST_CASE("register tiles and their tails") { run_file("tiles", 6); }
TEST_CASE("operators") { run_file("operators", 5); }
TEST_CASE("constants") { run_file("constants", 2); }
TEST_CASE("refusals") { run_file("refusals", 5); }

}  // namespace hone::test
