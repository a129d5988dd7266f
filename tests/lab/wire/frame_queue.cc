#include "tests/lab/wire/frame_queue.h"

#include <algorithm>
#include <new>

namespace chokepoint::lab {
namespace {

constexpr std::size_t rounded_up(std::size_t bytes) {
  constexpr std::size_t kAlignment = 16;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

FrameQueue::FrameQueue(std::size_t capacity_bytes, std::size_t longest_frame)
    : capacity_(0), slot_bytes_(rounded_up(sizeof(Record) + longest_frame)), ring_(nullptr) {
  // Room for a few of the longest at least: the last slot before the end may have to be skipped.
  capacity_ = rounded_up(std::max(capacity_bytes, 4 * slot_bytes_));
  ring_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
}

std::span<std::byte> FrameQueue::room() {
  if (used_ + slot_bytes_ > capacity_) {
    return {};
  }
  return {ring_.get() + tail_ + sizeof(Record), slot_bytes_ - sizeof(Record)};
}

void FrameQueue::push(std::size_t length, std::int64_t due_ns, WireSize size) {
  std::size_t span = rounded_up(sizeof(Record) + length);
  const bool next_fits = tail_ + span + slot_bytes_ <= capacity_;
  if (!next_fits) {
    span = capacity_ - tail_;  // the next frame begins at the start of the block
  }
  new (ring_.get() + tail_) Record{span, length, due_ns, size};
  tail_ = next_fits ? tail_ + span : 0;
  used_ += span;
}

const FrameQueue::Record& FrameQueue::front_record() const {
  return *std::launder(reinterpret_cast<const Record*>(ring_.get() + head_));
}

FrameQueue::Frame FrameQueue::front() const {
  const Record& record = front_record();
  return {{ring_.get() + head_ + sizeof(Record), record.length}, record.due_ns, record.size};
}

void FrameQueue::pop() {
  const std::size_t span = front_record().span_bytes;
  head_ = head_ + span == capacity_ ? 0 : head_ + span;
  used_ -= span;
}

}  // namespace chokepoint::lab
