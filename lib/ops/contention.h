// SPDX-License-Identifier: Apache-2.0
// A thread beside busy cores. When one thread has nearly as much to do in a period as all cores
// together, it does not find a free core at once whenever more calls than usual happen to run, and
// what it loses then it never makes up:
//
//   period = (thread^k + cores^k)^(1/k)      k = 2.6 sqrt(N) / (1 - 2/N)^2
//
// thread, cores: what either needs alone, s per root element. How many of N cores are busy varies
// by about sqrt(N), so that the two must be the closer the larger N is. By simulation of calls of
// log-normal length (sigma 0.5) it is 1.05 to 1.07 times the larger one with both equal on 16
// cores, 1.03 on 64, and 1.02 with one a tenth less on 16: the formula gives 1.05, 1.03, 1.02. On
// two cores nothing is added, because constants measured there hold it already; from there on it
// grows so slowly that no core more makes a pipeline slower.
#pragma once

namespace plumber {

double beside_busy_cores_s(double thread_s, double cores_s, double cores);

}  // namespace plumber
