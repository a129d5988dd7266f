#include "probe/udp/sender.h"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <thread>
#include <vector>

#include "base/math/units.h"
#include "base/net/headers.h"
#include "base/sys/clock.h"
#include "probe/udp/data_socket.h"
#include "probe/udp/packet.h"

namespace chokepoint::probe::udp {
namespace {

constexpr double kMinBatchGapNs = 100'000;

// Timers are not precise enough for shorter sleeps.
constexpr std::int64_t kMinSleepNs = 20'000;
// Beyond this it was not the timer that was late: the thread waited for the CPU.
constexpr std::int64_t kMaxTimerLateNs = 60'000;
constexpr std::int64_t kMaxSleepNs = 50'000'000;
constexpr int kNiceness = -15;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#else
  std::this_thread::yield();
#endif
}

constexpr std::size_t kMaxBatchBytes = std::size_t{64} * 1024;
constexpr std::uint32_t kMaxBatchPackets = 512;
constexpr std::uint32_t kMaxUnsegmented = 64;
// Linux before 6.9 takes no more segments in a message.
constexpr std::uint32_t kMaxSegments = 64;

// So that no device on the path can compress the packets.
void fill_with_noise(std::vector<std::byte>& buffer) {
  std::uint32_t state = 0x9e3779b9;
  for (std::byte& byte : buffer) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    byte = static_cast<std::byte>(state & 0xff);
  }
}

std::uint32_t fitting(std::size_t room, std::size_t packet_bytes, std::uint32_t most) {
  return std::clamp(static_cast<std::uint32_t>(room / packet_bytes), 1U, most);
}

// Sends batches of packets into a connected socket: they are built once, restamped for each batch,
// and handed over in one system call. Where the kernel can (UDP_SEGMENT), a message holds many
// packets, at most 64 KiB and kMaxSegments of them, and passes through the stack as one; otherwise
// a message is one packet.
class Outbox {
 public:
  Outbox(int fd, const PacketHead& first, std::size_t packet_bytes)
      : fd_(fd), packet_bytes_(std::clamp(packet_bytes, kHeadBytes, net::kMaxUdpPayloadBytes)) {
    segmented_ = cut_into(fd, packet_bytes_);
    per_message_ = segmented_ ? fitting(net::kMaxUdpPayloadBytes, packet_bytes_, kMaxSegments) : 1;
    most_ = fitting(kMaxBatchBytes, packet_bytes_, segmented_ ? kMaxBatchPackets : kMaxUnsegmented);
    buffer_.resize(most_ * packet_bytes_);
    fill_with_noise(buffer_);
    for (std::uint32_t i = 0; i < most_; ++i) {
      write_head(first, {packet(i), packet_bytes_});
    }
    pieces_.resize(most_);
    messages_.resize(most_);
  }

  // How many packets one system call takes.
  std::uint32_t most() const { return most_; }
  bool segmented() const { return segmented_; }

  // `packets` of them, numbered from `sequence`. Returns how many the kernel took: fewer or none
  // where its queue is full. Those that it took and dropped at once are in dropped().
  Result<std::uint32_t> send(std::uint64_t sequence, std::uint32_t packets, std::int64_t now_ns) {
    packets = std::min(packets, most_);
    for (std::uint32_t i = 0; i < packets; ++i) {
      restamp(packet(i), sequence + i, now_ns);
    }
    const std::size_t messages = lay_out(packets);
    const int taken = sendmmsg(fd_, messages_.data(), static_cast<unsigned>(messages),
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (taken >= 0) {
      return packets_in(static_cast<std::size_t>(taken), packets);
    }
    return refused(errno, sequence, packets, now_ns);
  }

  std::uint64_t dropped() const { return dropped_; }
  // How long the local interface's queue was full.
  std::int64_t blocked_ns() const { return blocked_ns_; }

 private:
  std::byte* packet(std::uint32_t index) { return buffer_.data() + index * packet_bytes_; }
  std::size_t lay_out(std::uint32_t packets) {
    std::size_t messages = 0;
    for (std::uint32_t first = 0; first < packets; first += per_message_) {
      const std::uint32_t count = std::min(per_message_, packets - first);
      pieces_[messages] = {.iov_base = packet(first), .iov_len = count * packet_bytes_};
      messages_[messages] = {};
      messages_[messages].msg_hdr.msg_iov = &pieces_[messages];
      messages_[messages].msg_hdr.msg_iovlen = 1;
      ++messages;
    }
    return messages;
  }

  std::uint32_t packets_in(std::size_t messages, std::uint32_t packets) const {
    return std::min(static_cast<std::uint32_t>(messages) * per_message_, packets);
  }

  Result<std::uint32_t> refused(int code, std::uint64_t sequence, std::uint32_t packets,
                                std::int64_t now_ns) {
    if (code == EAGAIN || code == EINTR) {
      await_space();
      return 0;
    }
    if (code == ENOBUFS) {
      const std::uint32_t gone = packets_in(1, packets);
      dropped_ += gone;
      return gone;
    }
    // A device without checksum offload, or a packet larger than its MTU: no segmentation.
    if (segmented_ && (code == EIO || code == EINVAL || code == EMSGSIZE)) {
      stop_segmenting();
      return send(sequence, packets, now_ns);
    }
    return fail(from_errno(code, "send UDP", "packet"));
  }

  void await_space() {
    constexpr int kMaxWaitMs = 20;
    const sys::SystemClock clock;
    const std::int64_t began = clock.monotonic_ns();
    pollfd room{fd_, POLLOUT, 0};
    poll(&room, 1, kMaxWaitMs);
    blocked_ns_ += clock.monotonic_ns() - began;
  }

  void stop_segmenting() {
    cut_into(fd_, 0);
    segmented_ = false;
    per_message_ = 1;
  }

  int fd_;
  std::size_t packet_bytes_;
  std::uint32_t per_message_ = 1;
  std::uint32_t most_;
  bool segmented_;
  std::uint64_t dropped_ = 0;
  std::int64_t blocked_ns_ = 0;
  std::vector<std::byte> buffer_;
  std::vector<iovec> pieces_;
  std::vector<mmsghdr> messages_;
};

PacketHead first_head(const SendPlan& plan) {
  return {.kind = PacketKind::Data,
          .stream = plan.identity.stream,
          .run = plan.identity.run,
          .test = plan.identity.test};
}

class StreamSender {
 public:
  StreamSender(int fd, const SendPlan& plan, SendProgress& progress)
      : outbox_(fd, first_head(plan), plan.packet_bytes), plan_(plan), progress_(progress) {}

