// Compares what arrived with what was sent (--check). Each message of a test has a pattern of its
// own, so that a message that was corrupted, is left over from before or took another's place is
// found. Messages of a queue pair arrive in order; over RC none is missing, over UC and UD some may
// be.
//
// A Verifier belongs to one side and its thread; the buffer outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rdma/perf/plan.h"
#include "rdma/verbs/buffer.h"
#include "rdma/verbs/endpoint.h"

namespace chokepoint::rdma::perf {

struct MessageNumber {
  int queue = 0;
  std::uint64_t sequence = 0;
};

void write_pattern(std::span<std::byte> into, MessageNumber number);
// The one sequence number whose message begins like this; nullopt: the message is too short.
std::optional<std::uint64_t> sequence_of(std::span<const std::byte> message, int queue);
bool holds_pattern(std::span<const std::byte> message, MessageNumber number);

// Patterns in a buffer: written before messages are sent, compared when they arrived. Memory that
// the processor does not reach goes through a copy kept here.
class Content {
 public:
  Content(verbs::Buffer& buffer, std::uint32_t message_bytes);

  Result<> put(std::uint64_t offset, MessageNumber number);
  // So that what is left from before is not taken for new.
  Result<> wipe(std::uint64_t offset);
  Result<bool> holds(std::uint64_t offset, MessageNumber number);
  // The first sequence from `number` on, below `end` and in steps of `step`, whose pattern is
  // there.
  Result<std::optional<std::uint64_t>> find(std::uint64_t offset, MessageNumber number,
                                            std::uint64_t end, std::uint64_t step);
  Result<std::uint64_t> word(std::uint64_t offset);
  Result<bool> wiped(std::uint64_t offset);

 private:
  Result<std::span<std::byte>> at(std::uint64_t offset);

  verbs::Buffer& buffer_;
  std::vector<std::byte> copy_;
  std::uint32_t bytes_;
};

class Verifier {
 public:
  Verifier(verbs::Buffer& buffer, const Plan& plan, const Layout& layout);

  // The active side, before a message is posted and after it completed.
  Result<> before(std::size_t place, MessageNumber number);
  Result<> after(std::size_t place, MessageNumber number);
  // The passive side of sends and writes with an immediate value.
  Result<> received(const verbs::Completion& completion);
  // The passive side of writes and atomics, at the end: after `sequences` messages of each queue
  // pair.
  Result<> finish(std::uint64_t sequences);

  std::uint64_t mismatches() const { return mismatches_; }

 private:
  Result<> arrived(std::uint64_t offset, MessageNumber first, std::uint64_t step);
  Result<> finish_target(int queue, std::size_t place, std::uint64_t sequences);
  Result<> finish_counter(int queue, std::uint64_t sequences);
  void count(bool matches) { mismatches_ += matches ? 0 : 1; }

  Content content_;
  Plan plan_;
  Layout layout_;
  std::vector<std::uint64_t> next_;  // the sequence expected on a queue pair
  std::uint64_t mismatches_ = 0;
};

}  // namespace chokepoint::rdma::perf
