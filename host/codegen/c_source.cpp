// SPDX-License-Identifier: Apache-2.0
//
// Kernel statements → C99. A vector statement is a loop over its lanes, registers with lanes are
// small arrays: gcc and clang make vectors of both, and no compiler is asked for more than C99. A
// parallel loop's body is a function that gets what it reads of the code around it through a
// struct.
#include "codegen/c_internal.h"
#include "codegen/codegen.h"
#include "codegen/scan.h"

namespace hone {
namespace {

class CFunctionWriter;

// What the functions of one source share.
struct SourceState {
  const Kernel& kernel;
  CHelpers helpers;
  std::string functions;  // outlined bodies, complete
  int bodies = 0;
};

class CFunctionWriter {
 public:
  explicit CFunctionWriter(SourceState& source)
      : source_(source), kernel_(source.kernel), exprs_(source.helpers) {
    for (int32_t id = 0; id < kernel_.registers.size(); ++id)
      exprs_.name_register(id, fmt::format("r{}", id), kernel_.registers[RegId{id}].lanes);
  }

  void declare_buffers(const std::set<int32_t>& used, const std::set<int32_t>& on_stack,
                       const std::string& worker);
  void declare_registers(const std::set<int32_t>& ids, const std::set<int32_t>& given);
  void body(const KernelBody& statements) {
    for (const KernelStmt& statement : statements) {
      std::visit([&](const auto& node) { emit(node); }, statement.node);
      exprs_.forget();
    }
  }
  std::set<int32_t> bound;  // variables in scope
  std::string out;

 private:
  void line(const std::string& text) { out += indent_ + text + "\n"; }
  void open(const std::string& text) {
    line(text + " {");
    indent_ += "  ";
  }
  void close() {
    indent_.resize(indent_.size() - 2);
    line("}");
  }
  void emit(const KernelFor& loop);
  void emit_parallel(const KernelFor& loop);
  void emit(const KernelIf& branch);
  void emit(const KernelLet& let);
  void emit(const KernelSet& set);
  void emit(const KernelStore& store);
  std::string pointer_type(int32_t id) const {
    const KernelBuffer& buffer = kernel_.buffers[BufferId{id}];
    const bool constant =
        (buffer.space == Space::argument || buffer.space == Space::constants) && !buffer.written;
    return fmt::format("{}{} *", constant ? "const " : "", c_memory_type(buffer.dtype));
  }

