// SPDX-License-Identifier: Apache-2.0
// The rules behind findings(): one table, each rule a small function. The table names what a rule
// is about, which decides how grave its findings can be:
//
//   elements, trace  as grave as the table says: no rate tells what they cost
//   memory           a hint where the rule calls its finding minor: little memory is at stake
//   rate             a hint unless the bounds with the change are at least 2 % above those without
//                    (gain_per_s); what does not move the optimum is no reason to warn
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/inspection.h"

namespace plumber {

/// What a rule says of some nodes; id and severity come from the table.
struct Remark {
  std::vector<std::string> nodes;
  std::string text;
  std::string evidence;
  std::optional<double> gain_per_s;
  std::string python;  // empty: none
  bool minor = false;
};

enum class About { kElements, kMemory, kRate, kTrace };

struct Rule {
  const char* id;
  About about;
  Severity gravest;
  void (*find)(const Inspection& look, std::vector<Remark>& found);
};

/// In the order of findings.h.
std::span<const Rule> rules();

// Caches (findings_caches.cc).
void find_frozen_content(const Inspection& look, NodeId cache, std::vector<Remark>& found);
void find_frozen_order(const Inspection& look, NodeId cache, std::vector<Remark>& found);
void find_discarded(const Inspection& look, NodeId cache, std::vector<Remark>& found);
void find_names(const Inspection& look, NodeId reader, std::vector<Remark>& found);
void find_gone(const Inspection& look, NodeId cache, std::vector<Remark>& found);

// Buffers and files (findings_buffers.cc, findings_files.cc).
void find_whole_shuffle(const Inspection& look, NodeId shuffle, std::vector<Remark>& found);
void find_grown_shuffle(const Inspection& look, NodeId shuffle, std::vector<Remark>& found);
void find_large_prefetch(const Inspection& look, NodeId prefetch, std::vector<Remark>& found);
void find_constants(const Inspection& look, std::vector<Remark>& found);
void find_grown_files(const Inspection& look, NodeId cache, std::vector<Remark>& found);
void find_page_cache(const Inspection& look, std::vector<Remark>& found);
void find_one_file(const Inspection& look, NodeId reader, std::vector<Remark>& found);
void find_nested_reads(const Inspection& look, NodeId inner, std::vector<Remark>& found);
void find_waiting_reader(const Inspection& look, NodeId reader, std::vector<Remark>& found);

// Shapes and order (findings_shapes.cc, findings_order.cc).
void find_batch_of_batch(const Inspection& look, NodeId batch, std::vector<Remark>& found);
void find_unbatch(const Inspection& look, NodeId unbatch, std::vector<Remark>& found);
void find_legacy(const Inspection& look, std::vector<Remark>& found);
void find_short_epochs(const Inspection& look, std::vector<Remark>& found);
void find_late_choice(const Inspection& look, NodeId chooser, std::vector<Remark>& found);
void find_group_over_repeat(const Inspection& look, NodeId group, std::vector<Remark>& found);
void find_kept_order(const Inspection& look, std::vector<Remark>& found);

// Rate (findings_speed.cc).
void find_sequential(const Inspection& look, std::vector<Remark>& found);
void find_waiting_calls(const Inspection& look, NodeId map, std::vector<Remark>& found);
void find_few_calls(const Inspection& look, std::vector<Remark>& found);
void find_many_calls(const Inspection& look, NodeId parallel, std::vector<Remark>& found);
void find_busy_cores(const Inspection& look, std::vector<Remark>& found);
void find_python(const Inspection& look, std::vector<Remark>& found);
void find_overhead(const Inspection& look, std::vector<Remark>& found);
void find_no_prefetch(const Inspection& look, std::vector<Remark>& found);

}  // namespace plumber
