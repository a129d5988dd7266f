// Who may test now. A heavy test has the path for itself: others of its kind queue behind it in the
// order in which they came, unless all of them said that they share. Light tests pass. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>

#include "base/control/service.h"
#include "base/sys/error.h"

namespace chokepoint::control {

class Turnstile {
 public:
  // `exclusive`: one client at a time, whatever the weight of its tests, and nobody queues: who
  // comes meanwhile is refused. (Latency under load, and a path over both families, are several
  // tests of one client at once.)
  explicit Turnstile(bool exclusive) : exclusive_(exclusive) {}

  struct Test {
    Weight weight = Weight::Light;
    bool share = false;
    std::string who = {};    // "tcp by 10.0.0.2", for those who wait
    std::string owner = {};  // the client's host: its own tests belong together
  };

  // A place in the queue or at the front; given back when it goes.
  class Turn {
   public:
    Turn(Turnstile& turnstile, Test test);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();

    // Takes the turn if it has come. Else why not; with `exclusive` that is final.
    Result<> take();

   private:
    Turnstile& turnstile_;
    std::uint64_t ticket_;
  };

  bool exclusive() const { return exclusive_; }

 private:
  struct Entry {
    std::uint64_t ticket = 0;
    Test test = {};
    bool running = false;
  };
  const Entry* obstacle(const Entry& entry) const;

  const bool exclusive_;
  std::mutex mutex_;
  std::uint64_t next_ticket_ = 0;
  std::list<Entry> entries_;  // in the order of arrival
};

}  // namespace chokepoint::control
