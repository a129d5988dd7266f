// One connection and the thread that fills or drains it.
//
//   Send:     data until its time or bytes are over ─ shutdown ─ waits for the peer's close
//   Receive:  data until the peer's shutdown ─ close
//
// So the sender knows when everything has arrived, and both ends count the same bytes. The stream's
// thread writes the counters and any thread reads them; start, stop and the destructor belong to
// the owner's thread. A Payload is shared by all sending streams and never changes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::probe::tcp {

// The clock of the data loops: no virtual call (sys::Clock) for each chunk.
inline std::int64_t monotonic_ns() { return sys::SystemClock().monotonic_ns(); }

// The random bytes that every sending stream sends over and over: they cannot be compressed.
class Payload {
 public:
  static Result<Payload> make();
  Payload(Payload&& other) noexcept;
  Payload& operator=(Payload&&) = delete;
  ~Payload();

  // Whole pages, as vmsplice needs them.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit Payload(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

enum class Role { Send, Receive };

struct StreamPlan {
  Role role = Role::Send;
  int index = 0;
  std::int64_t time_ns = 0;                 // how long to send
  std::optional<std::uint64_t> bytes = {};  // how much to send, if that takes less time
  bool zero_copy = true;
  std::vector<int> cpus = {};  // to run on; empty: any
};

// Monotonic nanoseconds; 0: not yet.
struct alignas(64) StreamCounters {
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::int64_t> first_ns = 0;  // of the data
  std::atomic<std::int64_t> last_ns = 0;
  // When the last of it was given to the kernel, or taken from it.
  std::atomic<std::int64_t> data_done_ns = 0;
  std::atomic<std::int64_t> cpu_ns = 0;  // of the thread, until then
  std::atomic<bool> done = false;        // the thread has ended
  std::atomic<int> error = 0;            // errno
};

class Stream {
 public:
  Stream(sys::Descriptor fd, StreamPlan plan, const Payload& payload)
      : fd_(std::move(fd)), plan_(std::move(plan)), payload_(payload) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  Result<> start();
  // A sender sends no more; what it has sent still arrives. A receiver ignores it.
  void stop() { stopping_ = true; }
  // Ends it at once; what is in flight is lost.
  void abort();

  int descriptor() const { return fd_.get(); }
  const StreamPlan& plan() const { return plan_; }
  const StreamCounters& counters() const { return counters_; }

 private:
  // `buffer`: of a receiver.
  void run(std::byte* buffer);

  sys::Descriptor fd_;
  StreamPlan plan_;
  const Payload& payload_;
  StreamCounters counters_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace chokepoint::probe::tcp
