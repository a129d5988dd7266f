// Brings what was committed to the disk, and the log into the file, on a thread of its own: a disk
// to which a training job writes its checkpoint takes seconds to sync, and the writer must not
// wait for it. What is committed survives a kill at once, and a power cut from the next sync on.
//
//   writer: write, commit ─▶ committed() …… goes on
//   syncer: fdatasync(log); where the log has grown, copies it into the file
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/record/database.h"
#include "base/sys/descriptor.h"

namespace chokepoint::record {

class Syncer {
 public:
  // The record and its log are there and stay.
  static Result<std::unique_ptr<Syncer>> start(const std::filesystem::path& record);
  ~Syncer();
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;

  // Never waits. Any thread.
  void committed();
  // Why the last sync failed, if it did. Any thread.
  std::optional<Error> trouble() const;
  // Held while the log is copied, which only one connection can do at a time.
  std::mutex& copying() { return copying_; }

 private:
  Syncer(Database database, sys::Descriptor log, std::filesystem::path path);
  void work();
  void sync();
  void copy_log();

  Database database_;
  const sys::Descriptor log_;
  const std::filesystem::path path_;
  std::mutex copying_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool is_behind_ = false;
  bool is_stopping_ = false;
  std::optional<Error> trouble_;

  std::thread thread_;
};

}  // namespace chokepoint::record
