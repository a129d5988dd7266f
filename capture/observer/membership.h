// Which flows are a watched job's, as far as is known now: only who sees the job's sockets can say
// it. Any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "capture/packet/packet.h"

namespace chokepoint::capture::observer {

class Membership {
 public:
  virtual ~Membership() = default;
  // True if ends.source is the job's end here; nullopt if the flow is not the job's, or not yet
  // known to be.
  virtual std::optional<bool> sends(const packet::Ends& ends) = 0;
  // Changes whenever sends() may have another answer.
  virtual std::uint64_t version() const = 0;
  // The flow with these ends is over.
  virtual void forget(const packet::Ends& /*ends*/) {}
};

}  // namespace chokepoint::capture::observer
