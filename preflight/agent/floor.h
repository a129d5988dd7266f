// Who leads a preflight on this host: one at a time, because two would measure each other. Any
// thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/sys/error.h"

namespace chokepoint::preflight {

class Floor {
 public:
  // Given back when it goes.
  class Place {
   public:
    explicit Place(Floor& floor) : floor_(&floor) {}
    Place(Place&& other) noexcept : floor_(std::exchange(other.floor_, nullptr)) {}
    Place& operator=(Place&&) = delete;
    ~Place();

   private:
    Floor* floor_;
  };

  // `patience`: whoever has it may be leaving just now.
  Result<Place> take(const std::string& who, std::chrono::milliseconds patience);

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  std::optional<std::string> holder_;
};

}  // namespace chokepoint::preflight
