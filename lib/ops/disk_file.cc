// SPDX-License-Identifier: Apache-2.0
#include "ops/disk_file.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/error.h"
#include "base/json_member.h"

namespace plumber {
namespace {

constexpr const char* kHint =
    "plumber_tf.py disk writes such a file, and fio --output-format=json does";
constexpr double kMostReaders = 1e6, kFastest_bytes_per_s = 1e15;

// fio's options are texts.
double option(const JsonMember& job, const JsonMember& root, const std::string& key,
              double otherwise) {
  for (const auto& [owner, options] :
       {std::pair(&job, "job options"), std::pair(&root, "global options")}) {
    if (!owner->has(options) || !owner->at(options).has(key)) continue;
    const JsonMember member = owner->at(options).at(key);
    const std::string text = member.text();
    double number = 0;
    const auto end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    if (problem != std::errc() || stop != end || !(number >= 1) || number > kMostReaders)
      member.refuse("not a number from 1 to 1000000");
    return number;
  }
  return otherwise;
}

bool asynchronous(const JsonMember& job, const JsonMember& root) {
  static const std::vector<std::string> kSynchronous{"sync", "psync",   "vsync",  "pvsync",
                                                     "mmap", "pvsync2", "libpmem"};
  for (const auto& [owner, options] :
       {std::pair(&job, "job options"), std::pair(&root, "global options")}) {
    if (!owner->has(options) || !owner->at(options).has("ioengine")) continue;
    const std::string engine = owner->at(options).at("ioengine").text();
    return std::find(kSynchronous.begin(), kSynchronous.end(), engine) == kSynchronous.end();
  }
  return false;  // fio's own choice
}

double read_bytes_per_s(const JsonMember& job) {
  if (!job.has("read")) job.refuse("no job that reads", kHint);
  const JsonMember read = job.at("read");
  if (read.has("bw_bytes")) return read.at("bw_bytes").number_within(0, kFastest_bytes_per_s);
  return 1024 * read.at("bw").number_within(0, kFastest_bytes_per_s);  // KiB/s
}

std::vector<DiskPoint> points_of_fio(const JsonMember& root) {
  struct Group {
    DiskPoint sum{0, 0};
    double jobs = 0, depth = 1, clones = 1;
  };
  std::map<double, Group> groups;
  double number = 0;
  for (const JsonMember& job : root.at("jobs").elements()) {
    const double rate = read_bytes_per_s(job);
    if (rate <= 0) continue;  // of a job that writes
    Group& group = groups[job.number_or_none("groupid").value_or(number++)];
    group.depth = asynchronous(job, root) ? option(job, root, "iodepth", 1) : 1;
    group.clones = option(job, root, "numjobs", 1);
    group.jobs += 1;
    group.sum.readers += group.depth;
    group.sum.bytes_per_s += rate;
  }
  std::vector<DiskPoint> points;
  for (auto& [id, group] : groups) {
    // One entry stands for all jobs of its group where fio was asked to report groups.
    if (group.jobs == 1) group.sum.readers = group.clones * group.depth;
    points.push_back(group.sum);
  }
  return points;
}

std::vector<DiskPoint> points_of_list(const JsonMember& root) {
  std::vector<DiskPoint> points;
  for (const JsonMember& point : root.at("points").elements()) {
    points.push_back({point.at("readers").number_within(1, kMostReaders),
                      point.at("bytes_per_s").number_within(1, kFastest_bytes_per_s)});
  }
  return points;
}

}  // namespace

DiskCurve read_disk_file(const std::string& text, const std::string& name) {
  // fio puts its notes before the document.
  std::string json = text;
  if (!json.starts_with('{')) {
    const std::size_t start = json.find("\n{");
    for (std::size_t i = 0; start != std::string::npos && i < start; ++i)
      if (json[i] != '\n') json[i] = ' ';  // places stay
  }
  const JsonDocument document = parse_document(json, name, kHint);
  const JsonMember root = document.root();
  const bool fio = root.has("jobs");
  if (!fio && !root.has("points")) root.refuse("neither 'points' nor the 'jobs' of fio");
  const std::vector<DiskPoint> points = fio ? points_of_fio(root) : points_of_list(root);
  if (points.empty()) root.refuse("no measured reads");
  return fit_disk(points);
}

}  // namespace plumber
