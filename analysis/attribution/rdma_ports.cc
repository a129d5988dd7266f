#include "analysis/attribution/rdma_ports.h"

#include <array>
#include <iterator>
#include <set>

#include "base/host/rdma.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

using namespace std::string_view_literals;

constexpr double kLeastPacket = 1024;  // bytes, of a port that counts packets alone
constexpr std::array kNaks{"packet_seq_err"sv, "implied_nak_seq_err"sv};
constexpr std::array kCongestionSigns{"cnp_handled"sv, "ecn_marked"sv};

double port_grown(const NodeData& node, std::string_view name, const std::string& port, Span span) {
  return grown(node, std::string(record::kRdmaPrefix).append(name), port, span);
}

template <std::size_t N>
double sum_of(const std::array<std::string_view, N>& names, const NodeData& node,
              const std::string& port, Span span) {
  double sum = 0;
  for (const std::string_view name : names) {
    sum += port_grown(node, name, port, span);
  }
  return sum;
}

// One loss shows several times: as the NAK, as what is sent again for it, or as a time-out. A
// device in software times out when its host is busy, too; what it lost is what was missed.
double resent_of(const NodeData& node, const RdmaPort& port, Span span) {
  const auto count = [&](std::string_view name) { return port_grown(node, name, port.name, span); };
  const double naks = sum_of(kNaks, node, port.name, span);
  if (port.is_software) {
    return naks;
  }
  return std::max(
      {naks + count("ack_timeouts"), count("retransmissions"), count("adaptive_retransmissions")});
}

std::string device_of(const std::string& port) { return port.substr(0, port.find('/')); }

void describe(const NodeData& node, RdmaPort& port) {
  for (const record::Fact& fact : node.facts) {
    if (fact.category == "rdma" && fact.subject == port.name) {
      if (fact.key == "netdev") {
        port.netdev = fact.value;
      } else if (fact.key == "rate") {
        port.line_mbps = host::rdma_rate_mbps(fact.value);
      }
    }
    port.is_software =
        port.is_software || (fact.category == "rdma" && fact.subject == device_of(port.name) &&
                             fact.key == host::kRdmaInSoftware);
  }
  if (port.is_software) {
    port.line_mbps.reset();  // what it calls its rate is a name
  }
}

RdmaPort port_of(const NodeData& node, const std::string& name, Span span) {
  RdmaPort port{.node = node.name, .name = name};
  describe(node, port);
  port.sent_bytes = port_grown(node, "sent_bytes", name, span);
  port.received_bytes = port_grown(node, "received_bytes", name, span);
  port.packets = port_grown(node, "sent_packets", name, span);
  port.resent = resent_of(node, port, span);
  port.timeouts = port_grown(node, "ack_timeouts", name, span);
  port.missed = port_grown(node, "out_of_sequence", name, span);
  if (port.busier_bytes() <= 0) {
    port.received_bytes = kLeastPacket * port_grown(node, "received_packets", name, span);
    port.sent_bytes = kLeastPacket * port.packets;
  }
  port.slowed = sum_of(kCongestionSigns, node, name, span);
  const std::string nic(record::kNicPrefix);
  port.paused_ms = grown(node, nic + "received_pause_us", port.netdev, span) / 1e3;
  port.pausing_ms = grown(node, nic + "sent_pause_us", port.netdev, span) / 1e3;
  if (port.paused_ms <= 0) {
    port.slowed += grown(node, nic + "received_pauses", port.netdev, span);  // ice counts no time
  }
  return port;
}

}  // namespace

std::vector<RdmaPort> rdma_ports(const NodeData& node, Span span) {
  std::set<std::string> names;
  for (const SeriesData& series : node.series) {
    if (series.row.name.starts_with(record::kRdmaPrefix)) {
      names.insert(series.row.subject);
    }
  }
  std::vector<RdmaPort> ports;
  for (const std::string& name : names) {
    RdmaPort port = port_of(node, name, span);
    if (port.busier_bytes() > 0) {
      ports.push_back(std::move(port));
    }
  }
  std::ranges::sort(ports, std::ranges::greater{}, &RdmaPort::busier_bytes);
  return ports;
}

std::vector<RdmaPort> all_rdma_ports(const RunData& run, const Clocks& clocks,
                                     const StepLine& steps) {
  std::vector<RdmaPort> all;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    std::ranges::move(rdma_ports(run.nodes[place], settled_span(run, clocks, steps, place)),
                      std::back_inserter(all));
  }
  std::ranges::sort(all, std::ranges::greater{}, &RdmaPort::busier_bytes);
  return all;
}

double wire_ms(const std::vector<RdmaPort>& ports, double steps) {
  double most_ms = 0;
  for (const RdmaPort& port : ports) {
    const double line_mbps = port.line_mbps.value_or(0);
    most_ms = std::max(most_ms, line_mbps > 0 ? port.busier_bytes() * 8e-3 / line_mbps / steps : 0);
  }
  return most_ms;
}

}  // namespace chokepoint::analysis
