#include "capture/commands/findings.h"

namespace chokepoint::capture {
namespace {

void add(Volume& volume, const flow::Tally& tally) {
  volume.packets += tally.packets;
  volume.bytes += tally.bytes;
  volume.payload_bytes += tally.payload_bytes;
  volume.retransmitted_packets += tally.retransmitted_packets;
}

void add(Volume& volume, const observer::Count& count) {
  volume.packets += count.packets;
  volume.bytes += count.bytes;
}

void add(flow::Remainder& sum, const flow::Remainder& more) {
  sum.flows += more.flows;
  sum.packets += more.packets;
  sum.bytes += more.bytes;
  sum.payload_bytes += more.payload_bytes;
  sum.retransmitted_packets += more.retransmitted_packets;
  sum.retransmitted_bytes += more.retransmitted_bytes;
}

void gather_from(const observer::Analyser& analyser, Findings& findings) {
  analyser.engine().glance([&](std::uint32_t, const flow::Glance& glance) {
    add(findings.volume, *glance.tallies[0]);
    add(findings.volume, *glance.tallies[1]);
  });
  findings.flows += analyser.engine().flows();
  add(findings.remainder, analyser.engine().remainder());
  findings.others += analyser.others();
  analyser.roce().visit(
      [&](const roce::QueuePairFacts& facts) { findings.queue_pairs.push_back(facts); });
}

void add_rest(Findings& findings) {
  add(findings.volume, findings.others.other_ip);
  add(findings.volume, findings.others.not_ip);
  add(findings.volume, findings.others.malformed);
  findings.volume.packets += findings.remainder.packets;
  findings.volume.bytes += findings.remainder.bytes;
  findings.volume.payload_bytes += findings.remainder.payload_bytes;
  findings.volume.retransmitted_packets += findings.remainder.retransmitted_packets;
}

}  // namespace

std::string Findings::interface_name(std::uint32_t index) const {
  return index < interfaces.size() ? interfaces[index].name : std::string();
}

Findings gather(const observer::Observer& observer, SortBy by, std::size_t top) {
  Findings findings;
  for (std::size_t i = 0; i < observer.analysers().size(); ++i) {
    const observer::Analyser& analyser = *observer.analysers()[i];
    gather_from(analyser, findings);
    rank(analyser.engine(), i, {.sort = by, .most = top, .rates = lifetime_rates}, findings.top);
  }
  add_rest(findings);
  findings.gloo_messages = observer.gloo().messages();
  findings.gloo_connections = observer.gloo().connections();
  findings.collectives = observer.gloo().sums();
  findings.progress = observer.course().progress();
  findings.drops = observer.course().drops();
  findings.interfaces = observer.course().interfaces();
  findings.remarks = observer.remarks();
  return findings;
}

}  // namespace chokepoint::capture
