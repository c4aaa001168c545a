// SPDX-License-Identifier: Apache-2.0
// Elements of one epoch, n_i: one pass of everything below the outermost repeat (design §3).
//
// By the program where it tells: ranges, slices, take, skip, repeat, batch, zip, concatenate, ...
// Sources that read a list of files: n = n_list * records a file, by the bytes of the files
// (file_records.h), else, in the model dialect, counted elements / files opened, of which those
// that are still open count half, else V_i / V_list. Elsewhere (filter, unbatch, window, group) n_i
// = n_input * V_i / V_input. A node inside a function counts all its iterators: n_i = n_outer * V_i
// / V_outer.
//
// A pass above an infinite repeat is infinite; where nothing tells, the number is unknown.
#pragma once

#include "ops/analysis.h"
#include "pipeline/pipeline.h"

namespace plumber {

PerNode<Cardinality> elements_per_epoch(const Pipeline& pipeline,
                                        const PerNode<double>& visit_ratios);

/// M_i = n_i b_i: bytes of one epoch; nullopt where n_i is not a known number or b_i was
/// not counted.
std::optional<double> materialized_bytes(const Cardinality& elements, double bytes_per_element);

}  // namespace plumber
