// SPDX-License-Identifier: Apache-2.0
#include "ops/file_cache.h"

#include <algorithm>

namespace plumber {
namespace {

constexpr double kTensor_bytes = 28;  // name, shape and checksum in the file's index
constexpr double kReadElement_s = 0.1e-6, kReadTensor_s = 0.22e-6, kRead_bytes_per_s = 4.8e9;
constexpr double kWriteTensor_s = 1.6e-6, kWrite_bytes_per_s = 2.7e9;

double tensors_of(const FileElements& elements) {
  return elements.count * std::max(1, elements.tensors);
}

}  // namespace

double file_cache_bytes(const FileElements& elements, double bytes_per_element) {
  return elements.count * bytes_per_element + tensors_of(elements) * kTensor_bytes;
}

double file_cache_read_s(const FileElements& elements, double file_bytes) {
  return elements.count * kReadElement_s + tensors_of(elements) * kReadTensor_s +
         file_bytes / kRead_bytes_per_s;
}

double file_cache_write_s(const FileElements& elements, double file_bytes) {
  return tensors_of(elements) * kWriteTensor_s + file_bytes / kWrite_bytes_per_s;
}

}  // namespace plumber
