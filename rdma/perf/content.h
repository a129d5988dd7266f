// Messages of a test in its buffer, as the pattern has them: written before they are sent, looked
// at when they came. Only with check; memory that the processor does not reach goes through a copy
// kept here. One thread.
#pragma once

#include <span>
#include <vector>

#include "rdma/memory/buffer.h"
#include "rdma/perf/pattern.h"

namespace chokepoint::rdma::perf {

class Content {
 public:
  Content(memory::Buffer& buffer, std::uint32_t message_bytes);

  Result<> put(std::uint64_t offset, MessageNumber number);
  // So that what is left from before does not pass for new.
  Result<> wipe(std::uint64_t offset);
  Result<bool> holds(std::uint64_t offset, MessageNumber number);
  // The first number from `number` on, but before `end`, whose pattern is there.
  Result<std::optional<std::uint64_t>> find(std::uint64_t offset, MessageNumber number,
                                            std::uint64_t end, std::uint64_t step);
  Result<std::uint64_t> word(std::uint64_t offset);
  Result<bool> wiped(std::uint64_t offset);

 private:
  Result<std::span<std::byte>> at(std::uint64_t offset);

  memory::Buffer& buffer_;
  std::vector<std::byte> copy_;
  std::uint32_t bytes_;
};

}  // namespace chokepoint::rdma::perf
