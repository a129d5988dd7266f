// Writes a capture's record and files in a process of its own: the one that parses packets has no
// right to open files, and a disk that does not answer must not delay the end of the capture.
//
//   capture (sandboxed)                         chokepoint-keep (the user's rights)
//     start ─────────── fork ───────────────────▶ opens the record
//     ◀──────────────── Opened: the record's path; Failed
//     NextFile ─────────────────────────────────▶ opens the file; its name follows from the options
//     ◀──────────────── File: a pipe that ends in it; NoFile: why
//     packets ───────── pipe ───────────────────▶
//     Rows ─────────────────────────────────────▶ base/record/forward.h
//     Close ────────────────────────────────────▶ writes what is left
//     ◀──────────────── FilesTrouble, RecordTrouble; Closed: rows that were dropped
//
// If the capture dies, the other process closes what it has. It has one thread; next_file() and
// send_rows() come from the capture's threads, one of each.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/record/writer.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "base/sys/worker.h"
#include "capture/source/capture_writer.h"

namespace chokepoint::capture {

struct RecordOptions {
  std::optional<record::WriterOptions> record = {};
  source::WriteOptions files = {};  // path empty: none
  bool waits = false;               // for the disk, rather than to lose rows
};

struct WrittenCapture {
  std::optional<Error> files_trouble = {};
  std::optional<Error> record_trouble = {};
  std::uint64_t dropped_rows = 0;
};

class RecordProcess {
 public:
  // Forks, so there must be no other thread yet. Root and clock outlive it.
  static Result<std::unique_ptr<RecordProcess>> start(const RecordOptions& options,
                                                      const sys::Root& root,
                                                      const sys::Clock& clock);

  int socket() const { return worker_.socket().descriptor(); }
  const std::string& record_path() const { return record_path_; }

  Result<sys::Descriptor> next_file();
  // False if the disk has taken nothing for some seconds.
  bool send_rows(std::string_view rows);
  // An error if that takes longer than a few seconds, or `interrupt` becomes readable meanwhile.
  Result<WrittenCapture> close(int interrupt);

 private:
  explicit RecordProcess(sys::Worker worker) : worker_(std::move(worker)) {}

  sys::Worker worker_;
  std::string record_path_ = {};
  std::atomic<bool> is_stuck_ = false;
};

}  // namespace chokepoint::capture