  void run_paced(const std::atomic<bool>& stop) {
    const double rate = packets_per_second();
    const std::uint32_t batch = batch_for(rate, outbox_.most());
    Sleeper sleeper(static_cast<std::int64_t>(batch * 1e9 / rate));
    std::int64_t now = clock_.monotonic_ns();
    const std::int64_t end = now + plan_.duration.count();
    Pacer pacer(rate, batch, now);
    BurstMeter meter(rate);
    while (!over(stop, now, end)) {
      now = sleeper.until(std::min(pacer.next_ns(), end));
      const std::uint32_t packets = send(now < end ? pacer.due(now) : 0, now);
      if (packets > 0) {
        pacer.sent(packets, now);
        meter.add(packets, now);
      }
    }
    outcome_.tally.skipped = pacer.skipped();
    outcome_.tally.burst = meter.burst();
  }

  void run_unpaced(const std::atomic<bool>& stop) {
    std::int64_t now = clock_.monotonic_ns();
    const std::int64_t end = now + plan_.duration.count();
    for (; !over(stop, now, end); now = clock_.monotonic_ns()) {
      send(outbox_.most(), now);
    }
  }

  SendOutcome outcome() {
    outcome_.tally.bytes = outcome_.tally.packets * plan_.packet_bytes;
    outcome_.tally.dropped_here = outbox_.dropped();
    outcome_.tally.blocked_ns = outbox_.blocked_ns();
    outcome_.tally.segmented = outbox_.segmented();
    return outcome_;
  }

 private:
  double packets_per_second() const {
    return plan_.bits_per_second / math::kBits / static_cast<double>(plan_.packet_bytes);
  }

  bool over(const std::atomic<bool>& stop, std::int64_t now, std::int64_t end) const {
    return now >= end || outcome_.error || stop.load(std::memory_order_relaxed);
  }

  std::uint32_t send(std::uint32_t packets, std::int64_t now) {
    SendTally& tally = outcome_.tally;
    if (packets == 0) {
      return 0;
    }
    const Result<std::uint32_t> taken = outbox_.send(tally.packets, packets, now);
    if (!taken) {
      refuse(taken.error());
      return 0;
    }
    refusals_ = std::max(refusals_ - 1, 0);
    note(*taken, now);
    return *taken;
  }

  void note(std::uint32_t packets, std::int64_t now) {
    SendTally& tally = outcome_.tally;
    if (packets == 0) {
      return;
    }
    tally.first_ns = tally.packets == 0 ? now : tally.first_ns;
    tally.last_ns = now;
    tally.last_batch = packets;
    tally.packets += packets;
    progress_.packets.store(tally.packets, std::memory_order_relaxed);
  }

  // One error may be that of an old ICMP message. A peer that is gone answers each packet that
  // reaches it with another one, so only repeated errors end the stream.
  void refuse(const Error& error) {
    constexpr int kPerRefusal = 2;
    constexpr int kTooMany = 32;
    refusals_ += kPerRefusal;
    if (refusals_ >= kTooMany) {
      outcome_.error = error;
    }
  }