  SourceState& source_;
  const Kernel& kernel_;
  CExprWriter exprs_;
  std::string indent_ = "  ";
};

void CFunctionWriter::declare_buffers(const std::set<int32_t>& used,
                                      const std::set<int32_t>& on_stack,
                                      const std::string& worker) {
  for (const int32_t id : used) {
    const KernelBuffer& buffer = kernel_.buffers[BufferId{id}];
    const std::string type = pointer_type(id);
    const std::string note = fmt::format("  /* {} */", buffer.name);
    switch (buffer.space) {
      case Space::argument:
        line(fmt::format("{0}const b{1} = ({0})buffers[{2}];{3}", type, id, buffer.slot, note));
        break;
      case Space::constants:
        line(fmt::format("{0}const b{1} = ({0})(void *)((uint8_t *)buffers[{2}] + {3});{4}", type,
                         id, buffer.slot, buffer.offset, note));
        break;
      case Space::workspace:
        line(fmt::format("{0}const b{1} = ({0})(void *)((uint8_t *)workspace + {2});{3}", type, id,
                         buffer.offset, note));
        break;
      case Space::per_worker:
        line(fmt::format(
            "{0}const b{1} = ({0})(void *)((uint8_t *)workspace + {2} + {3} * {4} + {5});{6}", type,
            id, kernel_.workspace_bytes, worker, kernel_.workspace_bytes_per_worker, buffer.offset,
            note));
        break;
      case Space::stack:
        if (on_stack.contains(id))
          line(
              fmt::format("{} b{}[{}];{}", c_memory_type(buffer.dtype), id, buffer.elements, note));
        else
          continue;  // an outer function's
        break;
    }
    // A parallel body may be all that uses it, and has a name of its own for it.
    line(fmt::format("(void)b{};", id));
  }
}

void CFunctionWriter::declare_registers(const std::set<int32_t>& ids,
                                        const std::set<int32_t>& given) {
  for (const int32_t id : ids) {
    if (given.contains(id)) continue;
    const Register& reg = kernel_.registers[RegId{id}];
    if (reg.lanes > 1)
      line(fmt::format("{} r{}[{}] = {{0}};", c_type(reg.dtype), id, reg.lanes));
    else
      line(fmt::format("{} r{} = 0;", c_type(reg.dtype), id));
    line(fmt::format("(void)r{};", id));
  }
}

void CFunctionWriter::emit(const KernelLet& let) {
  exprs_.write_across(let.value, indent_, out);
  line(fmt::format("const intptr_t v{} = {};", let.var.value, exprs_.index(let.value)));
  bound.insert(let.var.value);
}

void CFunctionWriter::emit(const KernelFor& loop) {
  exprs_.write_across(loop.begin, indent_, out);
  exprs_.write_across(loop.end, indent_, out);
  if (loop.parallel) {
    emit_parallel(loop);
    return;
  }
  const std::string var = fmt::format("v{}", loop.var.value);
  open(fmt::format("for (intptr_t {0} = {1}, {0}_end = {2}; {0} < {0}_end; ++{0})", var,
                   exprs_.index(loop.begin), exprs_.index(loop.end)));
  exprs_.forget();
  bound.insert(loop.var.value);
  body(loop.body);
  close();
}

void CFunctionWriter::emit(const KernelIf& branch) {
  exprs_.write_across(branch.condition, indent_, out);
  open(fmt::format("if ({})", exprs_.value(branch.condition)));
  exprs_.forget();
  body(branch.then_body);
  if (!branch.else_body.empty()) {
    indent_.resize(indent_.size() - 2);
    open("} else");
    body(branch.else_body);
  }
  close();
}

void CFunctionWriter::emit(const KernelSet& set) {
  const int lanes = set.value->lanes;
  line("{");
  indent_ += "  ";
  exprs_.write_across(set.value, indent_, out);
  if (lanes > 1) open(fmt::format("for (int l = 0; l < {}; ++l)", lanes));
  const std::string value = exprs_.shared_value(set.value, indent_, out);
  line(fmt::format("r{}{} = {};", set.reg.value, lanes > 1 ? "[l]" : "", value));
  if (lanes > 1) close();
  close();
}

// A lane may be written where a later lane is read, so values of vectors that come from memory are
// complete before the first is stored.
void CFunctionWriter::emit(const KernelStore& store) {
  const int lanes = store.value->lanes;
  const DType dtype = store.value->dtype;
  line("{");
  indent_ += "  ";
  exprs_.write_across(store.value, indent_, out);
  exprs_.write_across(store.index, indent_, out);
  if (store.mask) exprs_.write_across(store.mask, indent_, out);
  const std::string lane_loop = fmt::format("for (int l = 0; l < {}; ++l)", lanes);
  if (lanes > 1 && reads_memory(store.value)) {
    line(fmt::format("{} all[{}];", c_memory_type(dtype), lanes));
    open(lane_loop);
    const std::string value = exprs_.shared_value(store.value, indent_, out);
    line(fmt::format("all[l] = {};", exprs_.to_memory(value, dtype)));
    close();
    exprs_.forget();
    exprs_.write_across(store.index, indent_, out);
    if (store.mask) exprs_.write_across(store.mask, indent_, out);
    open(lane_loop);
    if (store.mask) line(fmt::format("if ({})", exprs_.value(store.mask)));
    line(fmt::format("{} = all[l];", exprs_.element(store.buffer, store.index, lanes)));
    close();
  } else {
    if (lanes > 1) open(lane_loop);
    if (store.mask) open(fmt::format("if ({})", exprs_.value(store.mask)));
    const std::string value = exprs_.shared_value(store.value, indent_, out);
    line(fmt::format("{} = {};", exprs_.element(store.buffer, store.index, lanes),
                     exprs_.to_memory(value, dtype)));
    if (store.mask) close();
    if (lanes > 1) close();
  }
  close();
}

void CFunctionWriter::emit_parallel(const KernelFor& loop) {
  const std::string name = fmt::format("{}_parallel{}", source_.helpers.prefix(), source_.bodies++);
  const Touched touched = touched_by(loop.body);
  const std::set<int32_t> own = stack_buffers_of(kernel_, &loop);
  CFunctionWriter inner(source_);
  std::string fields = "  void *const *buffers;\n  void *workspace;\n  intptr_t begin;\n";
  std::string fill;
  std::set<int32_t> given;
  const auto pass = [&](const std::string& type, const std::string& what, int lanes) {
    fields += fmt::format("  {}{}{};\n", type, what, lanes > 1 ? fmt::format("[{}]", lanes) : "");
    fill += lanes > 1 ? fmt::format("{}for (int l = 0; l < {}; ++l) context.{}[l] = {}[l];\n",
                                    indent_ + "  ", lanes, what, what)
                      : fmt::format("{}context.{} = {};\n", indent_ + "  ", what, what);
  };
  for (const int32_t id : touched.vars_read) {
    if (!bound.contains(id)) continue;
    pass("intptr_t ", fmt::format("v{}", id), 1);
    inner.line(fmt::format("const intptr_t v{0} = given->v{0};", id));
    inner.bound.insert(id);
  }
  for (const int32_t id : touched.registers_read) {
    if (touched.registers_set.contains(id)) continue;
    const Register& reg = kernel_.registers[RegId{id}];
    pass(c_type(reg.dtype) + " ", fmt::format("r{}", id), reg.lanes);
    inner.line(fmt::format("const {0} *const r{1}_given = {2}given->r{1};", c_type(reg.dtype), id,
                           reg.lanes > 1 ? "" : "&"));
    inner.exprs_.name_register(
        id, reg.lanes > 1 ? fmt::format("r{}_given", id) : fmt::format("*r{}_given", id),
        reg.lanes);
    given.insert(id);
  }
  for (const int32_t id : touched.buffers) {
    if (kernel_.buffers[BufferId{id}].space != Space::stack || own.contains(id)) continue;
    pass(pointer_type(id), fmt::format("b{}", id), 1);
    inner.line(fmt::format("{}const b{} = given->b{};", pointer_type(id), id, id));
  }
  inner.line("void *const *const buffers = given->buffers;");
  inner.line("void *const workspace = given->workspace;");
  inner.line(fmt::format("const intptr_t v{} = given->begin + index;", loop.var.value));
  inner.line("(void)buffers;");
  inner.line("(void)workspace;");
  inner.line("(void)worker;");
  inner.line(fmt::format("(void)v{};", loop.var.value));
  inner.bound.insert(loop.var.value);
  inner.declare_buffers(touched.buffers, own, "worker");
  inner.declare_registers(touched.registers_set, given);
  inner.body(loop.body);
  source_.functions += fmt::format(
      "struct {0}_context {{\n{1}}};\n\n"
      "static void {0}(void *context, intptr_t index, intptr_t worker) {{\n"
      "  const struct {0}_context *const given = (const struct {0}_context *)context;\n{2}}}\n\n",
      name, fields, inner.out);
  line("{");
  out += fmt::format(
      "{0}  struct {1}_context context;\n{0}  const intptr_t begin = {2};\n"
      "{0}  context.buffers = buffers;\n{0}  context.workspace = workspace;\n"
      "{0}  context.begin = begin;\n{3}"
      "{0}  parallel->run(parallel, {1}, &context, {4} - begin);\n{0}}}\n",
      indent_, name, exprs_.index(loop.begin), fill, exprs_.index(loop.end));
}

constexpr const char* kPrologue = R"(#include <stdint.h>

#ifndef HONE_PARALLEL
#define HONE_PARALLEL
struct hone_parallel {
  void (*run)(const struct hone_parallel *self,
              void (*body)(void *context, intptr_t index, intptr_t worker), void *context,
              intptr_t count);
  int32_t threads;
  void *pool;
};
#endif

)";

}  // namespace

Result<CSource> c_source(const Kernel& kernel, const CodegenOptions& options) {
  SourceState state{kernel, CHelpers(options.entry), {}, 0};
  CFunctionWriter entry(state);
  const Touched touched = touched_by(kernel.body);
  entry.declare_buffers(touched.buffers, stack_buffers_of(kernel, nullptr), "0");
  entry.declare_registers(touched.registers_set, {});
  entry.body(kernel.body);
  const std::string signature = fmt::format(
      "void {}(void *const *buffers, void *workspace, const struct hone_parallel *parallel)",
      options.entry);
  return CSource{fmt::format(
      "{}{}{}{};\n\n{} {{\n  (void)buffers;\n  (void)workspace;\n"
      "  (void)parallel;\n{}}}\n",
      kPrologue, state.helpers.text(), state.functions, signature, signature, entry.out)};
}

}  // namespace hone
