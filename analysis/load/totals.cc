#include "analysis/load/totals.h"

namespace chokepoint::analysis {
namespace {

void add_up(const std::vector<record::FlowSample>& packets, record::FlowTotal& total) {
  std::int64_t count = 0;
  std::int64_t payload_bytes = 0;
  std::int64_t again = 0;
  for (const record::FlowSample& sample : packets) {
    count += sample.packets.value_or(0);
    payload_bytes += sample.payload_bytes.value_or(0);
    again += sample.retransmitted_packets.value_or(0);
  }
  total.packets = count;
  total.payload_bytes = payload_bytes;
  total.retransmitted_packets = again;
}

void take_over(const record::SocketSample& last, record::FlowTotal& total) {
  total.payload_bytes = last.bytes_sent;
  total.retransmitted_packets = last.retransmits;
  if (last.bytes_sent.known() && last.mss_bytes.value_or(0) > 0) {
    total.packets = last.bytes_sent.value() / last.mss_bytes.value();
  }
}

}  // namespace

void complete_totals(FlowData& flow) {
  for (const std::size_t side : {0U, 1U}) {
    record::FlowTotal& total = flow.totals.at(side);
    if (total.packets.known()) {
      continue;
    }
    if (!flow.packets.at(side).empty()) {
      add_up(flow.packets.at(side), total);
    } else if (!flow.sockets.at(side).empty()) {
      take_over(flow.sockets.at(side).back(), total);
    }
  }
}

}  // namespace chokepoint::analysis
