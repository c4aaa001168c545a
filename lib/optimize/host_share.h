// SPDX-License-Identifier: Apache-2.0
// What each of several equal processes on one host may use (data-parallel training: one process an
// accelerator, each with an input pipeline of its own):
//
//   cores, memory   of the host / processes
//   disk            all read at once: a process with k readers gets r_d(n k) / n bytes/s
#pragma once

#include "optimize/optimize.h"

namespace plumber {

Limits share_of_host(const Limits& host, double processes);

}  // namespace plumber
