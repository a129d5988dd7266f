// Which tests may run now: the turns, and the memory and threads that all tests of a server share.
// Any thread.
#pragma once

#include <cstdint>
#include <limits>
#include <list>
#include <mutex>
#include <string>

#include "base/sys/error.h"

namespace chokepoint::control {

// Whether a test disturbs others: a heavy one fills the path, a light one needs next to nothing.
// Alone: heavy, and beside no other heavy test even where both share. None: it is no test itself,
// and takes no turn.
enum class Weight { None, Light, Heavy, Alone };

// What a test takes of the server. A weight alone is a demand that needs next to nothing.
struct Demand {
  // NOLINTNEXTLINE(google-explicit-constructor)
  Demand(Weight of_path, std::int64_t of_threads = 0, std::int64_t of_bytes = 0)
      : weight(of_path), threads(of_threads), bytes(of_bytes) {}

  Weight weight;
  std::int64_t threads;
  std::int64_t bytes;  // of memory, its sockets' buffers included where their size was asked for
};

// What all tests together may take.
struct Capacity {
  std::int64_t threads = std::numeric_limits<std::int64_t>::max();
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
};

// Who may test now. A heavy test has the path for itself: others of its kind queue behind it in the
// order in which they came, unless all of them share. Light tests pass. Who would
// take more threads or memory than those that run have left waits until they have ended. Any
// thread.
class TestQueue {
 public:
  // `exclusive`: one client at a time, whatever the weight of its tests, and nobody queues: a
  // client that comes meanwhile is refused. (Latency under load, and a path over both families, are
  // several tests of one client at once.)
  explicit TestQueue(bool exclusive, const Capacity& capacity = {})
      : exclusive_(exclusive), capacity_(capacity) {}

  struct Test {
    Demand demand = Weight::Light;
    bool share = false;
    std::string who = {};    // "tcp by 10.0.0.2", for those who wait
    std::string owner = {};  // the client's host: its own tests belong together
  };

  // A place in the queue or at the front; given back when it goes.
  class Turn {
   public:
    Turn(TestQueue& test_queue, Test test);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();

    // Takes the turn if it has come. Else why not: Busy, which with `exclusive` is final, or
    // Exhausted where those that run leave too little.
    Result<> take();
    // The demand of a test that is known only once it has its turn. Exhausted where those that run
    // leave too little; the turn is kept, as before.
    Result<> grow(std::int64_t threads, std::int64_t bytes);

   private:
    TestQueue& test_queue_;
    std::uint64_t ticket_;
  };

  bool exclusive() const { return exclusive_; }
  // Exhausted where a test asks for more than all together may take.
  Result<> check(const Demand& demand) const;

 private:
  struct Entry {
    std::uint64_t ticket = 0;
    Test test = {};
    bool running = false;
  };
  const Entry* obstacle(const Entry& entry) const;
  bool has_room_for(const Entry& entry) const;

  const bool exclusive_;
  const Capacity capacity_;
  std::mutex mutex_;
  std::uint64_t next_ticket_ = 0;
  std::list<Entry> entries_;  // in the order of arrival
};

}  // namespace chokepoint::control
