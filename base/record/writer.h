// Writes one node's run record. Any thread adds rows; one thread of the Writer's own puts them on
// the disk, so that neither the job nor whoever watches it ever waits for the disk.
//
//   producer thread ── Producer::push ──▶ its own queue ──┐
//   producer thread ── Producer::push ──▶ its own queue ──┼─▶ batch ─▶ one transaction, at least
//   any thread      ── Writer::add ────▶ short list ──────┘           twice a second
//
// What is accepted is written, if the disk lets it: a batch that fails is kept and tried again
// once a second. Meanwhile the queues fill; what they then refuse is counted by reason, and the
// record says so as soon as it can. Nothing here throws or blocks on the disk but open and close.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/record/entities.h"
#include "base/record/loss.h"
#include "base/record/queue.h"
#include "base/record/schema.h"
#include "base/record/store.h"

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

  // Wait-free. False where the queue is full; the loss is counted and told.
  template <class Row>
  bool push(const Row& row) {
    if (!channel_->is_sealed.load(std::memory_order_relaxed) && channel_->queue.push(row)) {
      return true;
    }
    channel_->refused.fetch_add(1, std::memory_order_relaxed);
    return false;
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

struct WriterOptions {
  std::filesystem::path folder = {};  // made where it is missing
  std::string node = {};              // names the file; empty: the host's name
  std::string role = {};              // see Session
  std::vector<std::string> command = {};
  bool keep_secrets = false;  // in the command: see base/record/secrets.h
  std::string program = {};
  Limits limits = {};
};

struct WriterStatus {
  std::uint64_t rows = 0;             // samples and entities in the record
  std::uint64_t dropped = 0;          // rows that are not, whatever the reason
  std::vector<Loss> losses = {};      // by producer and reason
  std::int64_t bytes = 0;             // of the file
  std::optional<Error> trouble = {};  // why nothing can be written just now
};

class Writer {
 public:
  // The clock outlives the Writer. Errors are for people: no such place, no permission, another
  // writer, another program's file, a newer schema.
  static Result<std::unique_ptr<Writer>> open(const WriterOptions& options, const sys::Root& root,
                                              const sys::Clock& clock);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  const std::filesystem::path& path() const;
  Producer producer(std::string name);

  // Rows that have an id: gives it, or 0 where there was no room. Any thread.
  std::int64_t add(Probe row);
  std::int64_t add(Process row);
  std::int64_t add(Flow row);
  std::int64_t add(Series row);
  std::int64_t add(Event row);
  // The others: false where there was no room.
  bool add(Label row);
  bool add(Fact row);
  bool add(FlowTotal row);
  bool add(ClockOffset row);

  WriterStatus status() const;
  // Writes what is left and ends the session; the exit status is the watched command's. What is
  // pushed meanwhile may be lost uncounted, so producers stop before.
  WriterStatus close(std::optional<int> exit_status = std::nullopt);

 private:
  class Core;
  explicit Writer(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace chokepoint::record
