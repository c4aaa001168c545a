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
      while (results_.empty() || !results_.front()) co_await done_.wait();
      results_.pop_front();
      taken_.wake_one();
    }
    thread.hand_over(traits_.components);
  }

 private:
  Task run() {
    for (;;) {
      while (static_cast<int>(results_.size()) >= traits_.calls) co_await taken_.wait();
      co_await pull(inputs_, runner_);
      runner_.overhead(traits_.runner_s);
      co_await runner_.settle();
      bool* result = &results_.emplace_back(false);
      runner_.host.submit({drawn(traits_.work, traits_.draw), traits_.wake_s, traits_.spin_s, false,
                           [this, result] {
                             *result = true;
                             if (result == &results_.front()) done_.wake_one();
                           }});
    }
  }

  Thread runner_;
  std::vector<Input> inputs_;
  CallsTraits traits_;
  Gate done_, taken_;
  std::deque<bool> results_;  // of calls in their order: true, done
};

class Readers : public Stream {
 public:
  Readers(Host& host, std::vector<StreamPtr> slots, ReadersTraits traits)
      : host_(host), traits_(traits), filled_(host.simulation()), emptied_(host.simulation()) {
    for (StreamPtr& input : slots) slots_.push_back({std::move(input)});
    for (int i = 0; i < traits.readers; ++i) threads_.emplace_back(host);
    for (Thread& thread : threads_) host.simulation().start(read(thread));
  }

  Task next(Thread& thread) override {
    co_await thread.settle();
    while (slots_[at_].elements == 0) co_await filled_.wait();
    --slots_[at_].elements;
    emptied_.wake_one();
    if (++of_block_ == traits_.block) {
      of_block_ = 0;
      at_ = (at_ + 1) % slots_.size();
    }
    thread.hand_over(traits_.components);
  }

 private:
  struct Slot {
    StreamPtr input;
    int elements = 0;
    bool read = false;  // a reader is at it
  };

  /// The next slot in turn with room that nobody reads.
  Slot* free_slot() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[(at_ + i) % slots_.size()];
      if (!slot.read && slot.elements < traits_.buffer) return &slot;
    }
    return nullptr;
  }

  Task read(Thread& thread) {
    for (;;) {
      Slot* slot = free_slot();
      for (; slot == nullptr; slot = free_slot()) co_await emptied_.wait();
      slot->read = true;
      while (slot->elements < traits_.buffer) {
        co_await slot->input->next(thread);
        thread.work(traits_.work.cpu_s);
        thread.hand_over(traits_.components);
        co_await thread.settle();
        ++slot->elements;
        if (slot == &slots_[at_]) filled_.wake_one();
      }
      slot->read = false;
    }
  }

  Host& host_;
  std::deque<Thread> threads_;
  std::deque<Slot> slots_;
  ReadersTraits traits_;
  Gate filled_, emptied_;
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

StreamPtr make_readers(Host& host, std::vector<StreamPtr> slots, ReadersTraits traits) {
  return std::make_unique<Readers>(host, std::move(slots), traits);
}

}  // namespace plumber::simulated
