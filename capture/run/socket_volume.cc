#include "capture/run/socket_volume.h"

#include "base/record/names.h"

namespace chokepoint::capture::run {
namespace {

// Ethernet, IPv4, TCP with time stamps.
constexpr std::uint64_t kHeaderBytes = 14 + 20 + 32;
// What a segment carries where nobody says; the other direction's segments are not counted by a
// socket.
constexpr std::uint64_t kSegmentBytes = 1448;

std::int64_t series(record::Writer& writer, std::string_view name) {
  return writer.add(record::Series{.name = std::string(name),
                                   .subject = "sockets",
                                   .unit = "bytes",
                                   .kind = record::SeriesKind::Counter,
                                   .source = "inet_diag: payload, headers estimated"});
}

}  // namespace

live::Volume SocketVolume::keep(const socket::Figures& figures, std::int64_t now_ns) {
  const live::Volume volume{
      .interface = "sockets",
      .sent_bytes = figures.sent_bytes + figures.sent_segments * kHeaderBytes,
      .received_bytes =
          figures.received_bytes + figures.received_bytes / kSegmentBytes * kHeaderBytes};
  if (!kept_) {
    kept_.emplace(Kept{.producer = writer_.producer("volume of sockets"),
                       .sent_series = series(writer_, record::kJobSentBytes),
                       .received_series = series(writer_, record::kJobReceivedBytes)});
  }
  kept_->producer.push(record::CounterSample{.t_ns = now_ns,
                                             .series = kept_->sent_series,
                                             .value = static_cast<double>(volume.sent_bytes)});
  kept_->producer.push(record::CounterSample{.t_ns = now_ns,
                                             .series = kept_->received_series,
                                             .value = static_cast<double>(volume.received_bytes)});
  return volume;
}

}  // namespace chokepoint::capture::run
