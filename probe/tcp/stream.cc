#include "probe/tcp/stream.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>

#include "base/net/socket.h"
#include "base/sys/clock.h"
#include "base/sys/signals.h"
#include "base/sys/thread.h"
#include "probe/tcp/parameters.h"

namespace chokepoint::probe::tcp {
namespace {

// Small enough to stay in a core's cache, large enough that one call moves a lot.
constexpr std::size_t kPayloadBytes = std::size_t{1} << 20;

void fill(std::byte* begin) {
  std::mt19937_64 random(0x63686f6b65);
  for (std::size_t at = 0; at < kPayloadBytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(begin + at, &word, sizeof(word));
  }
}

constexpr std::size_t kPage = 4096;

struct Pipe {
  sys::Descriptor out;
  sys::Descriptor in;
};

std::optional<Pipe> make_pipe(std::size_t size) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) < 0) {
    return std::nullopt;
  }
  Pipe pipe{sys::Descriptor(ends[0]), sys::Descriptor(ends[1])};
  // An unprivileged user with many pipes gets smaller ones, which work as well.
  fcntl(pipe.in.get(), F_SETPIPE_SZ, static_cast<int>(size));
  return pipe;
}

// Puts the payload into a socket, without copying it where the kernel can.
//
//   payload ── vmsplice, once ──► full pipe ── tee ──► pipe ── splice ──► socket
//
// The full pipe keeps its pages, so a chunk costs two calls and no page look-up.
class Outlet {
 public:
  // Falls back to copying where pipes cannot be had. `payload` outlives it.
  Outlet(int socket, const Payload& payload, bool zero_copy)
      : socket_(socket), payload_(payload), largest_(payload.bytes().size()) {
    zero_copy_ = zero_copy && fill_pipe();
  }

  // As send(2): how much went into the socket, at most `most`; -1 with errno.
  ssize_t send_some(std::size_t most) {
    const std::size_t size = std::min(most, largest_);
    if (!zero_copy_) {
      return send(socket_, payload_.bytes().data(), size, MSG_NOSIGNAL);
    }
    const ssize_t sent = splice_some(size);
    if (sent < 0 && errno == EINVAL) {
      zero_copy_ = false;
      return send(socket_, payload_.bytes().data(), size, MSG_NOSIGNAL);
    }
    return sent;
  }

  std::size_t largest() const { return largest_; }

 private:
  bool fill_pipe() {
    std::optional<Pipe> full = make_pipe(payload_.bytes().size());
    std::optional<Pipe> second = make_pipe(payload_.bytes().size());
    if (!full || !second) {
      return false;
    }
    const auto fits = static_cast<std::size_t>(std::max(
        std::min(fcntl(full->in.get(), F_GETPIPE_SZ), fcntl(second->in.get(), F_GETPIPE_SZ)), 0));
    const std::size_t size = std::min(fits, payload_.bytes().size()) / kPage * kPage;
    iovec pages{const_cast<std::byte*>(payload_.bytes().data()), size};
    const ssize_t filled = vmsplice(full->in.get(), &pages, 1, SPLICE_F_NONBLOCK);
    if (filled < static_cast<ssize_t>(kPage)) {
      return false;
    }
    largest_ = static_cast<std::size_t>(filled);
    full_out_ = std::move(full->out);
    full_in_ = std::move(full->in);
    out_ = std::move(second->out);
    in_ = std::move(second->in);
    return true;
  }

  ssize_t splice_some(std::size_t most) {
    if (waiting_ == 0) {
      const ssize_t copied = tee(full_out_.get(), in_.get(), most, SPLICE_F_NONBLOCK);
      if (copied < 0) {
        return copied;
      }
      waiting_ = static_cast<std::size_t>(copied);
    }
    const ssize_t sent =
        splice(out_.get(), nullptr, socket_, nullptr, std::min(waiting_, most), SPLICE_F_MOVE);
    waiting_ -= sent > 0 ? static_cast<std::size_t>(sent) : 0;
    return sent;
  }

  int socket_;
  const Payload& payload_;
  std::size_t largest_;
  bool zero_copy_ = false;
  sys::Descriptor full_in_, full_out_;
  sys::Descriptor in_, out_;
  std::size_t waiting_ = 0;  // bytes in the second pipe
};

// The two loops that move the data run on the stream's thread, on a blocking socket whose timeout
// lets them notice that they shall stop.
constexpr std::chrono::milliseconds kBlocked{100};
constexpr std::size_t kMinChunkBytes = std::size_t{16} << 10;
// How long a chunk should take: with longer ones the test ends late, with much shorter ones the
// calls cost more than the data.
constexpr std::int64_t kChunkNs = 5'000'000;
// How long the rest may take to arrive once the sender is done.
constexpr std::int64_t kMaxDrainNs = 30'000'000'000;

bool retry(int code) { return code == EAGAIN || code == EINTR; }

// How much to give to the kernel in one call, adapted to how fast it takes it.
class Chunk {
 public:
  explicit Chunk(std::size_t largest) : largest_(largest) {}

  std::size_t size() const { return size_; }
  void fit(std::int64_t took_ns) {
    if (took_ns > 2 * kChunkNs) {
      size_ = std::max(size_ / 2, kMinChunkBytes);
    } else if (took_ns < kChunkNs / 2) {
      size_ = std::min(size_ * 2, largest_);
    }
  }

