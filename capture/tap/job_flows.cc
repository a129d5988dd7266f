#include "capture/tap/job_flows.h"

#include <utility>

#include "base/record/names.h"

namespace chokepoint::capture::tap {
namespace {

void add(VolumeCounts& counts, const flow::Tally& sent, const flow::Tally& received) {
  counts.sent_bytes += sent.bytes;
  counts.received_bytes += received.bytes;
  counts.sent_packets += sent.packets;
  counts.retransmitted_packets += sent.retransmitted_packets;
}

}  // namespace

VolumeSeries::VolumeSeries(record::Sink& sink, const std::string& producer,
                           const std::string& subject, const std::string& source)
    : producer_(sink.producer(producer)) {
  record::Series series{.name = std::string(record::kJobSentBytes),
                        .subject = subject,
                        .unit = "bytes",
                        .kind = record::SeriesKind::Counter,
                        .source = source};
  sent_ = sink.add(series);
  series.name = record::kJobReceivedBytes;
  received_ = sink.add(series);
}

void VolumeSeries::push(std::int64_t now_ns, std::uint64_t sent_bytes,
                        std::uint64_t received_bytes) {
  producer_.push(record::CounterSample{
      .t_ns = now_ns, .series = sent_, .value = static_cast<double>(sent_bytes)});
  producer_.push(record::CounterSample{
      .t_ns = now_ns, .series = received_, .value = static_cast<double>(received_bytes)});
}

JobVolume::JobVolume(observer::Membership& flows, record::Sink& sink, const std::string& interface)
    : flows_(flows) {
  if (interface != "lo") {
    series_.emplace(sink, "volume " + interface, interface, "packets");
  }
}

// Whether a connection is the job's may become known only after its first packets.
std::optional<bool> JobVolume::sends(observer::Analyser& analyser, std::uint32_t slot,
                                     const packet::Ends& ends) {
  State& state = states_[slot];
  const std::uint64_t version = flows_.version();
  if (!state.sends && state.checked_version != version) {
    state.checked_version = version;
    state.sends = flows_.sends(ends);
    analyser.traffic_bins().mark(slot, state.sends.has_value());
  }
  return state.sends;
}

void JobVolume::measure(observer::Analyser& analyser, std::int64_t now_ns) {
  VolumeCounts counts = folded_;
  analyser.engine().glance([&](std::uint32_t slot, const flow::Glance& glance) {
    if (const std::optional<bool> is_sent = sends(analyser, slot, glance.ends)) {
      const std::size_t sent = *is_sent ? 0 : 1;
      add(counts, *glance.tallies.at(sent), *glance.tallies.at(1 - sent));
    }
  });
  keep(counts, now_ns);
}

void JobVolume::fold(observer::Analyser& analyser, std::uint32_t slot,
                     const flow::FlowFacts& facts) {
  if (const std::optional<bool> is_sent = sends(analyser, slot, facts.ends)) {
    const std::size_t sent = *is_sent ? 0 : 1;
    add(folded_, facts.directions.at(sent), facts.directions.at(1 - sent));
  }
  analyser.traffic_bins().mark(slot, false);
  states_[slot] = {};
}

void JobVolume::keep(const VolumeCounts& counts, std::int64_t now_ns) {
  const bool is_news = !is_recorded_ || counts.sent_bytes != counts_.sent_bytes ||
                       counts.received_bytes != counts_.received_bytes;
  {
    const std::lock_guard lock(mutex_);
    counts_ = counts;
  }
  if (is_news) {
    is_recorded_ = true;
    if (series_) {
      series_->push(now_ns, counts.sent_bytes, counts.received_bytes);
    }
  }
}

VolumeCounts JobVolume::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace chokepoint::capture::tap
