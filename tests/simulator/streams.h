// SPDX-License-Identifier: Apache-2.0
// How tf.data's iterators run. A stream is an iterator: next() makes one element on the thread that
// asks for it. Where TensorFlow starts threads (prefetch, parallel calls, parallel interleave),
// next() takes from what these have made.
#pragma once

#include <memory>

#include "host.h"

namespace plumber::simulated {

class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;
  virtual Task next(Thread& thread) = 0;
};
using StreamPtr = std::unique_ptr<Stream>;

/// So many of one thing for each of another, evenly spread.
class Ratio {
 public:
  explicit Ratio(double each) : each_(each) {}
  int next() {
    due_ += each_;
    const int whole = static_cast<int>(due_ + 1e-9);
    due_ -= whole;
    return whole;
  }
  double each() const { return each_; }

 private:
  double each_, due_ = 0;
};

struct Input {
  StreamPtr stream;
  Ratio per_element;
};

/// What a node does on the thread that asks: pulls its inputs, then works, or has a function called
/// and waits for it.
struct OperationTraits {
  Work work;                // of a call, or of an element where nothing is called
  double element_s = 0;     // of an element besides
  Ratio calls{1};           // an element
  bool dispatched = false;  // calls go to the pool
  std::optional<std::size_t> disk{};
  double disk_bytes = 0;
  Draw* draw = nullptr;
};
StreamPtr make_operation(std::vector<Input> inputs, OperationTraits traits);

/// A thread of its own fills a buffer.
struct Buffered {
  int size = 2;
  int components = 1;
};
StreamPtr make_prefetch(Host& host, StreamPtr input, Buffered buffer);

/// Calls that run beside each other; their results, with those that run, are no more than `calls`.
struct CallsTraits {
  int calls = 2;
  bool in_order = true;  // results keep their order
  Work work;
  double runner_s = 0;            // of the thread that makes the calls, for each
  double wake_s = 0, spin_s = 0;  // if a thread has to be woken for a call
  Ratio results{1};               // results of calls for one element
  int components = 1;
  Draw* draw = nullptr;
};
StreamPtr make_calls(Host& host, std::vector<Input> inputs, CallsTraits traits);

/// One of the data sets that an interleave reads.
struct DataSetStreams {
  StreamPtr opening;  // to be asked once before its elements
  StreamPtr elements;
};

/// Readers that fill a buffer for each data set of a cycle; elements are taken from these in turn.
/// As in TensorFlow, further data sets are opened, and their buffers filled, by threads of their
/// own: readers do not wait for that.
struct ReadersTraits {
  int readers = 1;
  int cycle = 1;
  int ahead = 0;        // data sets opened beyond the cycle
  bool in_turn = true;  // else from whichever data set has one
  int block = 1;        // elements taken from one data set
  int buffer = 2;       // elements of one data set
  Ratio length{1};      // elements of one data set
  int components = 1;
  Work work;  // of the interleave itself, an element
};
/// `data_sets`: cycle + ahead of them, which are opened again and again.
StreamPtr make_readers(Host& host, std::vector<DataSetStreams> data_sets, ReadersTraits traits);

}  // namespace plumber::simulated
