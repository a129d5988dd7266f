#include "probe/path/udp_mtu_probe.h"

#include <algorithm>

namespace chokepoint::probe::path {
namespace {

constexpr int kFarEnough = 64;

std::int64_t nanoseconds(std::chrono::milliseconds time) {
  return std::chrono::nanoseconds(time).count();
}

std::optional<MtuAnswer> meaning_of(const Reply& reply, std::uint32_t first) {
  if (reply.sequence.value_or(first) < first) {
    return std::nullopt;
  }
  if (reply.kind == ReplyKind::Reached) {
    return MtuAnswer{.passage = Passage::Passed};
  }
  if (reply.kind != ReplyKind::TooBig) {
    return std::nullopt;
  }
  MtuAnswer answer{.passage = Passage::TooBig, .from = reply.from};
  // Routers older than RFC 1191 say 0.
  if (reply.mtu_bytes.value_or(0) > 0) {
    answer.mtu_bytes = static_cast<int>(*reply.mtu_bytes);
  }
  return answer;
}

}  // namespace

Result<MtuAnswer> UdpMtuProbe::try_once(std::uint32_t first, std::chrono::milliseconds wait) {
  if (const Result<> sent = prober_.send({.sequence = sequence_++, .ttl = kFarEnough}); !sent) {
    return std::unexpected(sent.error());
  }
  const std::int64_t until_ns = clock_.monotonic_ns() + nanoseconds(wait);
  for (std::int64_t now_ns = clock_.monotonic_ns(); now_ns < until_ns;
       now_ns = clock_.monotonic_ns()) {
    TRY(const auto replies, prober_.collect(std::chrono::nanoseconds(until_ns - now_ns)));
    for (const Reply& reply : replies) {
      if (const std::optional<MtuAnswer> answer = meaning_of(reply, first)) {
        return *answer;
      }
    }
  }
  return MtuAnswer{};
}

// Listens meanwhile, so that nothing late is taken for an answer to what comes next.
Result<> UdpMtuProbe::pause() {
  const std::int64_t until_ns = clock_.monotonic_ns() + nanoseconds(confirmation_.pause);
  while (clock_.monotonic_ns() < until_ns) {
    const std::int64_t left_ns = std::max<std::int64_t>(until_ns - clock_.monotonic_ns(), 0);
    TRY(prober_.collect(std::chrono::nanoseconds(left_ns)));
  }
  return {};
}

Result<MtuAnswer> UdpMtuProbe::try_size(int packet_bytes) {
  prober_.set_packet_bytes(packet_bytes);
  const std::uint32_t first = sequence_;
  Result<MtuAnswer> answer = MtuAnswer{};
  for (int i = 0; i < confirmation_.tries; ++i) {
    if (i > 0) {
      TRY(pause());
    }
    const bool last = i + 1 == confirmation_.tries;
    answer = try_once(first, last ? confirmation_.last_wait : confirmation_.wait);
    if (!answer || answer->passage != Passage::Lost) {
      return answer;
    }
  }
  return answer;
}

}  // namespace chokepoint::probe::path
