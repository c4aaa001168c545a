// SPDX-License-Identifier: Apache-2.0
#include "report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/printable.h"
#include "report/value_text.h"

namespace plumber {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNoise = 0.12;
constexpr double kLeastShare = 0.01;  // of the period: less is no demand to look at
constexpr std::size_t kLongest = 80;  // characters of a text that a difference shows

/// Where a leaf stands: what it is about, and its key there.
struct Place {
  std::string where;
  std::string what;
  auto operator<=>(const Place&) const = default;
};

struct Leaves {
  std::map<Place, Json> values;
  std::vector<Place> order;  // as in the document
};

/// Texts hold the numbers again, rounded for people.
bool is_text(const std::string& what) {
  static const std::set<std::string> kTexts{"trace.name",   "reason",       "evidence", "text",
                                            "why",          "python",       "warnings", "id",
                                            "cache.reason", "predicted.why"};
  return kTexts.contains(what);
}

/// How long the trace was, and what follows from other members.
bool follows(const std::string& what) {
  static const std::set<std::string> kKeys{"trace.elapsed_s",
                                           "trace.root_elements",
                                           "trace.dumps",
                                           "rate.start_s",
                                           "rate.ci95_per_s",
                                           "elements",
                                           "calls",
                                           "service_s",
                                           "cpu_s_per_element",
                                           "rate_per_core_per_s",
                                           "busy_cores",
                                           "segment",
                                           "buffer_fill",
                                           "mean",
                                           "least",
                                           "most",
                                           "fills",
                                           "cores",
                                           "lp.binding",
                                           "bottleneck.nodes",
                                           "predicted.range_per_s",
                                           "nodes"};
  return kKeys.contains(what);
}

/// What a member of a list is about; empty if nothing tells.
std::string subject_of(const Json& member) {
  std::string subject;
  for (const char* key : {"id", "edit", "kind", "name", "node", "to", "what"}) {
    const bool numbered = std::string(key) == "id" && member.contains("edit");
    if (!numbered && member.contains(key) && member[key].is_string() &&
        !member[key].get_ref<const std::string&>().empty())
      subject += (subject.empty() ? "" : " ") + member[key].get<std::string>();
  }
  if (!member.contains("name") && member.contains("nodes") && !member["nodes"].empty() &&
      member["nodes"].is_array() && member["nodes"].front().is_string())
    subject += " " + member["nodes"].front().get<std::string>();
  return subject;
}

class Flattening {
 public:
  explicit Flattening(Leaves& leaves) : leaves_(leaves) {}

  void add(const std::string& where, const std::string& what, const Json& json) {
    if (json.is_object()) {
      for (const auto& [key, member] : json.items())
        add(where, what.empty() ? key : what + "." + key, member);
    } else if (json.is_array() && !json.empty() && json.front().is_object()) {
      add_list(what, json);
    } else if (!json.is_array() || !json.empty()) {
      put({where, what}, json);
    }
  }

 private:
  // Members about the same thing are told apart by their number.
  void add_list(const std::string& what, const Json& list) {
    std::map<std::string, int> seen;
    for (const Json& member : list) {
      std::string subject = subject_of(member);
      const int before = seen[subject]++;
      if (before > 0) subject += fmt::format(" ({})", before + 1);
      const bool is_node = what == "nodes";
      put({is_node ? subject : what + " " + subject, ""}, true);
      for (const auto& [key, value] : member.items())
        add(is_node ? subject : what + " " + subject, key, value);
    }
  }

  void put(const Place& place, const Json& value) {
    if (leaves_.values.emplace(place, value).second) leaves_.order.push_back(place);
  }

