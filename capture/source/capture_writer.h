// Writes captured packets to files: pcap with nanoseconds, or pcapng if there are several
// interfaces or the name says so; compressed if the name ends in ".zst"; into the next file when
// one is large or old enough:
//
//   trace.pcap.zst   ─▶   trace-0001.pcap.zst, trace-0002.pcap.zst, …
//
// Packets are on the disk after a second at most. The first failure (a full disk) is returned once
// and ends the writing; later packets are discarded. Called by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "capture/source/output_file.h"
#include "capture/source/source.h"

namespace chokepoint::capture::source {

struct WriteOptions {
  std::string path = {};                    // "-": standard output
  std::uint64_t file_bytes = 0;             // the next file after this size; 0: never
  std::chrono::nanoseconds file_time = {};  // and after this time, by the packets' clock; 0: never
  // Opens each file in turn; empty: open_capture().
  std::function<Result<sys::Descriptor>()> open_next = {};
};

// The path of the file of this number, from 1 on.
std::string capture_path(const WriteOptions& options, std::size_t number);
// Opens it. A single file has the name that the user gave; those of several are ours.
Result<sys::Descriptor> open_capture(const WriteOptions& options, std::size_t number);

class CaptureWriter {
 public:
  // Creates the first file, so that a mistake is reported before the capture begins.
  static Result<CaptureWriter> create(WriteOptions options);

  // Call it with empty batches, too: it flushes when a second has passed.
  Result<> add(const Batch& batch, const std::vector<Interface>& interfaces);
  Result<> finish();

  const std::vector<std::string>& paths() const { return paths_; }
  std::uint64_t packets() const { return packets_; }

 private:
  enum class Kind { Pcap, Pcapng };

  explicit CaptureWriter(WriteOptions options) : options_(std::move(options)) {}
  Result<> next_file();
  void begin(const std::vector<Interface>& interfaces);
  void describe(const std::vector<Interface>& interfaces);
  void add_drops(const Batch& batch);
  bool is_full(const packet::Frame& frame) const;
  Result<> add_frame(const packet::Frame& frame, const std::vector<Interface>& interfaces);
  Result<> add_all(const Batch& batch, const std::vector<Interface>& interfaces);
  Result<> once(Result<> outcome);

  WriteOptions options_;
  std::optional<OutputFile> file_;
  std::vector<std::string> paths_;
  std::optional<Kind> kind_;                   // chosen when the interfaces are known
  bool begun_ = false;                         // the file has its head
  std::size_t interfaces_described_ = 0;       // in this file
  std::optional<std::int64_t> file_since_ns_;  // its first packet
  std::vector<Drop> drops_;                    // since the file began, of each interface
  std::uint64_t packets_ = 0;
  std::chrono::steady_clock::time_point flushed_at_ = std::chrono::steady_clock::now();
  bool failed_ = false;
};

}  // namespace chokepoint::capture::source
