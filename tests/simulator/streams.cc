// SPDX-License-Identifier: Apache-2.0
#include "streams.h"

#include <algorithm>

#include "ops/hand_off.h"

namespace plumber::simulated {
namespace {

Work drawn(Work work, Draw* draw) {
  const double factor = draw == nullptr ? 1 : (*draw)();
  work.cpu_s *= factor;
  work.wait_s *= factor;
  return work;
}

Task pull(std::vector<Input>& inputs, Thread& thread) {
  for (Input& input : inputs) {
    for (int n = input.per_element.next(); n > 0; --n) co_await input.stream->next(thread);
  }
}

class Operation : public Stream {
 public:
  Operation(std::vector<Input> inputs, OperationTraits traits)
      : inputs_(std::move(inputs)), traits_(traits) {}

  Task next(Thread& thread) override {
    for (Input& input : inputs_) {
      for (int n = input.per_element.next(); n > 0; --n) co_await input.stream->next(thread);
    }
    thread.work(traits_.element_s);
    for (int n = traits_.calls.next(); n > 0; --n) {
      const Work work = drawn(traits_.work, traits_.draw);
      if (traits_.dispatched)
        co_await dispatch(thread, work);
      else if (work.python || work.wait_s > 0)
        co_await run_here(thread, work);
      else
        thread.work(work.cpu_s);
    }
    if (!traits_.disk || !(traits_.disk_bytes > 0)) co_return;
    co_await thread.settle();
    co_await thread.host.read(*traits_.disk, traits_.disk_bytes);
  }

 private:
  static Task dispatch(Thread& thread, Work work) {
    const HandOff& h = thread.host.hand_off();
    const double x_s = std::exchange(thread.since_call_s, 0);
    co_await thread.settle();
    Gate done(thread.host.simulation());
    thread.host.submit({work, dispatch_latency_s(h, x_s), dispatch_cpu_s(h, x_s), true,
                        [&done] { done.wake_one(); }});
    co_await done.wait();
    thread.since_call_s += work.cpu_s;
    thread.since_buffer_s += work.cpu_s;
  }

  static Task run_here(Thread& thread, Work work) {
    co_await thread.settle();
    co_await thread.host.run(work);
    thread.since_call_s += work.cpu_s;
    thread.since_buffer_s += work.cpu_s + work.wait_s;
  }

  std::vector<Input> inputs_;
  OperationTraits traits_;
};

class Prefetch : public Stream {
 public:
  Prefetch(Host& host, StreamPtr input, Buffered buffer)
      : producer_(host),
        input_(std::move(input)),
        buffer_(buffer),
        filled_(host.simulation()),
        emptied_(host.simulation()) {
    host.simulation().start(produce());
  }

  Task next(Thread& thread) override {
    co_await thread.settle();
    while (elements_ == 0) {
      co_await filled_.wait();
      co_await thread.host.simulation().sleep(thread.host.options().wake_s);
    }
    --elements_;
    emptied_.wake_one();
    thread.hand_over(buffer_.components);
  }

 private:
  Task produce() {
    for (;;) {
      while (elements_ >= buffer_.size) {
        co_await emptied_.wait();
        co_await producer_.host.simulation().sleep(producer_.host.options().wake_s);
      }
      co_await input_->next(producer_);
      producer_.hand_over(buffer_.components);
      co_await producer_.settle();
      ++elements_;
      filled_.wake_one();
    }
  }

  Thread producer_;
  StreamPtr input_;
  Buffered buffer_;
  Gate filled_, emptied_;
  int elements_ = 0;
};

class Calls : public Stream {
 public:
  Calls(Host& host, std::vector<Input> inputs, CallsTraits traits)
      : runner_(host),
        inputs_(std::move(inputs)),
        traits_(traits),
        done_(host.simulation()),
        taken_(host.simulation()) {
    host.simulation().start(run());
  }

  Task next(Thread& thread) override {
    for (int n = traits_.results.next(); n > 0; --n) {
      co_await thread.settle();
      while (!take_result()) co_await done_.wait();
      taken_.wake_one();
    }
    thread.hand_over(traits_.components);
  }

 private:
  bool take_result() {
    const auto first = traits_.in_order ? results_.begin()
                                        : std::find_if(results_.begin(), results_.end(),
                                                       [](const auto& done) { return *done; });
    if (first == results_.end() || !**first) return false;
    results_.erase(first);
    return true;
  }

  Task run() {
    for (;;) {
      while (static_cast<int>(results_.size()) >= traits_.calls) co_await taken_.wait();
      co_await pull(inputs_, runner_);
      runner_.overhead(traits_.runner_s);
      co_await runner_.settle();
      const std::shared_ptr<bool> result = std::make_shared<bool>(false);
      results_.push_back(result);
      runner_.host.submit({drawn(traits_.work, traits_.draw), traits_.wake_s, traits_.spin_s, false,
                           [this, result] {
                             *result = true;
                             if (!traits_.in_order || result == results_.front()) done_.wake_one();
                           }});
    }
  }