  Leaves& leaves_;
};

Json parse(const NamedDocument& document) {
  Json json = Json::parse(document.text, nullptr, false);
  if (json.is_discarded())
    throw Error(ErrorKind::kInput, document.name, "no JSON: it is cut short or damaged",
                "write it again: plumber analyze -o FILE.json, plumber optimize -o FILE.json");
  return json;
}

std::string kind_of(const Json& json, const std::string& name) {
  if (json.contains("verdict") && json.contains("nodes")) return "analysis";
  if (json.contains("edits") && json.contains("predicted")) return "plan";
  throw Error(ErrorKind::kInput, name, "neither an analysis nor a plan",
              "give traces, or what plumber analyze and optimize write with -o FILE.json");
}

std::optional<double> number_at(const Json& json, const std::string& pointer) {
  const Json::json_pointer place(pointer);
  if (!json.contains(place) || !json.at(place).is_number()) return std::nullopt;
  return json.at(place).get<double>();
}

Value shown(const Json* value) {
  if (!value || value->is_null()) return {};
  if (value->is_number()) return value->get<double>();
  if (value->is_boolean()) return value->get<bool>();
  if (value->is_string()) return elide_middle(printable(value->get<std::string>()), kLongest);
  return elide_middle(printable(value->dump(-1, ' ', false, Json::error_handler_t::replace)),
                      kLongest);
}

class Comparing {
 public:
  Comparing(const Json& before, const Json& after, const std::optional<double>& tolerance)
      : before_(before), after_(after), tolerance_(tolerance) {
    Flattening(a_).add("", "", before);
    Flattening(b_).add("", "", after);
    for (const Json* json : {&before, &after}) {
      const double rate = number_at(*json, "/rate/observed_per_s").value_or(0);
      if (rate > 0) longest_period_s_ = std::max(longest_period_s_, 1 / rate);
    }
  }

  Comparison run() {
    for (const Place& place : a_.order) compare(place);
    for (const Place& place : b_.order)
      if (!a_.values.contains(place)) compare(place);
    return std::move(result_);
  }

 private:
  static const Json* at(const Leaves& leaves, const Place& place) {
    const auto found = leaves.values.find(place);
    return found == leaves.values.end() ? nullptr : &found->second;
  }

  // Of what is not there at all, one difference says so.
  bool is_part_of_missing(const Place& place) const {
    const Place whole{place.where, ""};
    if (place.where.empty() || place.what.empty()) return false;
    return a_.values.contains(whole) != b_.values.contains(whole);
  }

  void compare(const Place& place) {
    if (is_part_of_missing(place)) return;
    const Json* a = at(a_, place);
    const Json* b = at(b_, place);
    const bool numbers = a && b && a->is_number() && b->is_number();
    if (is_text(place.what) || (!tolerance_ && follows(place.what))) return;
    if (numbers) return compare_numbers(place, a->get<double>(), b->get<double>());
    if ((a == nullptr) == (b == nullptr) && (!a || *a == *b)) return;
    const std::string what = place.what.empty() ? "is there" : place.what;
    result_.differences.push_back({place.where, what, shown(a), shown(b), std::nullopt, "", ""});
  }

  void compare_numbers(const Place& place, double a, double b) {
    if (a == b) return;
    const double larger = std::max(std::abs(a), std::abs(b));
    const bool same = std::abs(a - b) <= tolerance_.value_or(kNoise) * larger ||
                      (!tolerance_ && is_noise(place, larger)) ||
                      (!tolerance_ && place.what == "rate.observed_per_s" && intervals_overlap());
    if (same) {
      ++result_.within;
      return;
    }
    const std::optional<double> change = a != 0 ? std::optional(b / a - 1) : std::nullopt;
    result_.differences.push_back({place.where, place.what, a, b, change, "", ""});
  }

  bool is_noise(const Place& place, double larger) const {
    return place.what == "demand_s" && larger < kLeastShare * longest_period_s_;
  }

  bool intervals_overlap() const {
    const auto low = [](const Json& json) { return number_at(json, "/rate/ci95_per_s/0"); };
    const auto high = [](const Json& json) { return number_at(json, "/rate/ci95_per_s/1"); };
    if (!low(before_) || !high(before_) || !low(after_) || !high(after_)) return false;
    return *low(before_) <= *high(after_) && *low(after_) <= *high(before_);
  }

