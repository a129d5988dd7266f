// One process's file of rings, read record by record while it is written. Another process writes
// it, and may truncate it or fill it with anything at any moment: it is read by pread(), never
// mapped, as access to a mapping whose file shrank ends the process (SIGBUS).
//
// A record is whole if its number is the same before and after its words were read: the words of
// each piece are read once, and its numbers once more. What was overwritten before it was read is
// counted. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/sys/descriptor.h"
#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl {

// One record of a ring as it was read: words that are not checked yet. A value.

struct Entry {
  std::array<std::uint64_t, kWords> words = {};

  Kind kind() const { return static_cast<Kind>(words[0] & 0xffU); }
  std::uint16_t communicator() const { return static_cast<std::uint16_t>(words[0] >> 8U); }
  std::uint64_t at(std::size_t word) const { return words.at(word); }
};

enum class FileState {
  Unready,  // not written yet, or nothing of ours
  Foreign,  // another version's
  Good,
};

class RingFile {
 public:
  using OnEntry = std::function<void(const Entry& entry)>;

  explicit RingFile(sys::Descriptor file) : file_(std::move(file)) {}

  // Gives each record that has come since, ring by ring.
  FileState read(const OnEntry& on_entry);

  std::uint64_t version() const { return version_; }
  std::uint64_t process() const { return process_; }
  std::uint64_t table() const { return table_; }
  Choice choice() const { return choice_; }
  // No process can write to it any more: those that mapped it have ended, in any PID namespace.
  // False also if the file system does not support leases.
  bool has_no_writer() const;
  bool had_news() const { return had_news_; }  // in the last read()
  std::uint64_t overwritten() const { return overwritten_; }
  std::uint64_t unkept() const { return unkept_; }  // as counted by the writer

 private:
  using Bytes = std::vector<unsigned char>;

  FileState read_header();
  void read_ring(std::size_t ring, std::uint64_t written, const OnEntry& on_entry);
  bool read_slots(std::size_t ring, std::uint64_t from, std::size_t count, Bytes& into) const;
  bool read_at(std::size_t offset, void* into, std::size_t bytes) const;

  sys::Descriptor file_;
  std::uint64_t version_ = 0;
  std::uint64_t process_ = 0;
  std::uint64_t table_ = 0;
  Choice choice_ = {};
  std::uint64_t overwritten_ = 0;
  std::uint64_t unkept_ = 0;
  bool had_news_ = false;
  std::array<std::uint64_t, kRings> next_ = {};  // the record to read next, of each ring
  Bytes first_ = {};
  Bytes again_ = {};
};

}  // namespace chokepoint::capture::nccl
