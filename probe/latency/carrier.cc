#include "probe/latency/carrier.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "base/math/units.h"
#include "base/net/tcp_info.h"
#include "base/sys/clock.h"

namespace chokepoint::probe::latency {
namespace {

constexpr std::size_t kFrameBytes = kHeadBytes + kDataBytes;
// One call moves as many.
constexpr std::size_t kBatchFrames = 8;
constexpr std::size_t kReadBytes = std::size_t{256} * 1024;
// More than a peer that measures has unanswered.
constexpr std::size_t kMaxRequested = 4096;
constexpr std::size_t kMaxSmallBytes = kMaxRequested * kSmallBytes;
constexpr double kUsPerMs = 1000;

// Frames of random bytes, which cannot be compressed.
std::span<const std::byte> batch() {
  static const std::vector<std::byte> frames = [] {
    std::vector<std::byte> filled(kBatchFrames * kFrameBytes);
    std::mt19937_64 random(0x72706d);
    for (std::size_t at = 0; at < filled.size(); at += sizeof(std::uint64_t)) {
      const std::uint64_t word = random();
      std::memcpy(filled.data() + at, &word, sizeof(word));
    }
    for (std::size_t at = 0; at < filled.size(); at += kFrameBytes) {
      std::ranges::copy(bytes_of({.type = FrameType::Data, .length = kDataBytes}),
                        filled.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return filled;
  }();
  return frames;
}

static_assert(kFrameBytes % sizeof(std::uint64_t) == 0);

std::optional<double> own_rtt_ms(int fd) {
  const Result<net::TcpInfo> info = net::read_tcp_info(fd);
  return info ? info->rtt_ms : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Carrier>> Carrier::make(sys::Descriptor fd, Fills fills, Answered answered) {
  sys::Descriptor bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  // The end of a load frees the path at once: what was not sent is dropped.
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  const bool is_set = setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0;
  if (!bell || !is_set) {
    return fail(from_errno(errno, "open connection", "load"));
  }
  return std::unique_ptr<Carrier>(
      new Carrier(std::move(fd), std::move(bell), fills, std::move(answered)));
}

Carrier::Carrier(sys::Descriptor fd, sys::Descriptor bell, Fills fills, Answered answered)
    : fd_(std::move(fd)),
      bell_(std::move(bell)),
      answered_(std::move(answered)),
      may_be_asked_(fills == Fills::No),
      fills_(fills == Fills::Yes),
      incoming_(kReadBytes) {
  if (fills == Fills::Peer) {
    const FrameHeadBytes request = bytes_of({.type = FrameType::Fill});
    small_.assign(request.begin(), request.end());
  }
}

void Carrier::stop() {
  stopping_ = true;
  const std::uint64_t one = 1;
  std::ignore = ::write(bell_.get(), &one, sizeof(one));
}

bool Carrier::ask() {
  {
    const std::lock_guard lock(mutex_);
    if (asked_.size() >= kMaxRequested) {
      return false;
    }
    const std::uint32_t number = next_number_++;
    asked_.push_back({.number = number, .at_ns = sys::SystemClock().monotonic_ns()});
    const FrameHeadBytes frame = bytes_of({.type = FrameType::Get, .number = number});
    small_.insert(small_.end(), frame.begin(), frame.end());
  }
  const std::uint64_t one = 1;
  return ::write(bell_.get(), &one, sizeof(one)) == sizeof(one);
}

std::optional<std::uint64_t> Carrier::acknowledged_bytes() const {
  const Result<net::TcpInfo> info = net::read_tcp_info(fd_.get());
  return info ? info->bytes_acknowledged : std::nullopt;
}

Result<> Carrier::run() {
  const Result<> moved = move_bytes();
  shutdown(fd_.get(), SHUT_RDWR);
  return moved;
}

Result<> Carrier::move_bytes() {
  while (!stopping_) {
    const short events = wants_to_write() ? POLLIN | POLLOUT : POLLIN;
    std::array<pollfd, 2> watched{pollfd{fd_.get(), events, 0}, pollfd{bell_.get(), POLLIN, 0}};
    poll(watched.data(), watched.size(), -1);
    if (watched[1].revents != 0) {
      std::uint64_t rings = 0;
      std::ignore = read(bell_.get(), &rings, sizeof(rings));
    }
    if ((watched[0].revents & ~POLLOUT) != 0) {
      TRY(const bool goes_on, read_some());
      if (!goes_on) {
        return {};
      }
    }
    if ((watched[0].revents & POLLOUT) != 0) {
      TRY(write_some());
    }
  }
  return {};
}

bool Carrier::wants_to_write() {
  const std::lock_guard lock(mutex_);
  return fills_ || !small_.empty() || !writing_.empty();
}

Result<bool> Carrier::read_some() {
  const ssize_t got = recv(fd_.get(), incoming_.data(), incoming_.size(), MSG_DONTWAIT);
  if (got > 0) {
    TRY(take(std::span(incoming_).first(static_cast<std::size_t>(got))));
    return true;
  }
  if (got < 0 && errno != EAGAIN && errno != EINTR) {
    return fail(from_errno(errno, "receive", "load"));
  }
  return got < 0;
}

Result<> Carrier::take(std::span<const std::byte> bytes) {
  TRY(scanner_.take(bytes, [this](const Frame& frame) { note(frame); }));
  received_bytes_ = scanner_.data_bytes();
  return is_hostile_ ? fail(ErrorKind::Malformed, "read frame", "",
                            "it asks for more than it takes or may, or answers what was not asked")
                     : Result<>{};
}

void Carrier::note(const Frame& frame) {
  switch (frame.head.type) {
    case FrameType::Get: {
      const double rtt_us = fills_ ? own_rtt_ms(fd_.get()).value_or(0) * kUsPerMs : 0;
      return queue(object_bytes(frame.head.number, static_cast<std::uint32_t>(rtt_us)));
    }
    case FrameType::Object:
      return note_answer(frame);
    case FrameType::Fill:
      is_hostile_ |= !may_be_asked_;
      fills_ = fills_ || may_be_asked_;
      return;
    case FrameType::Data:
      return;
  }
}

void Carrier::note_answer(const Frame& object) {
  Asked asked;
  {
    const std::lock_guard lock(mutex_);
    if (asked_.empty() || asked_.front().number != object.head.number) {
      is_hostile_ = true;
      return;
    }
    asked = asked_.front();
    asked_.pop_front();
  }
  const std::int64_t took = sys::SystemClock().monotonic_ns() - asked.at_ns;
  SelfTime time{.took_ms = static_cast<double>(took) / math::kNsPerMs};
  if (fills_) {
    time.path_ms = own_rtt_ms(fd_.get());
  } else if (object.rtt_us != 0) {
    time.path_ms = object.rtt_us / kUsPerMs;
  }
  answered_(time);
}

void Carrier::queue(std::span<const std::byte> frame) {
  const std::lock_guard lock(mutex_);
  is_hostile_ |= small_.size() + frame.size() > kMaxSmallBytes;
  if (!is_hostile_) {
    small_.insert(small_.end(), frame.begin(), frame.end());
  }
}

Result<> Carrier::write_some() {
  // A frame of Data that was begun goes on first.
  if (batch_at_ % kFrameBytes == 0 && writing_.empty()) {
    const std::lock_guard lock(mutex_);
    writing_.swap(small_);
  }
  if (!writing_.empty()) {
    TRY(const std::size_t sent, write(std::span(writing_).subspan(written_)));
    written_ += sent;
    if (written_ == writing_.size()) {
      writing_.clear();
      written_ = 0;
    }
    return {};
  }
  if (!fills_) {
    return {};
  }
  const bool others_wait = [&] {
    const std::lock_guard lock(mutex_);
    return !small_.empty();
  }();
  const std::size_t end =
      others_wait ? (batch_at_ / kFrameBytes + 1) * kFrameBytes : batch().size();
  TRY(const std::size_t sent, write(batch().subspan(batch_at_, end - batch_at_)));
  batch_at_ = (batch_at_ + sent) % batch().size();
  return {};
}

Result<std::size_t> Carrier::write(std::span<const std::byte> bytes) {
  const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) {
    return fail(from_errno(errno, "send", "load"));
  }
  return sent < 0 ? 0 : static_cast<std::size_t>(sent);
}

}  // namespace chokepoint::probe::latency