  const Json& before_;
  const Json& after_;
  std::optional<double> tolerance_;
  Leaves a_, b_;
  double longest_period_s_ = 0;
  Comparison result_;
};

using Functions = std::map<std::string, std::string>;  // by the node that calls it

std::string text_at(const Json& json, const char* key) {
  const bool has = json.is_object() && json.contains(key) && json[key].is_string();
  return has ? json[key].get<std::string>() : "";
}

// "_parse" of ".map(_parse, num_parallel_calls=2)".
std::string function_in(const std::string& python) {
  for (const std::string call : {".map(", ".filter("}) {
    if (!python.starts_with(call)) continue;
    const std::string name = python.substr(call.size(), python.find_first_of(",)") - call.size());
    if (name.find_first_of(".( ") == std::string::npos) return name;
  }
  return "";
}

// Of an analysis its nodes say, of a plan its lines of Python.
void add_functions(const Json& document, Functions& functions) {
  const auto each = [&](const char* list, auto add) {
    if (!document.contains(list) || !document[list].is_array()) return;
    for (const Json& member : document[list]) add(member);
  };
  each("nodes", [&](const Json& node) {
    functions.emplace(text_at(node, "name"), text_at(node, "function"));
  });
  each("edits", [&](const Json& edit) {
    const std::string name = function_in(text_at(edit, "python"));
    if (!name.empty()) functions.emplace(text_at(edit, "node"), name);
  });
}

// Names of nodes have no blanks.
void add_function(Difference& one, const Functions& functions) {
  const std::string& where = one.label = one.where;
  for (std::size_t begin = 0; begin < where.size();) {
    const std::size_t end = std::min(where.find(' ', begin), where.size());
    const auto found = functions.find(where.substr(begin, end - begin));
    begin = end + 1;
    if (found == functions.end() || found->second.empty()) continue;
    one.function = found->second;
    one.label.insert(end, " (" + one.function + ")");
    break;
  }
  constexpr std::string_view kItems = "memory.items ";  // that it is memory say the bytes
  if (one.label.starts_with(kItems)) one.label.erase(0, kItems.size());
}

std::set<std::string> names_of_nodes(const Json& document) {
  std::set<std::string> names;
  if (!document.contains("nodes") || !document["nodes"].is_array()) return names;
  for (const Json& node : document["nodes"])
    if (node.contains("name") && node["name"].is_string()) names.insert(node["name"]);
  return names;
}

bool are_of_one_program(const Json& a, const Json& b) {
  const char* key = "graph_fingerprint";
  if (a.contains(key) && b.contains(key)) return a[key] == b[key];
  return names_of_nodes(a) == names_of_nodes(b);
}

}  // namespace

bool is_document(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') return false;
  const std::size_t second = text.find_first_not_of(" \t\r\n", first + 1);
  return second != std::string::npos && (text[second] == '"' || text[second] == '}');
}

Comparison compare_documents(const NamedDocument& before, const NamedDocument& after,
                             const std::optional<double>& tolerance) {
  const Json a = parse(before), b = parse(after);
  const std::string kind = kind_of(a, before.name), other = kind_of(b, after.name);
  if (kind != other)
    throw Error(ErrorKind::kInput, after.name,
                fmt::format("its kind is '{}', that of {} is '{}'", other, before.name, kind),
                "compare like with like");
  Comparison result = Comparing(a, b, tolerance).run();
  Functions functions;
  for (const Json* json : {&a, &b}) add_functions(*json, functions);
  for (Difference& one : result.differences) add_function(one, functions);
  result.kind = kind;
  result.same_program = are_of_one_program(a, b);
  const std::string rate = kind == "plan" ? "/predicted/after_per_s" : "/rate/observed_per_s";
  result.rate_before_per_s = number_at(a, rate);
  result.rate_after_per_s = number_at(b, rate);
  return result;
}

}  // namespace plumber
