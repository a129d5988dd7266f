// The record's file as its writer sees it: each batch is one transaction, and tables that have
// grown too large are folded. One thread at a time. A batch that fails leaves the file unchanged
// and can be added again.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <tuple>
#include <vector>

#include "base/record/folding.h"
#include "base/record/sink.h"
#include "base/record/syncer.h"

namespace chokepoint::record {

// How much room a record and its writer may take. A value.

struct Limits {
  // Of the file. Where it is reached old detail is folded into coarser bins.
  std::int64_t max_bytes = 400'000'000;
  // Of the log beside it. A reader that holds on to an old state keeps it from shrinking; past
  // this nothing more is written until the reader has released it.
  std::int64_t max_log_bytes = 64'000'000;
  std::int64_t queue_bytes = 4 << 20;   // of samples, a producer
  std::int64_t entity_bytes = 8 << 20;  // of rows with text that wait for the writer
  std::int64_t batch_bytes = 2 << 20;   // of samples in one transaction
  std::chrono::milliseconds commit_interval{250};
  std::chrono::milliseconds first_commit_interval{250};  // while the session is young
  std::chrono::milliseconds young{0};
  std::chrono::milliseconds retry_interval{1000};
};

struct Batch {
  Words samples;
  std::vector<Entity> entities;

  bool empty() const { return samples.empty() && entities.empty(); }
  void clear() {
    samples.clear();
    entities.clear();
  }
};

class Store {
 public:
  // Makes the file where it is missing and brings it to this version's schema.
  // Without locks other writers are not kept out; the caller must ensure that there are none.
  static Result<Store> open(const std::filesystem::path& path, const Limits& limits,
                            bool has_locks = true);

  // Folds until the file is within its bound, however long it takes.
  Result<> make_room();

  // Times of samples are moved by shift_ns; `session` has been seen at now_ns. `also` is written
  // after the batch.
  Result<> write(const Batch& batch, const std::vector<Entity>& also, std::int64_t session,
                 std::int64_t now_ns, std::int64_t shift_ns);

  // Folds while the file is larger than it should be, for some ten milliseconds at most.
  Result<> tidy();

  // Puts everything into the one file and closes it.
  void close();

  std::int64_t bytes();
  // Why what was committed may not have reached the disk.
  std::optional<Error> sync_trouble() const;
  // Rows given up for good since the last call.
  std::int64_t take_forgotten();
  // About what rows with text take, over all sessions; see Limits::max_bytes.
  std::int64_t entity_bytes() const { return entity_bytes_; }
  std::int64_t largest_id();
  // The first session: its boot and the anchor of the record's times.
  Result<std::vector<Session>> sessions();

 private:
  using SampleTables =
      std::tuple<SampleTable<FlowSample>, SampleTable<SocketSample>, SampleTable<CounterSample>,
                 SampleTable<GaugeSample>, SampleTable<Step>, SampleTable<Collective>,
                 SampleTable<FlowMark>>;

  // The table and level that has most outgrown its share.
  struct Heaviest {
    std::int64_t weight = 0;
    std::size_t table = 0;
    std::size_t level = 0;
  };

  Store(Database database, SampleTables tables, const std::filesystem::path& path,
        const Limits& limits);
  Result<> bound_log();
  Result<> insert(const Batch& batch, const std::vector<Entity>& also, std::int64_t shift_ns);
  Result<> insert_samples(const Words& words, std::int64_t shift_ns);
  Result<> insert_entity(const Entity& entity);
  Result<> keep_session(std::int64_t session, std::int64_t now_ns);
  Result<> commit(Result<> done);
  // False where there is nothing left to fold.
  Result<bool> fold_heaviest();
  Heaviest heaviest() const;

  Database database_;
  std::unique_ptr<Syncer> syncer_;  // none where the file system has no locks: commits sync then
  SampleTables tables_;
  std::vector<Statement> entity_inserts_;  // by Entity's index
  std::filesystem::path log_;
  Limits limits_;
  std::int64_t entity_bytes_ = 0;
  std::int64_t saved_entity_bytes_ = 0;
  std::int64_t forgotten_ = 0;
};

}  // namespace chokepoint::record
