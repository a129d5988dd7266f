// Writes one node's run record. Any thread adds rows; one thread of the Writer's own puts them on
// the disk, so that neither the job nor the watch ever waits for the disk.
//
//   producer thread ── Producer::push ──▶ its own queue ──┐
//   producer thread ── Producer::push ──▶ its own queue ──┼─▶ batch ─▶ one transaction, at least
//   any thread      ── Writer::add ────▶ short list ──────┘           twice a second
//
// Accepted rows are written as soon as the disk allows it: a batch that fails is kept and tried
// again once a second. In the meantime the queues fill; rows that they refuse are counted by
// reason, and the record gets that count as soon as possible. Nothing here throws or blocks on the
// disk but open and close.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/record/entities.h"
#include "base/record/loss.h"
#include "base/record/schema.h"
#include "base/record/sink.h"
#include "base/record/store.h"

namespace chokepoint::record {

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

class Writer final : public Sink {
 public:
  // The clock outlives the Writer. Errors are for people: no such place, no permission, another
  // writer, another program's file, a newer schema.
  static Result<std::unique_ptr<Writer>> open(const WriterOptions& options, const sys::Root& root,
                                              const sys::Clock& clock);
  ~Writer() override;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  const std::filesystem::path& path() const;
  bool is_first_session() const;
  Producer producer(std::string name) override;

  // Rows that have an id: gives it, or 0 where there was no room. Any thread.
  std::int64_t add(Probe row);
  std::int64_t add(Process row);
  std::int64_t add(Flow row) override;
  std::int64_t add(Series row) override;
  std::int64_t add(Event row) override;
  // The others: false where there was no room.
  bool add(Label row);
  bool add(Fact row);
  bool add(FlowTotal row) override;
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
