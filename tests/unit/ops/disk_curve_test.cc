// SPDX-License-Identifier: Apache-2.0
#include "ops/disk_curve.h"

#include "base/error.h"
#include "catch2_any.h"
#include "ops/disk_file.h"

using namespace plumber;

namespace {

// 25 MB/s a reader until 110 MB/s are full.
std::vector<DiskPoint> saturating() {
  std::vector<DiskPoint> points;
  for (const double readers : {1, 2, 4, 8, 16, 32})
    points.push_back({readers, std::min(25e6 * readers, 110e6)});
  return points;
}

// A job of fio by its groups: jobs, depth, engine, bytes a second.
std::string fio_job(int group, const std::string& options, double bytes_per_s) {
  return R"({"jobname": "r", "groupid": )" + std::to_string(group) + R"(, "job options": {)" +
         options + R"(}, "read": {"bw_bytes": )" + std::to_string(bytes_per_s) + "}}";
}

std::string fio(const std::string& global, const std::string& jobs) {
  return R"({"fio version": "fio-3.33", "global options": {)" + global + R"(}, "jobs": [)" + jobs +
         "]}";
}

}  // namespace

TEST_CASE("a disk of one rate gives it to any number of readers") {
  const DiskCurve disk = flat_disk(200e6);
  CHECK(disk_rate(disk, 1) == 200e6);
  CHECK(disk_rate(disk, 64) == 200e6);
  CHECK(full_rate_readers(disk) == 1);
}

TEST_CASE("two pieces: readers add up until the disk is full") {
  const DiskCurve disk = fit_disk(saturating());
  CHECK(disk_rate(disk, 1) == Approx(25e6));
  CHECK(disk_rate(disk, 3) == Approx(75e6));
  CHECK(disk_rate(disk, 8) == Approx(110e6));
  CHECK(disk_rate(disk, 500) == Approx(110e6));
  CHECK(full_rate_readers(disk) == 5);
}

TEST_CASE("noise of five percent moves the fit by no more") {
  std::vector<DiskPoint> points = saturating();
  for (std::size_t i = 0; i < points.size(); ++i) points[i].bytes_per_s *= i % 2 == 0 ? 1.05 : 0.95;
  const DiskCurve disk = fit_disk(points);
  for (const DiskPoint& exact : saturating())
    CHECK(disk_rate(disk, exact.readers) == Approx(exact.bytes_per_s).epsilon(0.06));
}

TEST_CASE("the paper's fit of a cloud source: full with two readers, fewer bytes with more") {
  // Records a second of its two lines at 1 ... 32 readers.
  std::vector<DiskPoint> points;
  for (const double readers : {1, 2, 4, 8, 16, 32}) {
    const double line1 = 2051.0215 * readers + 6396.4173, line2 = -34.0393 * readers + 10503.2488;
    points.push_back({readers, std::min(line1, line2)});
  }
  const DiskCurve disk = fit_disk(points);
  CHECK(disk_rate(disk, 1) == Approx(8447.4).epsilon(0.001));
  CHECK(disk_rate(disk, 2) == Approx(10435.2).epsilon(0.001));
  CHECK(disk_rate(disk, 32) == Approx(9414.0).epsilon(0.001));
  CHECK(full_rate_readers(disk) == 2);
}

TEST_CASE("few points: what lies above all of them, concave") {
  const DiskCurve disk = fit_disk({{4, 90e6}, {1, 50e6}, {2, 60e6}});
  CHECK(disk.vertices == std::vector<DiskPoint>{{1, 50e6}, {4, 90e6}});
}

TEST_CASE("rates of fio: groups add up, iodepth counts for asynchronous engines only") {
  const std::string reported = fio_job(0, R"("numjobs": "1")", 25e6) + "," +
                               fio_job(1, R"("numjobs": "4", "iodepth": "8")", 100e6);
  const DiskCurve sync = read_disk_file(fio(R"("ioengine": "psync")", reported), "fio.json");
  CHECK(sync.vertices == std::vector<DiskPoint>{{1, 25e6}, {4, 100e6}});
  const DiskCurve deep = read_disk_file(fio(R"("ioengine": "libaio")", reported), "fio.json");
  CHECK(deep.vertices == std::vector<DiskPoint>{{1, 25e6}, {32, 100e6}});
  const std::string each = fio_job(0, "", 25e6) + "," + fio_job(1, R"("numjobs": "2")", 24e6) +
                           "," + fio_job(1, R"("numjobs": "2")", 26e6);
  const DiskCurve jobs = read_disk_file("fio: a note\n" + fio("", each), "fio.json");
  CHECK(jobs.vertices == std::vector<DiskPoint>{{1, 25e6}, {2, 50e6}});
}

TEST_CASE("a file that is neither is refused at its place") {
  CHECK_THROWS_WITH(read_disk_file("{\"points\": [{\"readers\": 0}]}", "disk.json"),
                    Catch::Contains("points[0].readers: not a number"));
  CHECK_THROWS_AS(read_disk_file("{}", "disk.json"), Error);
  CHECK_THROWS_AS(read_disk_file("200", "disk.json"), Error);
}

TEST_CASE("files lie on the disk with the longest prefix of whole folders") {
  const std::vector<Disk> disks{
      {"", flat_disk(1)}, {"/ssd", flat_disk(2)}, {"/ssd/fast", flat_disk(3)}};
  CHECK(disk_of(disks, "/ssd/train-0") == 1u);
  CHECK(disk_of(disks, "/ssd/fast/train-0") == 2u);
  CHECK(disk_of(disks, "/ssd2/train-0") == 0u);
  CHECK(disk_of({{"/ssd", flat_disk(2)}}, "/nfs/train-0") == std::nullopt);
}
