#include "analysis/attribution/rdma_signs.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

constexpr double kLossy = 1e-5;         // signs of loss a packet
constexpr double kCongested = 1e-4;     // signs of congestion a packet
constexpr double kMarked = 1e-3;        // of packets, as switches mark them
constexpr double kPaused = 0.01;        // of the time
constexpr double kUsualPacket = 4096;   // bytes, where nobody counts packets
constexpr double kTimeoutMs = 67;       // 4.096 µs × 2^14: shorter ones hardly anybody sets
constexpr double kBothRoceWays = 0.35;  // the lesser way of the greater

double packets_of(const RdmaPort& port) {
  return std::max(1.0, port.packets > 0 ? port.packets : port.busier_bytes() / kUsualPacket);
}

double lossiness(const RdmaPort& port) { return port.lost() / packets_of(port); }
double congestion(const RdmaPort& port) { return port.slowed / packets_of(port); }

template <class Measure>
const RdmaPort& most_by(const std::vector<RdmaPort>& ports, Measure measure) {
  return *std::ranges::max_element(ports, {}, measure);
}

void name_way(const RdmaSigns& signs, const RoceWay& way, double RoceWay::* measure, Where& where) {
  where.from = way.from;
  where.to = way.to;
  const auto back = std::ranges::find_if(signs.view.ways, [&](const RoceWay& other) {
    return other.from == way.to && other.to == way.from;
  });
  if (back != signs.view.ways.end() && (*back).*measure > kBothRoceWays * (way.*measure)) {
    where.direction = "both";
  }
}

// Who sent again, and who missed something, where these are two.
void name_ends(const RdmaSigns& signs, Where& where) {
  const RdmaPort& sender = most_by(signs.ports, &RdmaPort::resent);
  const RdmaPort& receiver = most_by(signs.ports, &RdmaPort::missed);
  if (sender.resent > 0 && receiver.missed > 0 && sender.node != receiver.node) {
    where.from = sender.node;
    where.to = receiver.node;
  }
}

}  // namespace

// Counters count what was sent again for an answer that only came late, too: where packets are
// seen, they tell what was missing.
bool RdmaSigns::is_lossy() const {
  const RoceWay* way = view.most_lossy();
  return view.is_seen() ? way != nullptr && way->lossiness() > kLossy
                        : lossiness(most_lossy_port()) > kLossy;
}

bool RdmaSigns::is_congested() const {
  const RoceWay* way = view.most_marked();
  return congestion(most_congested_port()) > kCongested || paused_ms() > kPaused * length_ms ||
         (way != nullptr && way->markedness() > kMarked);
}

double RdmaSigns::paused_ms() const { return most_by(ports, &RdmaPort::paused_ms).paused_ms; }

double RdmaSigns::waiting_ms() const {
  return kTimeoutMs * most_by(ports, &RdmaPort::timeouts).timeouts;
}

const RdmaPort& RdmaSigns::most_lossy_port() const { return most_by(ports, lossiness); }

const RdmaPort& RdmaSigns::most_congested_port() const { return most_by(ports, congestion); }

RdmaSigns rdma_signs(const DiagnosisInput& input) {
  return {.ports = all_rdma_ports(input.run, input.clocks, input.steps),
          .view = roce_view(input.run, input.clocks, input.steps),
          .steps = count_between(input.steps.settled),
          .length_ms = count_between(input.steps.settled) * input.phases.step_ms};
}

Where where_lost(const RdmaSigns& signs) {
  const RdmaPort& port = signs.most_lossy_port();
  Where where{.interface = port.name, .node = port.node};
  if (const RoceWay* way = signs.view.most_lossy()) {
    name_way(signs, *way, &RoceWay::missing, where);
  } else {
    name_ends(signs, where);
  }
  return where;
}

Where where_congested(const RdmaSigns& signs) {
  const RdmaPort& port = signs.most_congested_port();
  Where where{.interface = port.name, .node = port.node};
  if (const RoceWay* way = signs.view.most_marked()) {
    name_way(signs, *way, &RoceWay::marks, where);
  }
  return where;
}

void add_signs(const RdmaPort& port, double length_ms, std::vector<Evidence>& evidence) {
  const std::string from = " of " + port.name + " of " + port.node;
  const auto add = [&](const char* what, double value, const char* unit, const std::string& rows) {
    if (value > 0) {
      evidence.push_back({what, value, unit, rows + from});
    }
  };
  add("packets lost: sent again, out of sequence or waited for in vain", 1e6 * lossiness(port),
      "a million", "rdma.retransmissions, out_of_sequence, packet_seq_err, ack_timeouts");
  add("packets marked, notified of or paused", 1e6 * congestion(port), "a million",
      "rdma.cnp_handled, ecn_marked, nic.received_pauses");
  add("its sending was paused", 100 * port.paused_ms / length_ms, "% of the time",
      "nic.received_pause_us");
  add("it asked others to pause", 100 * port.pausing_ms / length_ms, "% of the time",
      "nic.sent_pause_us");
  if (port.counts_bytes) {
    add("sent", port.sent_bytes * 8e-3 / length_ms, "Mb/s", "rdma.sent_bytes");
  } else {
    add("sent", 1e3 * port.packets / length_ms, "packets/s", "rdma.sent_packets");
  }
}

void add_view(const RdmaSigns& signs, std::vector<Evidence>& evidence) {
  const auto rows = [](const RoceWay& way) {
    return "RoCE packets from " + way.from + " to " + way.to;
  };
  if (const RoceWay* way = signs.view.most_lossy()) {
    evidence.push_back({"packets that the receiver missed, by its NAKs or by gaps",
                        1e6 * way->lossiness(), "a million", rows(*way)});
    evidence.push_back({"packets sent again for them", 100 * way->resent_packets / way->packets,
                        "% of all", rows(*way)});
    evidence.push_back({"waited in silence until something was sent again",
                        signs.view.waited_ns / 1e6 / signs.steps, "ms a step", "RoCE packets"});
  }
  if (const RoceWay* way = signs.view.most_marked()) {
    evidence.push_back(
        {"packets marked on the way (ECN)", 100 * way->markedness(), "% of all", rows(*way)});
  }
}

}  // namespace chokepoint::analysis
