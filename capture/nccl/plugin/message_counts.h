// How many messages each pair of ranks has exchanged so far: NCCL does not number them, and only a
// count made where nothing is lost is the same at both ends. A table of fixed size; any thread, no
// lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl::plugin {

class MessageCounts {
 public:
  static constexpr std::size_t kPlaces = 8'192;

  // The number of this message among those between this rank and its peer, from 0; kNone where the
  // table is full.
  std::uint64_t next(std::uint64_t communicator, int peer, bool is_received);

 private:
  static constexpr std::size_t kMaxProbes = 64;

  struct Place {
    Word key;  // 0: free
    Word count;
  };

  std::array<Place, kPlaces> places_ = {};
};

}  // namespace chokepoint::capture::nccl::plugin