 private:
  std::size_t largest_;
  std::size_t size_ = 4 * kMinChunkBytes;
};

void finish_data(StreamCounters& counters, std::int64_t now) {
  counters.cpu_ns = sys::thread_cpu_ns();
  counters.data_done_ns = now;
}

// The peer closes when it has everything.
void await_close(int fd, StreamCounters& counters) {
  shutdown(fd, SHUT_WR);
  const std::int64_t until = monotonic_ns() + kMaxDrainNs;
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

// How much must have arrived before the kernel wakes the receiver (SO_RCVLOWAT), adapted to the
// rate: 50 µs of it. On fast paths that spares both ends' processors wake-ups for every few
// packets; where it would be less than the 64 KiB that one packet may hold after GRO, each one
// wakes it as ever. What lies there when the sender pauses is taken after kBlocked at the latest,
// and at the end at once.
class WakeUps {
 public:
  WakeUps(int fd, std::int64_t now) : fd_(fd), since_ns_(now) {}

  void arrived(std::int64_t bytes, std::int64_t now) {
    bytes_ += bytes;
    if (now < since_ns_ + kAdaptNs) {
      return;
    }
    const std::int64_t wanted = rounded(bytes_ * kWaitNs / (now - since_ns_));
    if (wanted != set_) {
      set(wanted);
    }
    bytes_ = 0;
    since_ns_ = now;
  }

 private:
  static constexpr std::int64_t kAdaptNs = 10'000'000;  // between two adaptations
  static constexpr std::int64_t kWaitNs = 50'000;       // for which one read may wait
  static constexpr std::int64_t kStep = std::int64_t{64} << 10;
  static constexpr std::int64_t kMaxLowWater = 4 * kStep;
  static constexpr int kMaxShareOfBuffer = 8;  // one part of so many

  static std::int64_t rounded(std::int64_t bytes) {
    return bytes < kStep ? 1 : std::min(bytes / kStep * kStep, kMaxLowWater);
  }

  // Never so much that the window which is offered suffers.
  void set(std::int64_t wanted) {
    int buffer = 0;
    socklen_t length = sizeof(buffer);
    getsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &buffer, &length);
    const int bytes = wanted > buffer / kMaxShareOfBuffer ? 1 : static_cast<int>(wanted);
    setsockopt(fd_, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
    set_ = wanted;
  }

  int fd_;
  std::int64_t since_ns_;
  std::int64_t bytes_ = 0;
  std::int64_t set_ = 1;
};

// With zero_copy what arrives is counted and dropped inside the kernel.
void receive_data(int fd, const StreamPlan& plan, std::byte* buffer, StreamCounters& counters) {
  const int flags = plan.zero_copy ? MSG_TRUNC : 0;
  WakeUps wake_ups(fd, monotonic_ns());
  while (true) {
    const ssize_t got = recv(fd, buffer, kReceiveBytes, flags);
    if (got > 0) {
      const std::int64_t now = monotonic_ns();
      if (counters.first_ns.load(std::memory_order_relaxed) == 0) {
        counters.first_ns.store(now, std::memory_order_relaxed);
      }
      counters.bytes.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
      counters.last_ns.store(now, std::memory_order_relaxed);
      if (plan.zero_copy) {
        wake_ups.arrived(got, now);
      }
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

void run_on(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    CPU_SET(static_cast<std::size_t>(cpu), &set);
  }
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

}  // namespace

Result<Payload> Payload::make() {
  void* memory =
      mmap(nullptr, kPayloadBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return fail(from_errno(errno, "prepare", "payload"));
  }
  auto* begin = static_cast<std::byte*>(memory);
  fill(begin);
  return Payload({begin, kPayloadBytes});
}

Payload::Payload(Payload&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Payload::~Payload() {
  if (!bytes_.empty()) {
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

Stream::~Stream() {
  if (thread_.joinable()) {
    abort();
    thread_.join();
  }
}

Result<> Stream::start() {
  // Here an exception for a lack of memory is caught; in the thread it would end the program.
  auto buffer = plan_.role == Role::Receive
                    ? std::make_unique_for_overwrite<std::byte[]>(kReceiveBytes)
                    : nullptr;
  TRY(thread_,
      sys::start_thread("tcp stream", [this, buffer = std::move(buffer)] { run(buffer.get()); }));
  return {};
}

void Stream::abort() {
  stopping_ = true;
  shutdown(fd_.get(), SHUT_RDWR);
}

void Stream::run(std::byte* buffer) {
  sys::hold_broken_pipe();  // splice() knows no MSG_NOSIGNAL
  if (!plan_.cpus.empty()) {
    run_on(plan_.cpus);
  }
  if (!net::set_blocking(fd_.get(), kBlocked, kBlocked)) {
    counters_.error = EINVAL;
  } else if (plan_.role == Role::Send) {
    send_data(fd_.get(), plan_, payload_, counters_, stopping_);
  } else {
    receive_data(fd_.get(), plan_, buffer, counters_);
  }
  counters_.done = true;
}

}  // namespace chokepoint::probe::tcp
