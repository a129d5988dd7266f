// The figures of a Watch, for the live line, the summary and the metrics.
#include <algorithm>
#include <utility>

#include "base/record/names.h"
#include "capture/job/roster.h"
#include "capture/run/nccl.h"
#include "capture/run/packets.h"
#include "capture/run/steps.h"
#include "capture/run/watch.h"

namespace chokepoint::capture::run {
namespace {

// Ethernet, IPv4, TCP with time stamps.
constexpr std::uint64_t kHeaderBytes = 14 + 20 + 32;
// Assumed payload per received segment: a socket counts only the segments it sends.
constexpr std::uint64_t kSegmentBytes = 1448;

void add_each(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& text : more) {
    if (std::ranges::count(all, text) == 0) {
      all.push_back(text);
    }
  }
}

}  // namespace

live::Volume SocketVolume::keep(const socket::Figures& figures, std::int64_t now_ns) {
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

void Watch::gather() {
  const std::int64_t now_ns = clock_.monotonic_ns();
  live::Figures figures{.elapsed_s = static_cast<double>(now_ns - began_ns_) / 1e9,
                        .node = writer_->path().stem(),
                        .program_version = options_.program,
                        .labels = options_.labels,
                        .steps = steps_->figures(),
                        .stall = stall_.figures(),
                        .counters = counters_->figures(),
                        .processes = roster_->processes()->size(),
                        .packets_dropped = packets_->dropped(),
                        .rows_dropped = writer_->status().dropped};
  if (sockets_) {
    figures.sockets = sockets_->figures();
  }
  for (const InterfaceVolume& volume : packets_->volumes()) {
    figures.volume_source = "packets";
    figures.volumes.push_back({.interface = volume.interface,
                               .sent_bytes = volume.counts.sent_bytes,
                               .received_bytes = volume.counts.received_bytes});
    figures.sent_packets += volume.counts.sent_packets;
    figures.retransmitted_packets += volume.counts.retransmitted_packets;
  }
  if (figures.volumes.empty() && !packets_->has_listened() && sockets_) {
    figures.volume_source = "sockets";
    figures.volumes.push_back(socket_volume_.keep(figures.sockets, now_ns));
    figures.sent_packets = figures.sockets.sent_segments;
    figures.retransmitted_packets = figures.sockets.retransmitted_segments;
  }
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for (const live::Volume& volume : figures.volumes) {
    sent += volume.sent_bytes;
    received += volume.received_bytes;
  }
  const Pace::Rates rates = pace_.take(now_ns, sent, received);
  figures.sent_mbps = rates.sent_mbps;
  figures.received_mbps = rates.received_mbps;
  figures.nccl = nccl_->asked();
  figures.remarks = remarks_;
  add_each(figures.remarks, packets_->remarks());
  add_each(figures.remarks, nccl_->remarks());
  add_each(figures.remarks, figures.sockets.remarks);
  add_each(figures.remarks, figures.counters.remarks);
  if (const std::string lost = otlp_ ? otlp_->remark() : ""; !lost.empty()) {
    figures.remarks.push_back(lost);
  }
  keep_remarks(figures.remarks);
  figures_ = std::move(figures);
}

// The record explains why a number is missing. The subject of "GPUs: no driver" is "GPUs".
void Watch::keep_remarks(const std::vector<std::string>& remarks) {
  constexpr std::string_view kSeparator = ": ";
  for (const std::string& remark : remarks) {
    if (!kept_remarks_.insert(remark).second) {
      continue;
    }
    const std::size_t colon = remark.find(kSeparator);
    const bool has_subject = colon != std::string::npos;
    writer_->add(
        record::Fact{.category = std::string(record::kNotSeen),
                     .subject = has_subject ? remark.substr(0, colon) : "",
                     .key = "reason",
                     .value = has_subject ? remark.substr(colon + kSeparator.size()) : remark,
                     .source = "chokepoint run"});
  }
}

}  // namespace chokepoint::capture::run
