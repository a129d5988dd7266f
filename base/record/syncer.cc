#include "base/record/syncer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/sys/regular_file.h"
#include "base/sys/thread.h"

namespace chokepoint::record {
namespace {

constexpr off_t kLongLog = 8 << 20;

}  // namespace

Syncer::Syncer(Database database, sys::Descriptor log, std::filesystem::path path)
    : database_(std::move(database)), log_(std::move(log)), path_(std::move(path)) {}

Result<std::unique_ptr<Syncer>> Syncer::start(const std::filesystem::path& record) {
  const std::string log_path = record.string() + "-wal";
  // Locks lie on the file and its shared memory, so that closing this drops none.
  TRY(sys::Descriptor log, sys::open_regular("record", log_path, O_RDONLY));
  TRY(Database database, Database::open(record, Access::Write));
  TRY(database.run("PRAGMA synchronous=FULL;PRAGMA journal_size_limit=16777216;"));
  std::unique_ptr<Syncer> syncer(new Syncer(std::move(database), std::move(log), record));
  TRY(syncer->thread_, sys::start_thread("record sync", [raw = syncer.get()] { raw->work(); }));
  return syncer;
}

Syncer::~Syncer() {
  {
    const std::lock_guard guard(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Syncer::committed() {
  {
    const std::lock_guard guard(mutex_);
    is_behind_ = true;
  }
  wake_.notify_all();
}

std::optional<Error> Syncer::trouble() const {
  const std::lock_guard guard(mutex_);
  return trouble_;
}

void Syncer::work() {
  std::unique_lock guard(mutex_);
  while (true) {
    wake_.wait(guard, [this] { return is_behind_ || is_stopping_; });
    if (is_stopping_) {
      return;
    }
    is_behind_ = false;
    guard.unlock();
    sync();
    copy_log();
    guard.lock();
  }
}

void Syncer::sync() {
  const bool is_synced = fdatasync(log_.get()) == 0;
  std::optional<Error> trouble;
  if (!is_synced) {
    trouble = from_errno(errno, "sync", path_.string());
  }
  const std::lock_guard guard(mutex_);
  trouble_ = std::move(trouble);
}

void Syncer::copy_log() {
  struct stat status{};
  if (fstat(log_.get(), &status) != 0 || status.st_size < kLongLog) {
    return;
  }
  const std::lock_guard guard(copying_);
  // Where the disk is full or a reader is in the way the log only grows on; the writer bounds it.
  [[maybe_unused]] const Result<> done = database_.run("PRAGMA wal_checkpoint(PASSIVE)");
}

}  // namespace chokepoint::record