  Thread runner_;
  std::vector<Input> inputs_;
  CallsTraits traits_;
  Gate done_, taken_;
  std::deque<std::shared_ptr<bool>> results_;  // of calls as they began: true, done
};

class Readers : public Stream {
 public:
  Readers(Host& host, std::vector<DataSetStreams> data_sets, ReadersTraits traits)
      : traits_(traits),
        filled_(host.simulation()),
        emptied_(host.simulation()),
        taken_(host.simulation()) {
    for (DataSetStreams& streams : data_sets) data_sets_.push_back({std::move(streams)});
    for (DataSet& data_set : data_sets_) {
      if (static_cast<int>(cycle_.size()) < traits.cycle)
        cycle_.push_back(&data_set);
      else
        closed_.push_back(&data_set);
    }
    const int openers = traits.ahead > 0 ? traits.ahead + traits.cycle : 0;
    for (int i = 0; i < traits.readers + openers; ++i) threads_.emplace_back(host);
    for (int i = 0; i < traits.readers + openers; ++i)
      host.simulation().start(i < traits.readers ? read(thread(i)) : open_ahead(thread(i)));
  }

  Task next(Thread& thread) override {
    co_await thread.settle();
    if (!traits_.in_turn) look_for_elements();
    while (cycle_[at_]->elements == 0) {
      if (cycle_[at_]->ended())
        replace();
      else
        co_await filled_.wait();
      if (!traits_.in_turn) look_for_elements();
    }
    --cycle_[at_]->elements;
    emptied_.wake_one();
    if (++of_block_ == traits_.block) advance();
    thread.hand_over(traits_.components);
  }

 private:
  struct DataSet {
    DataSetStreams streams;
    int elements = 0;   // in its buffer
    int left = -1;      // still to be read; -1: it is not open
    bool read = false;  // a thread is at it

    bool ended() const { return left == 0 && elements == 0 && !read; }
  };

  Thread& thread(int i) { return threads_[static_cast<std::size_t>(i)]; }

  void look_for_elements() {
    for (std::size_t i = 0; i < cycle_.size(); ++i) {
      if (cycle_[at_]->elements > 0 || cycle_[at_]->ended()) return;
      advance();
    }
  }

  void advance() {
    of_block_ = 0;
    at_ = (at_ + 1) % cycle_.size();
  }

  /// The next data set takes the place of one that has ended, and the turn goes on.
  void replace() {
    DataSet* ended = std::exchange(cycle_[at_], nullptr);
    ended->left = -1;
    if (ahead_.empty()) {
      cycle_[at_] = ended;
    } else {
      closed_.push_back(ended);
      cycle_[at_] = ahead_.front();
      ahead_.pop_front();
      taken_.wake_one();
    }
    emptied_.wake_one();
    advance();
  }

  /// The next data set in turn with room that nobody reads.
  DataSet* to_read() {
    for (std::size_t i = 0; i < cycle_.size(); ++i) {
      DataSet* one = cycle_[(at_ + i) % cycle_.size()];
      if (!one->read && one->left != 0 && one->elements < traits_.buffer) return one;
    }
    return nullptr;
  }

  void tell(const DataSet& filled) {
    if (!traits_.in_turn || &filled == cycle_[at_]) filled_.wake_one();
  }

  Task fill(DataSet& from, Thread& thread) {
    from.read = true;
    if (from.left < 0) {
      co_await from.streams.opening->next(thread);
      co_await thread.settle();
      from.left = std::max(1, traits_.length.next());
    }
    while (from.elements < traits_.buffer && from.left > 0) {
      co_await from.streams.elements->next(thread);
      thread.work(traits_.work.cpu_s);
      thread.hand_over(traits_.components);
      co_await thread.settle();
      ++from.elements, --from.left;
      tell(from);
    }
    from.read = false;
    tell(from);
  }

  Task read(Thread& thread) {
    for (;;) {
      DataSet* one = to_read();
      for (; one == nullptr; one = to_read()) co_await emptied_.wait();
      co_await fill(*one, thread);
    }
  }

  Task open_ahead(Thread& thread) {
    for (;;) {
      while (static_cast<int>(ahead_.size()) >= traits_.ahead) co_await taken_.wait();
      DataSet* one = closed_.front();
      closed_.pop_front();
      ahead_.push_back(one);
      co_await fill(*one, thread);
      emptied_.wake_one();  // its turn may have come meanwhile
    }
  }

  std::deque<Thread> threads_;
  std::deque<DataSet> data_sets_;
  std::vector<DataSet*> cycle_;
  std::deque<DataSet*> ahead_, closed_;
  ReadersTraits traits_;
  Gate filled_, emptied_, taken_;
  std::size_t at_ = 0;
  int of_block_ = 0;
};

}  // namespace

StreamPtr make_operation(std::vector<Input> inputs, OperationTraits traits) {
  return std::make_unique<Operation>(std::move(inputs), traits);
}

StreamPtr make_prefetch(Host& host, StreamPtr input, Buffered buffer) {
  return std::make_unique<Prefetch>(host, std::move(input), buffer);
}

StreamPtr make_calls(Host& host, std::vector<Input> inputs, CallsTraits traits) {
  return std::make_unique<Calls>(host, std::move(inputs), traits);
}

StreamPtr make_readers(Host& host, std::vector<DataSetStreams> data_sets, ReadersTraits traits) {
  return std::make_unique<Readers>(host, std::move(data_sets), traits);
}

}  // namespace plumber::simulated
