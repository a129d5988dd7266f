#include "probe/tcp/transfer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "probe/tcp/monotonic.h"
#include "probe/tcp/outlet.h"

namespace chokepoint::probe::tcp {
namespace {

constexpr std::size_t kSmallestChunk = std::size_t{16} << 10;
constexpr std::size_t kReceiveChunk = std::size_t{4} << 20;
// A chunk should take about this long: longer, and the end of the test is missed; much shorter, and
// the calls cost more than the data.
constexpr std::int64_t kChunkTakes = 5'000'000;
// How long what was sent may take to arrive once the sender is done.
constexpr std::int64_t kArrivesWithinNs = 30'000'000'000;

bool retry(int code) { return code == EAGAIN || code == EINTR; }

// How much to give to the kernel at a time, fitted to how fast it takes it.
class Chunk {
 public:
  explicit Chunk(std::size_t largest) : largest_(largest) {}

  std::size_t size() const { return size_; }
  void fit(std::int64_t took_ns) {
    if (took_ns > 2 * kChunkTakes) {
      size_ = std::max(size_ / 2, kSmallestChunk);
    } else if (took_ns < kChunkTakes / 2) {
      size_ = std::min(size_ * 2, largest_);
    }
  }

 private:
  std::size_t largest_;
  std::size_t size_ = 4 * kSmallestChunk;
};

void finish_data(StreamCounters& counters, std::int64_t now) {
  counters.cpu_ns = thread_cpu_ns();
  counters.data_done_ns = now;
}

// The peer closes when it has everything.
void await_close(int fd, StreamCounters& counters) {
  shutdown(fd, SHUT_WR);
  const std::int64_t until = monotonic_ns() + kArrivesWithinNs;
  char byte = 0;
  while (true) {
    const ssize_t got = recv(fd, &byte, 1, 0);
    if (got == 0) {
      return;
    }
    if (got < 0 && !retry(errno)) {
      counters.error = errno;
      return;
    }
    if (monotonic_ns() > until) {
      counters.error = ETIMEDOUT;
      return;
    }
  }
}

}  // namespace

void send_data(int fd, const StreamPlan& plan, const Payload& payload, StreamCounters& counters,
               const std::atomic<bool>& stopping) {
  Outlet outlet(fd, payload, plan.zero_copy);
  Chunk chunk(outlet.largest());
  std::uint64_t left = plan.bytes.value_or(~std::uint64_t{0});
  std::int64_t now = monotonic_ns();
  const std::int64_t until = now + plan.time_ns;
  counters.first_ns = now;
  while (left > 0 && now < until && !stopping.load(std::memory_order_relaxed)) {
    const ssize_t sent = outlet.send_some(std::min<std::uint64_t>(chunk.size(), left));
    const std::int64_t after = monotonic_ns();
    if (sent > 0) {
      left -= static_cast<std::uint64_t>(sent);
      counters.bytes.fetch_add(static_cast<std::uint64_t>(sent), std::memory_order_relaxed);
      counters.last_ns.store(after, std::memory_order_relaxed);
    } else if (sent < 0 && !retry(errno)) {
      counters.error = errno;
      break;
    }
    chunk.fit(after - now);
    now = after;
  }
  finish_data(counters, now);
  await_close(fd, counters);
}

void receive_data(int fd, const StreamPlan& plan, StreamCounters& counters) {
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kReceiveChunk);
  const int flags = plan.zero_copy ? MSG_TRUNC : 0;
  while (true) {
    const ssize_t got = recv(fd, buffer.get(), kReceiveChunk, flags);
    if (got > 0) {
      const std::int64_t now = monotonic_ns();
      if (counters.first_ns.load(std::memory_order_relaxed) == 0) {
        counters.first_ns.store(now, std::memory_order_relaxed);
      }
      counters.bytes.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
      counters.last_ns.store(now, std::memory_order_relaxed);
    } else if (got == 0) {
      break;
    } else if (!retry(errno)) {
      counters.error = errno;
      break;
    }
  }
  finish_data(counters, monotonic_ns());
  shutdown(fd, SHUT_WR);
}

}  // namespace chokepoint::probe::tcp
