// Where the rows of a record go: to the disk by a Writer, or by a Forwarder to the process that has
// one. Samples go through a Producer, which is a thread's own and waits for nothing; rows with text
// are added by any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/lockfree/spsc_queue.hpp>

#include "base/record/entities.h"
#include "base/record/samples.h"

namespace chokepoint::record {

// Samples on their way from one producer's thread to the writer's: bounded, wait-free, no
// allocation. A row lies in the queue as one word that says which kind it is and the words of the
// row itself, so that a short row does not take the place of the longest.
//
// push: the producer's thread only. drain: the writer's thread only.

using Word = std::uint64_t;

// The rows of a batch, one after the other, as they lay in the queue.
using Words = std::vector<Word>;

template <class Row, std::size_t Index = 0>
constexpr Word kind_of() {
  if constexpr (std::is_same_v<Row, std::variant_alternative_t<Index, Sample>>) {
    return Index;
  } else {
    return kind_of<Row, Index + 1>();
  }
}

template <class Row>
constexpr std::size_t kWordsOf = 1 + sizeof(Row) / sizeof(Word);

constexpr std::size_t kKinds = std::variant_size_v<Sample>;
constexpr auto kWordsOfKind = []<std::size_t... Index>(std::index_sequence<Index...>) {
  return std::array{kWordsOf<std::variant_alternative_t<Index, Sample>>...};
}(std::make_index_sequence<kKinds>());

template <class Row>
std::array<Word, kWordsOf<Row>> packed(const Row& row) {
  static_assert(std::is_trivially_copyable_v<Row> && sizeof(Row) % sizeof(Word) == 0);
  std::array<Word, kWordsOf<Row>> words;
  words[0] = kind_of<Row>();
  std::memcpy(&words[1], static_cast<const void*>(&row), sizeof(Row));
  return words;
}

// Calls visit(row) with the row that begins at `words`, and gives the number of words it took.
template <class F, std::size_t Index = 0>
std::size_t unpack(const Word* words, F&& visit) {
  if constexpr (Index < kKinds) {
    if (words[0] != Index) {
      return unpack<F, Index + 1>(words, std::forward<F>(visit));
    }
    std::variant_alternative_t<Index, Sample> row;
    std::memcpy(static_cast<void*>(&row), words + 1, sizeof(row));
    visit(row);
    return kWordsOfKind.at(Index);
  }
  return 1;
}

class Queue {
 public:
  explicit Queue(std::size_t bytes) : words_(bytes / sizeof(Word)) {}

  // False where there is no room.
  template <class Row>
  bool push(const Row& row) {
    const auto words = packed(row);
    if (words_.write_available() < words.size()) {
      return false;
    }
    words_.push(words.data(), words.size());
    return true;
  }

  template <class Row>
  bool has_room() const {
    return words_.write_available() >= std::tuple_size_v<decltype(packed(Row{}))>;
  }

  // Appends whole rows while they fit into `most` words; gives their number.
  std::size_t drain(Words& out, std::size_t most) {
    std::size_t rows = 0;
    while (words_.read_available() > 0) {
      const std::size_t size = kWordsOfKind.at(words_.front());
      const std::size_t start = out.size();
      if (start + size > most) {
        break;
      }
      out.resize(start + size);
      words_.pop(out.data() + start, size);
      ++rows;
    }
    return rows;
  }

  bool empty() const { return words_.read_available() == 0; }

 private:
  boost::lockfree::spsc_queue<Word> words_;
};

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

  // Wait-free. False where the queue is full; the loss is counted and told.
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
  // Nothing more will be said of this flow: its id need not be remembered.
  virtual void leave(std::int64_t /*flow*/) {}
};

}  // namespace chokepoint::record
