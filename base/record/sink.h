// Where the rows of a record go: to the disk by a Writer, or by a Forwarder to the process that has
// one. Samples go through a Producer, which is a thread's own and waits for nothing; rows with text
// are added by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/record/entities.h"
#include "base/record/queue.h"
#include "base/record/samples.h"

namespace chokepoint::record {

struct Channel {
  Channel(std::string channel_name, std::size_t bytes)
      : name(std::move(channel_name)), queue(bytes) {}
  std::string name;
  Queue queue;
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<bool> is_closed = false;  // the producer is gone
  std::atomic<bool> is_sealed = false;  // the writer takes no more
};

// One thread's way into the record. May outlive the Writer; what is pushed then is lost.
class Producer {
 public:
  explicit Producer(std::shared_ptr<Channel> channel) : channel_(std::move(channel)) {}
  Producer(Producer&&) noexcept = default;
  Producer& operator=(Producer&&) = delete;
  ~Producer() {
    if (channel_) {
      channel_->is_closed = true;
    }
  }

  // Wait-free. False where the queue is full; the loss is counted and reported.
  template <class Row>
  bool push(const Row& row) {
    if (!channel_->is_sealed.load(std::memory_order_relaxed) && channel_->queue.push(row)) {
      return true;
    }
    channel_->refused.fetch_add(1, std::memory_order_relaxed);
    return false;
  }

  // Rows that were lost on their way to this producer.
  void note_lost(std::uint64_t rows) {
    channel_->refused.fetch_add(rows, std::memory_order_relaxed);
  }

  // Whether a push would be refused just now and may not be in a moment: for who can wait.
  template <class Row>
  bool is_full() const {
    return !channel_->is_sealed.load(std::memory_order_relaxed) &&
           !channel_->queue.template has_room<Row>();
  }

 private:
  std::shared_ptr<Channel> channel_;
};

// What packets become, wherever they are analysed. Rows that have an id: gives it, or 0 where there
// was no room; FlowTotal: false where there was none. Any thread.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Producer producer(std::string name) = 0;
  virtual std::int64_t add(Flow row) = 0;
  virtual std::int64_t add(Series row) = 0;
  virtual std::int64_t add(Event row) = 0;
  virtual bool add(FlowTotal row) = 0;
  // No more rows of this flow will come: its id may be dropped.
  virtual void leave(std::int64_t /*flow*/) {}
};

}  // namespace chokepoint::record
