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

class CoordinatorLock {
 public:
  // Given back when it goes.
  class Place {
   public:
    explicit Place(CoordinatorLock& floor) : lock_(&floor) {}
    Place(Place&& other) noexcept : lock_(std::exchange(other.lock_, nullptr)) {}
    Place& operator=(Place&&) = delete;
    ~Place();

   private:
    CoordinatorLock* lock_;
  };

  struct Coordinator {
    std::string who = {};        // for people
    std::string preflight = {};  // what only those of one preflight have in common; may be empty
    std::string called = {};     // the address at which it called this host
  };

  // `patience`: whoever has it may be leaving just now.
  Result<Place> take(const Coordinator& coordinator, std::chrono::milliseconds patience);

 private:
  bool has(const std::string& preflight) const;

  std::mutex mutex_;
  std::condition_variable free_;
  std::optional<Coordinator> holder_;
};

}  // namespace chokepoint::preflight
