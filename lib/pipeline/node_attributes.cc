// SPDX-License-Identifier: Apache-2.0
#include "pipeline/node_attributes.h"

#include <limits>

namespace plumber {
namespace {

using tensorflow::NodeDef;

const tensorflow::AttrValue* attribute(const NodeDef& def, const char* name) {
  const auto found = def.attr().find(name);
  return found == def.attr().end() ? nullptr : &found->second;
}

bool flag(const NodeDef& def, const char* name, bool absent) {
  const auto* value = attribute(def, name);
  return value && value->value_case() == tensorflow::AttrValue::kB ? value->b() : absent;
}

// First dimension of a TensorSlice's first component.
std::optional<std::int64_t> slices(const GraphScope& scope, const NodeDef& def) {
  const NodeDef* component = scope.input(def, 0);
  if (!component || component->op() != "Const") return std::nullopt;
  const auto* value = attribute(*component, "value");
  if (!value || value->tensor().tensor_shape().dim_size() == 0) return std::nullopt;
  return value->tensor().tensor_shape().dim(0).size();
}

std::optional<std::int64_t> range_length(const GraphScope& scope, const NodeDef& def) {
  const auto start = scope.integer(def, 0), stop = scope.integer(def, 1),
             step = scope.integer(def, 2);
  if (!start || !stop || !step || *step == 0) return std::nullopt;
  const double length =
      (static_cast<double>(*stop) - static_cast<double>(*start)) / static_cast<double>(*step);
  if (!(length > 0)) return 0;
  if (length >= 0x1p63) return std::numeric_limits<std::int64_t>::max();  // enumerate()
  const auto whole = static_cast<std::int64_t>(length);
  return static_cast<double>(whole) < length ? whole + 1 : whole;
}

std::optional<std::int64_t> source_elements(const GraphScope& scope, const NodeDef& def) {
  if (def.op() == "TensorSliceDataset") return slices(scope, def);
  if (def.op() == "TensorDataset") return 1;
  if (def.op() == "RangeDataset") return range_length(scope, def);
  return std::nullopt;
}

// Strings packed into tensor_content: all lengths as varints, then all characters. A damaged
// content gives none.
std::vector<std::string> packed_strings(const tensorflow::TensorProto& tensor) {
  const std::string& bytes = tensor.tensor_content();
  std::int64_t count = 1;
  for (const auto& dim : tensor.tensor_shape().dim()) count = dim.size();
  std::vector<std::size_t> lengths;
  std::size_t at = 0, length = 0;
  int shift = 0;
  while (at < bytes.size() && static_cast<std::int64_t>(lengths.size()) < count && shift < 63) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    length |= static_cast<std::size_t>(byte & 0x7F) << shift;
    shift += 7;
    if (byte >= 0x80) continue;
    lengths.push_back(length);
    length = 0, shift = 0;
  }
  std::vector<std::string> strings;
  for (const std::size_t size : lengths) {
    if (size > bytes.size() - at) return {};
    strings.push_back(bytes.substr(at, size));
    at += size;
  }
  return strings;
}

void read_file_names(const GraphScope& scope, const NodeDef& def, Node& node) {
  const bool lists_files = def.op() == "TensorSliceDataset" || node.kind == Kind::kFileSource;
  const NodeDef* names = lists_files ? scope.input(def, 0) : nullptr;
  if (!names || names->op() != "Const") return;
  const auto* value = attribute(*names, "value");
  if (!value || value->tensor().dtype() != tensorflow::DT_STRING) return;
  const tensorflow::TensorProto& tensor = value->tensor();
  for (const auto& name : tensor.string_val()) node.file_names.push_back(name);
  if (node.file_names.empty() && tensor.tensor_shape().dim_size() <= 1)
    node.file_names = packed_strings(tensor);
}

void read_flags(const NodeDef& def, Node& node) {
  const auto* deterministic = attribute(def, "deterministic");
  node.deterministic =
      !(deterministic && deterministic->s() == "false") && !flag(def, "sloppy", false);
  node.determinism_by_options = deterministic && deterministic->s() == "default";
  node.reshuffle_each_iteration = flag(def, "reshuffle_each_iteration", true);
  node.stop_on_empty = flag(def, "stop_on_empty_dataset", false);
  node.inter_op = flag(def, "use_inter_op_parallelism", true);
  node.own_threads = flag(def, "use_unbounded_threadpool", false);
  for (const char* types : {"output_types", "Toutput_types"})
    if (const auto* value = attribute(def, types); value && value->list().type_size() > 0)
      node.components = value->list().type_size();
}

bool is_batch(Kind kind) { return kind == Kind::kBatch || kind == Kind::kMapBatch; }

bool has_fixed_seed(const GraphScope& scope, const NodeDef& def, const OpTraits& traits) {
  if (traits.seed_input == 0) return false;
  const auto seed = [&](int place) { return scope.integer(def, place).value_or(0) != 0; };
  return seed(traits.seed_input) || seed(traits.seed_input + 1);
}

// A reader whose files are not known to be plain: compression_type is no constant or not empty.
bool may_be_compressed(const GraphScope& scope, const NodeDef& def) {
  const bool fixed = def.op() == "FixedLengthRecordDatasetV2";
  if (!fixed && def.op().rfind("TFRecord", 0) != 0 && def.op().rfind("TextLine", 0) != 0)
    return false;
  return !scope.text(def, fixed ? 5 : 1).value_or("?").empty();
}

// What a node can only be moved with: a copy of a constant reads nothing.
bool scalars_are_known(const GraphScope& scope, const NodeDef& def, const OpTraits& traits) {
  if (traits.dataset_inputs != 1) return true;  // such nodes stay where they are
  const auto* captured = attribute(def, "Targuments");
  int place = traits.dataset_inputs + (captured ? captured->list().type_size() : 0);
  for (; place < def.input_size() && !producer_of(def.input(place)).empty(); ++place) {
    const NodeDef* source = scope.input(def, place);
    if (!source || source->op() != "Const") return false;
  }
  return true;
}

void read_scalars(const GraphScope& scope, const NodeDef& def, const OpTraits& traits, Node& node) {
  const auto scalar = [&](int place) -> std::optional<std::int64_t> {
    return place == 0 ? std::nullopt : scope.integer(def, place);
  };
  node.parallelism = scalar(traits.parallelism_input);
  node.buffer_size = scalar(traits.buffer_input);
  node.count = scalar(traits.count_input);
  node.cycle_length = scalar(traits.cycle_input);
  node.block_length = scalar(traits.block_input);
  if (def.op() == "ParallelInterleaveDatasetV4") node.prefetched_inputs = scope.integer(def, -2);
  node.shift = scalar(traits.shift_input);
  if (traits.shift_input != 0) node.stride = scalar(traits.shift_input + 1);
  if (is_batch(node.kind) || def.op() == "WindowDataset")
    node.drop_remainder = scope.boolean(def, -1).value_or(false);
  if (def.op() == "SlidingWindowDataset") node.drop_remainder = flag(def, "drop_remainder", true);
  node.source_elements = source_elements(scope, def);
  node.scalars_known = scalars_are_known(scope, def, traits);
  if (node.kind == Kind::kCache) node.cache_file = scope.text(def, 1).value_or("");
  node.compressed = may_be_compressed(scope, def);
  node.fixed_seed = has_fixed_seed(scope, def, traits);
}

}  // namespace

void read_attributes(const GraphScope& scope, const NodeDef& def, Node& node) {
  const OpTraits& traits = op_traits(def.op());
  node.op = def.op();
  node.kind = traits.kind;
  node.threading = traits.threading;
  read_scalars(scope, def, traits, node);
  read_file_names(scope, def, node);
  read_flags(def, node);
}

}  // namespace plumber
