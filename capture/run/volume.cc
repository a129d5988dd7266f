#include "capture/run/volume.h"

#include "base/math/tcp_rate.h"

namespace chokepoint::capture::run {

namespace {

// Ethernet, IPv4, TCP with time stamps.
constexpr std::uint64_t kHeaderBytes = 14 + 20 + 32;
// Assumed payload per received segment: a socket counts only the segments it sends.
constexpr auto kSegmentBytes = static_cast<std::uint64_t>(math::kSegmentBytes);

}  // namespace

live::Volume SocketVolume::push(const socket::Figures& figures, std::int64_t now_ns) {
  const live::Volume volume{
      .interface = "sockets",
      .sent_bytes = figures.sent_bytes + figures.sent_segments * kHeaderBytes,
      .received_bytes =
          figures.received_bytes + figures.received_bytes / kSegmentBytes * kHeaderBytes};
  if (!series_) {
    series_.emplace(writer_, "volume of sockets", "sockets",
                    "inet_diag: payload, headers estimated");
  }
  series_->push(now_ns, volume.sent_bytes, volume.received_bytes);
  return volume;
}

}  // namespace chokepoint::capture::run
