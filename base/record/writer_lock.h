// One writer a record: a file beside it, FILE.db-lock, is held for the writer's life and removed on
// release.
//
// Where the file system has locks, an exclusive lock on that file is what holds: it is gone with
// its process, however that ends, also on another host. Where it has none (NFS without a lock
// daemon, Lustre without -o flock), the file's text holds: it names the process. A process that
// finds such a file
//   - of this boot and this PID namespace reads in /proc whether that process still runs;
//   - of another host, or where /proc does not show it, takes it as held while the record was
//   written
//     to within the last ten seconds, by the file server's clock. A watch commits twice a second.
// Only the process that made the file, or that has put its own in its place and found it there
// after a pause, holds it. Cases that remain: a writer on another host that is stopped for ten
// seconds loses the record to the next one, and so does one whose disk does not answer for as long;
// and of two that find the same abandoned file, one that is stopped for longer than the pause just
// between its check and its rename can take the place of the other.
//
// A value; one thread.
#pragma once

#include <sys/file.h>

#include <cstdint>
#include <filesystem>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::record {

class WriterLock {
 public:
  // As flock(2).
  using Lock = int (*)(int file, int operation);
  // The root is where /proc is.
  static Result<WriterLock> take(const std::filesystem::path& record, const sys::Root& root = {},
                                 Lock lock = &flock);
  WriterLock(WriterLock&&) noexcept = default;
  WriterLock& operator=(WriterLock&&) = delete;
  ~WriterLock();

  // False where the file system has none, and the file's text holds.
  bool has_locks() const { return has_locks_; }

 private:
  WriterLock(std::filesystem::path path, sys::Descriptor file, bool has_locks)
      : path_(std::move(path)), file_(std::move(file)), has_locks_(has_locks) {}
  static Result<WriterLock> take_by_name(const std::filesystem::path& record, sys::Descriptor file,
                                         bool is_made, const sys::Root& root);

  std::filesystem::path path_;
  sys::Descriptor file_;
  bool has_locks_;
};

// When the record or its log was last written to; 0 where neither is there.
std::int64_t written_ns(const std::filesystem::path& record);

// A record without a write for this long has no writer: a watch commits twice a second.
inline constexpr std::int64_t kSilentWriterNs = 10'000'000'000;

}  // namespace chokepoint::record