  sys::SystemClock clock_;
  Outbox outbox_;
  const SendPlan& plan_;
  SendProgress& progress_;
  SendOutcome outcome_;
  int refusals_ = 0;
};

}  // namespace

std::uint32_t batch_for(double packets_per_second, std::uint32_t most) {
  const double per_gap = packets_per_second * kMinBatchGapNs / math::kNsPerSecond;
  return static_cast<std::uint32_t>(
      std::clamp(std::floor(per_gap), 1.0, static_cast<double>(std::max(most, 1U))));
}

Pacer::Pacer(double packets_per_second, std::uint32_t batch, std::int64_t start_ns)
    : gap_ns_(math::kNsPerSecond / packets_per_second),
      batch_(batch),
      origin_ns_(start_ns),
      not_before_ns_(start_ns) {}

std::int64_t Pacer::next_ns() const {
  const double last_of_batch = sent_ + static_cast<double>(batch_ - 1);
  const std::int64_t scheduled =
      origin_ns_ + static_cast<std::int64_t>(std::ceil(last_of_batch * gap_ns_));
  return std::max(scheduled, not_before_ns_);
}

double Pacer::backlog(std::int64_t now_ns) const {
  return static_cast<double>(now_ns - origin_ns_) / gap_ns_ - sent_;
}

void Pacer::sent(std::uint32_t packets, std::int64_t now_ns) {
  sent_ += packets;
  const double most = std::max(static_cast<double>(kMaxBacklog.count()) / gap_ns_, 1.0);
  if (const double excess = std::floor(backlog(now_ns) - most); excess > 0) {
    sent_ += excess;
    skipped_ += static_cast<std::uint64_t>(excess);
  }
  not_before_ns_ = now_ns + static_cast<std::int64_t>(packets * gap_ns_ / kCatchUp);
}

Sleeper::Sleeper(std::int64_t usual_ns) {
  prctl(PR_SET_TIMERSLACK, 1UL);
  // On Linux priority belongs to a thread; 0 is the calling one.
  const sched_param lowest{.sched_priority = 1};
  if (usual_ns <= kMinSleepNs ||
      sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) < 0) {
    setpriority(PRIO_PROCESS, 0, kNiceness);
  }
}

void Sleeper::learn(std::int64_t late_ns) {
  constexpr std::int64_t kLatenessWeight = 16;  // of a moving average: one part of so many
  if (late_ns < kMaxTimerLateNs) {
    late_ns_ += (late_ns - late_ns_) / kLatenessWeight;
  }
}

std::int64_t Sleeper::until(std::int64_t when_ns) {
  std::int64_t now = now_ns();
  if (when_ns - now > kMinSleepNs) {
    const std::int64_t wake = std::min(std::max(when_ns - late_ns_, now), now + kMaxSleepNs);
    const timespec at = sys::timespec_of(wake);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
    now = now_ns();
    learn(now - wake);
    if (when_ns - now > kMinSleepNs) {
      return now;
    }
  }
  while (now < when_ns) {
    relax();
    now = now_ns();
  }
  return now;
}

void BurstMeter::add(std::uint32_t packets, std::int64_t now_ns) {
  // A batch that follows the one before after less of its own gap was sent in a hurry.
  constexpr double kMinGapShare = 0.9;
  if (burst_.batch_packets == 0) {
    last_ns_ = now_ns;
    hurried_since_ns_ = now_ns;
  }
  const double leaked = static_cast<double>(now_ns - last_ns_) * packets_per_ns_;
  level_ = std::max(level_ - leaked, 0.0) + packets;
  if (leaked >= kMinGapShare * packets) {
    hurried_since_ns_ = now_ns;
  }
  last_ns_ = now_ns;
  burst_.batch_packets = std::max(burst_.batch_packets, packets);
  burst_.bucket_packets = std::max(burst_.bucket_packets, level_);
  burst_.hurried_ns = std::max(burst_.hurried_ns, now_ns - hurried_since_ns_);
}

std::optional<double> bytes_per_second(const SendTally& tally) {
  if (tally.last_ns <= tally.first_ns || tally.packets == 0) {
    return std::nullopt;
  }
  // The last batch is not counted, since no time follows it.
  const double share =
      static_cast<double>(tally.packets - tally.last_batch) / static_cast<double>(tally.packets);
  return static_cast<double>(tally.bytes) * share * math::kNsPerSecond /
         static_cast<double>(tally.last_ns - tally.first_ns);
}

SendOutcome send_stream(int fd, const SendPlan& plan, const std::atomic<bool>& stop,
                        SendProgress& progress) {
  StreamSender sender(fd, plan, progress);
  if (plan.bits_per_second > 0) {
    sender.run_paced(stop);
  } else {
    sender.run_unpaced(stop);
  }
  return sender.outcome();
}

}  // namespace chokepoint::probe::udp
