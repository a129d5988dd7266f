// Frames on their way, in the order they come out: one block of memory used as a ring, so that a
// frame is read into its place, and written from there, without a copy or an allocation between.
//
//   while reading:  room() ─ read into it ─ push(length, due, size)      or nothing, where dropped
//   while writing:  front() ─ write ─ pop()
//
// A frame is never split over the end of the block. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "tests/lab/wire/shaper.h"

namespace chokepoint::lab {

class FrameQueue {
 public:
  struct Frame {
    std::span<const std::byte> data;
    std::int64_t due_ns;
    WireSize size;
  };

  FrameQueue(std::size_t capacity_bytes, std::size_t longest_frame);

  // Where the next frame may be put; empty where the ring is full.
  std::span<std::byte> room();
  // Keeps the first `length` bytes of room().
  void push(std::size_t length, std::int64_t due_ns, WireSize size);

  bool empty() const { return used_ == 0; }
  std::int64_t next_due_ns() const { return front_record().due_ns; }
  Frame front() const;
  void pop();

 private:
  struct Record {
    std::uint64_t span_bytes;  // this record's in the ring, with what is skipped before the end
    std::uint64_t length;
    std::int64_t due_ns;
    WireSize size;
  };

  const Record& front_record() const;

  std::size_t capacity_;
  std::size_t slot_bytes_;  // the most a frame and its record take
  std::unique_ptr<std::byte[]> ring_;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
  std::size_t used_ = 0;
};

}  // namespace chokepoint::lab
