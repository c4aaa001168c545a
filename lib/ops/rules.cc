// SPDX-License-Identifier: Apache-2.0
#include "ops/rules.h"

namespace plumber {
namespace {

using AtNode = void (*)(const Inspection& look, NodeId n, std::vector<Remark>& found);

template <AtNode find>
void each(const Inspection& look, std::vector<Remark>& found) {
  for (std::size_t i = 0; i < look.pipeline.size(); ++i) find(look, static_cast<NodeId>(i), found);
}

constexpr Severity kWarning = Severity::kWarning, kHint = Severity::kHint;

constexpr Rule kRules[] = {
    {"augmentation-frozen", About::kElements, kWarning, each<find_frozen_content>},
    {"order-frozen", About::kElements, kWarning, each<find_frozen_order>},
    {"cache-discarded", About::kRate, kWarning, each<find_discarded>},
    {"cache-of-names", About::kRate, kWarning, each<find_names>},
    {"cache-producers-gone", About::kTrace, kWarning, each<find_gone>},
    {"cache-larger-than-files", About::kMemory, kHint, each<find_grown_files>},
    {"shuffle-whole-epoch", About::kMemory, kWarning, each<find_whole_shuffle>},
    {"shuffle-after-growth", About::kMemory, kWarning, each<find_grown_shuffle>},
    {"prefetch-large", About::kMemory, kWarning, each<find_large_prefetch>},
    {"large-constants", About::kMemory, kWarning, find_constants},
    {"batch-of-batch", About::kElements, kWarning, each<find_batch_of_batch>},
    {"unbatch-of-batch", About::kRate, kWarning, each<find_unbatch>},
    {"late-choice", About::kRate, kWarning, each<find_late_choice>},
    {"group-over-repeat", About::kElements, kHint, each<find_group_over_repeat>},
    {"order-kept", About::kRate, kHint, find_kept_order},
    {"one-file", About::kRate, kHint, each<find_one_file>},
    {"nested-parallel-reads", About::kRate, kHint, each<find_nested_reads>},
    {"page-cache", About::kTrace, kHint, find_page_cache},
    {"many-calls", About::kRate, kHint, each<find_many_calls>},
    {"legacy-op", About::kTrace, kHint, find_legacy},
    {"short-epochs", About::kTrace, kHint, find_short_epochs},
    {"sequential-op", About::kRate, kHint, find_sequential},
    {"waiting-calls", About::kRate, kWarning, each<find_waiting_calls>},
    {"few-calls", About::kRate, kHint, find_few_calls},
    {"cores-busy", About::kRate, kHint, find_busy_cores},
    {"python-lock", About::kRate, kWarning, find_python},
    {"per-element-overhead", About::kRate, kWarning, find_overhead},
    {"latency-bound-source", About::kRate, kWarning, each<find_waiting_reader>},
    {"prefetch-missing", About::kRate, kHint, find_no_prefetch},
};

}  // namespace

std::span<const Rule> rules() { return kRules; }

}  // namespace plumber
