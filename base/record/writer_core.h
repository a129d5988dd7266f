// The inside of the Writer: what any thread may touch (guarded by one mutex that is only ever held
// for moments), and what belongs to its own thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/record/loss.h"
#include "base/record/opening.h"
#include "base/record/row.h"
#include "base/record/store.h"
#include "base/record/writer.h"

namespace chokepoint::record {

class Writer::Core {
 public:
  Core(WriterLock lock, Store store, std::filesystem::path path, Session session,
       const Limits& limits, const sys::Clock& clock);
  ~Core();

  // Puts the session into the record and starts the thread.
  Result<> start();

  const std::filesystem::path& path() const { return path_; }
  Producer producer(std::string name);
  template <class Row>
  std::int64_t add(Row row);
  WriterStatus status() const;
  WriterStatus close(std::optional<int> exit_status);

 private:
  using Steady = std::chrono::steady_clock;

  bool enqueue(Entity entity, std::size_t size);

  // Below: the writer's thread, or nobody's while there is none.
  void work();
  void round();
  bool collect_samples();
  bool collect_entities();
  void note_refused();
  void note_limit(std::vector<Entity>& entities);
  void anchor_clock();
  bool is_due() const;
  void commit();
  void count_written();
  void fall_back(const Error& error);
  void finish();
  void seal();
  void give_up_rest();
  void publish();
  std::chrono::milliseconds pause();
  std::string reason() const;
  std::int64_t now_ns() const { return clock_.monotonic_ns() + session_.shift_ns; }

  // Both are let go of in close().
  std::optional<WriterLock> lock_;
  std::optional<Store> store_;
  const std::filesystem::path path_;
  Session session_;
  const Limits limits_;
  const sys::Clock& clock_;
  std::atomic<std::int64_t> next_id_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<Channel>> channels_;
  std::vector<Entity> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t refused_entities_ = 0;
  bool is_closing_ = false;
  WriterStatus status_;

  Batch batch_;
  std::size_t batch_rows_ = 0;
  std::size_t batch_entity_bytes_ = 0;
  std::size_t turn_ = 0;
  std::size_t moved_bytes_ = 0;
  LossBook losses_;
  std::optional<Error> trouble_;
  std::uint64_t rows_ = 0;
  Steady::time_point last_commit_ = Steady::now();
  Steady::time_point last_anchor_ = Steady::now();
  Steady::time_point retry_at_;
  std::chrono::milliseconds pause_{20};

  std::thread thread_;
};

template <class Row>
std::int64_t Writer::Core::add(Row row) {
  std::int64_t id = 1;
  if constexpr (requires { row.session; }) {
    row.session = session_.id;
  }
  if constexpr (requires { row.id; }) {
    row.id = row.id == 0 ? next_id_.fetch_add(1) : row.id;
    id = row.id;
  }
  shift_times(row, session_.shift_ns);
  const std::size_t size = size_of(row);
  return enqueue(Entity(std::move(row)), size) ? id : 0;
}

}  // namespace chokepoint::record
