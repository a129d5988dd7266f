#include "capture/run/job_volume.h"

#include <algorithm>
#include <utility>

#include "base/record/names.h"

namespace chokepoint::capture::run {
namespace {

void add(VolumeCounts& counts, const flow::Tally& sent, const flow::Tally& received) {
  counts.sent_bytes += sent.bytes;
  counts.received_bytes += received.bytes;
  counts.sent_packets += sent.packets;
  counts.retransmitted_packets += sent.retransmitted_packets;
}

std::int64_t series(record::Writer& writer, std::string_view name, const std::string& interface) {
  return writer.add(record::Series{.name = std::string(name),
                                   .subject = interface,
                                   .unit = "bytes",
                                   .kind = record::SeriesKind::Counter,
                                   .source = "packets"});
}

}  // namespace

JobVolume::JobVolume(JobFlows flows, record::Writer& writer, std::string interface)
    : flows_(std::move(flows)),
      interface_(std::move(interface)),
      producer_(writer.producer("volume " + interface_)),
      sent_series_(series(writer, record::kJobSentBytes, interface_)),
      received_series_(series(writer, record::kJobReceivedBytes, interface_)) {}

JobVolume::State& JobVolume::state_of(std::uint32_t slot) {
  if (slot >= states_.size()) {
    states_.resize(std::max<std::size_t>(slot + 1, states_.size() * 2));
  }
  return states_[slot];
}

// Whose a connection is may be known only some time after its first packet.
std::optional<bool> JobVolume::sends(observer::Analyser& analyser, std::uint32_t slot,
                                     const packet::Ends& ends) {
  State& state = state_of(slot);
  const std::uint64_t version = flows_.version();
  if (!state.sends && state.asked_version != version) {
    state.asked_version = version;
    state.sends = flows_.sends(ends);
    analyser.pulse().mark(slot, state.sends.has_value());
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
  analyser.pulse().mark(slot, false);
  state_of(slot) = {};
}

void JobVolume::keep(const VolumeCounts& counts, std::int64_t now_ns) {
  const bool is_news = !is_kept_ || counts.sent_bytes != counts_.sent_bytes ||
                       counts.received_bytes != counts_.received_bytes;
  {
    const std::lock_guard lock(mutex_);
    counts_ = counts;
  }
  if (is_news) {
    is_kept_ = true;
    producer_.push(record::CounterSample{
        .t_ns = now_ns, .series = sent_series_, .value = static_cast<double>(counts.sent_bytes)});
    producer_.push(record::CounterSample{.t_ns = now_ns,
                                         .series = received_series_,
                                         .value = static_cast<double>(counts.received_bytes)});
  }
}

VolumeCounts JobVolume::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace chokepoint::capture::run
