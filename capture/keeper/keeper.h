// Writes what `capture` keeps, record and files, in a process of its own: the one that parses
// packets has no right to open files, and a disk that does not answer must hold nobody who waits
// for the capture's end.
//
//   capture (sandboxed)                         keeper (the user's rights)
//     start ─────────── fork ───────────────────▶ opens the record
//     ◀──────────────── Opened, Failed
//     NextFile ─────────────────────────────────▶ opens the file; its name follows from the options
//     ◀──────────────── File: a pipe that ends in it, or Failed
//     packets ───────── pipe ───────────────────▶
//     Rows ─────────────────────────────────────▶ base/record/forward.h
//     Close ────────────────────────────────────▶ writes what is left
//     ◀──────────────── Closed: what was kept
//
// If the capture dies, the keeper closes what it has. One thread on the keeper's side; next_file()
// and send_rows() come from the capture's threads, one of each.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/record/writer.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/message_socket.h"
#include "base/sys/root.h"
#include "capture/source/capture_writer.h"

namespace chokepoint::capture::keeper {

struct KeeperOptions {
  std::optional<record::WriterOptions> record = {};
  source::WriteOptions files = {};  // path empty: none
  bool waits = false;               // for the disk, rather than to lose rows
};

struct Kept {
  std::optional<Error> files_trouble = {};
  std::optional<Error> record_trouble = {};
  std::uint64_t dropped_rows = 0;
};

class Keeper {
 public:
  // Forks, so there must be no other thread yet. Root and clock outlive it.
  static Result<std::unique_ptr<Keeper>> start(const KeeperOptions& options, const sys::Root& root,
                                               const sys::Clock& clock);
  ~Keeper() = default;
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  int socket() const { return socket_.get(); }
  const std::string& record_path() const { return record_path_; }

  Result<sys::Descriptor> next_file();
  // False if the disk has not answered for some seconds.
  bool send_rows(std::string_view rows);
  // An error if that takes longer than a few seconds, or `interrupt` becomes readable meanwhile.
  Result<Kept> close(int interrupt);

 private:
  Keeper(pid_t pid, sys::Descriptor socket);
  Result<> wait_until_open();
  // Its head and bytes, which stay until the next call.
  Result<sys::ReceivedMessage> receive(std::chrono::milliseconds time, int interrupt);

  pid_t pid_;
  sys::Descriptor socket_;
  std::unique_ptr<char[]> buffer_;
  std::string record_path_ = {};
  std::atomic<bool> is_stuck_ = false;
};

}  // namespace chokepoint::capture::keeper
