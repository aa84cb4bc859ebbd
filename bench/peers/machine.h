// SPDX-License-Identifier: Apache-2.0
//
// What a comparison must know of and do to the machine that it runs on: a clean environment,
// threads that stay on their cores, and the two limits that speeds are a part of.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace hone::bench {

// Replaces the process by itself with an environment in which OpenBLAS chooses its kernel by the
// CPU it finds (its settings are read when the library is loaded, before main) and starts `threads`
// threads. Returns when the environment already is that one.
Result<void> start_clean(char** argv, int threads);

// Puts the calling thread on the first usable core and the process's other threads in turn on
// the next `threads - 1`. The libraries start their workers at their first run and without a
// handle to them, so call this after each case has run once.
Result<void> pin_threads(int threads);

// The libraries' idle workers spin for some milliseconds before they sleep; with more than one
// thread they would take a core from the next library.
void let_idle_workers_sleep();

// Multiply-adds of the widest vectors that the CPU has, from registers only.
Result<double> fma_peak_gflops(int threads);

// Gigabytes a second that one core reads in order from a working set of this size.
double read_bandwidth_gbs(int64_t bytes);

}  // namespace hone::bench
