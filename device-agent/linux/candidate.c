// SPDX-License-Identifier: Apache-2.0
//
// The forked process in which a candidate runs. It pauses itself after the checked run; the agent
// looks at the outputs and lets it go on. All it leaves is the shared record and the buffers.
#include "linux.h"

enum { PR_SET_PDEATHSIG = 1 };

static int self;

static void pause_for_check(void) {
  // Stops every thread, and the agent learns of it as it learns of an end: by SIGCHLD.
  syscall3(SYS_tgkill, self, self, SIGSTOP);
}

static _Noreturn void end(int code) {
  for (;;) syscall1(SYS_exit_group, code);
}

static _Noreturn void cannot_start(struct hone_record* record, long error) {
  record->trouble = error < 0 ? (int32_t)-error : 12;
  end(1);
}

static uint32_t current_core(void) {
  uint32_t core = 0;
  syscall3(SYS_getcpu, (long)&core, 0, 0);
  return core;
}

static void leave_the_agent(int agent_pid, struct hone_record* record) {
  syscall2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (syscall0(SYS_getppid) != agent_pid) end(1);
  syscall2(SYS_setpgid, 0, 0);
  // The line to the host is not the candidate's to write to.
  for (int fd = 0; fd < 3; ++fd) syscall1(SYS_close, fd);
  const uint64_t no_signals = 0;
  syscall4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, (long)&no_signals, 0, sizeof no_signals);
  watch_signals(record);
  if (!use_signal_stack()) cannot_start(record, 0);
}

static void load_image(const struct hone_run* run) {
  const struct hone_facts* facts = port_facts();
  uint8_t* region = (uint8_t*)(uintptr_t)facts->load_address;
  const size_t page = facts->page_bytes;
  const size_t bytes = (run->image_bytes + (size_t)run->bss_bytes + page - 1) & ~(page - 1);
  // Private and never touched in the agent, so it is all zero. The rest of the region stays closed.
  const long error =
      syscall3(SYS_mprotect, (long)region, (long)bytes, PROT_READ | PROT_WRITE | PROT_EXEC);
  if (error < 0) cannot_start(run->record, error);
  __builtin_memcpy(region, run->image, run->image_bytes);
  synchronize_code(region, run->image_bytes);
}

static void prepare_buffers(const struct hone_run* run) {
  for (uint16_t i = 0; i < run->buffer_count; ++i) {
    const struct hone_buffer* buffer = &run->buffers[i];
    if (buffer->role == HONE_OUTPUT) {
      hone_poison(buffer->start, buffer->dtype, buffer->bytes);
    } else {
      syscall3(SYS_mprotect, (long)buffer->zone, (long)buffer->zone_bytes, PROT_READ);
    }
  }
  hone_poison(run->constants.start, HONE_F32, run->constants.bytes);
  hone_poison(run->workspace.start, HONE_F32, run->workspace.bytes);
}

_Noreturn void become_candidate(const struct hone_run* run, int agent_pid) {
  struct hone_record* record = run->record;
  self = (int)syscall0(SYS_getpid);
  leave_the_agent(agent_pid, record);
  load_image(run);
  prepare_buffers(run);
  const struct hone_parallel* parallel = start_threads(run);
  if (!parallel) cannot_start(record, 0);
  limit_resources(run);
  record->sandboxed = filter_system_calls();
  record->core_before = current_core();
  const uintptr_t image = (uintptr_t)port_facts()->load_address;
  const bool prepares = run->prepare_offset != HONE_NO_PREPARE;
  hone_take_samples(run, prepares ? (hone_entry)(image + run->prepare_offset) : NULL,
                    (hone_entry)(image + run->entry_offset), parallel, pause_for_check);
  record->core_after = current_core();
  end(0);
}
