// Where the door's thread leaves visitors and another thread finds them, in the order of their
// coming. A mutex, and a descriptor to wait with.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include "base/net/patience.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/peer/door.h"

namespace chokepoint::probe::peer {

class WaitingRoom {
 public:
  static Result<std::unique_ptr<WaitingRoom>> make(std::size_t most);

  // False where it is full: the visitor is still the caller's.
  bool enter(Visitor& visitor);
  Result<Visitor> next(const net::Patience& patience);
  void clear();

 private:
  WaitingRoom(std::size_t most, sys::Descriptor bell) : most_(most), bell_(std::move(bell)) {}

  std::size_t most_;
  sys::Descriptor bell_;  // counts who waits
  std::mutex mutex_;
  std::deque<Visitor> waiting_;
};

}  // namespace chokepoint::probe::peer
