// Findings about a job whose data go by RDMA: sockets show nothing of it. What is left are the
// ports' counters, once a second, packets where the device lets the kernel see them, and what the
// library reports of its collectives where it does.
//
//   collectives known   what computing does not hide is the network's: first what the line needs
//                       for the bytes, the rest by the signs of loss and of congestion
//   packets seen        time of loss is what was spent waiting for retransmissions, and sending
//                       them; what is left is congestion's where switches marked packets or ports
//                       were slowed, else unattributed
//   else                only time that the port spent paused, or waiting for a time-out, is known
//                       to be lost. What the line needs for the bytes is the least that
//                       communication takes; whether computing hides it is not known, so the
//                       verdict is `unknown`, unless it is too little to matter
//
// Loss was tested with devices in software; the counters of cards in the tests are invented.
#include <algorithm>
#include <vector>

#include "analysis/attribution/findings.h"
#include "analysis/attribution/rdma_traffic.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

constexpr double kLossy = 1e-5;         // signs of loss per packet
constexpr double kCongested = 1e-4;     // signs of congestion per packet
constexpr double kMarked = 1e-3;        // of packets, by switches
constexpr double kPaused = 0.01;        // of the time
constexpr double kUsualPacket = 4096;   // bytes, for devices that do not count packets
constexpr double kTimeoutMs = 67;       // 4.096 µs × 2^14: shorter time-outs are rarely configured
constexpr double kBothRoceWays = 0.35;  // both ways are lossy if the lesser has this of the greater
constexpr double kLineOfExposed = 0.7;  // the line is the cause if it needs this of what is exposed
constexpr double kPeerPauses = 0.5;     // of the pauses: then the peer itself asked for them

double packets_of(const RdmaPort& port) {
  return std::max(1.0, port.packets > 0 ? port.packets : port.busier_bytes() / kUsualPacket);
}

double lossiness(const RdmaPort& port) { return port.lost() / packets_of(port); }
double congestion(const RdmaPort& port) { return port.slowed / packets_of(port); }

// Signs of loss and of congestion, in counters and packets together.
struct RdmaSigns {
  std::vector<RdmaPort> ports = {};  // the busiest first; never empty where signs are judged
  RoceView view = {};
  double steps = 1;      // in which they counted
  double length_ms = 1;  // of these

  const RdmaPort& most_lossy_port() const { return *math::most_by(ports, lossiness); }
  const RdmaPort& most_congested_port() const { return *math::most_by(ports, congestion); }
  // Of the port paused longest, in all.
  double paused_ms() const { return math::most_by(ports, &RdmaPort::paused_ms)->paused_ms; }
  // For time-outs, at least, of the port that waited longest, in all.
  double waiting_ms() const {
    return kTimeoutMs * math::most_by(ports, &RdmaPort::timeouts)->timeouts;
  }
  // Counters include retransmissions for an answer that only came late: where packets are captured,
  // these show what was missing.
  bool is_lossy() const {
    const RoceWay* way = view.most_lossy();
    return view.is_seen() ? way != nullptr && way->lossiness() > kLossy
                          : lossiness(most_lossy_port()) > kLossy;
  }
  bool is_congested() const {
    const RoceWay* way = view.most_marked();
    return congestion(most_congested_port()) > kCongested || paused_ms() > kPaused * length_ms ||
           (way != nullptr && way->markedness() > kMarked);
  }
};

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

// The node that retransmitted most and the one that missed most, if these are two.
void name_ends(const RdmaSigns& signs, Where& where) {
  const RdmaPort& sender = *math::most_by(signs.ports, &RdmaPort::resent);
  const RdmaPort& receiver = *math::most_by(signs.ports, &RdmaPort::missed);
  if (sender.resent > 0 && receiver.missed > 0 && sender.node != receiver.node) {
    where.from = sender.node;
    where.to = receiver.node;
  }
}

RdmaSigns rdma_signs(const DiagnosisInput& input) {
  return {.ports = all_rdma_ports(input.run, input.clocks, input.steps),
          .view = roce_view(input.run, input.clocks, input.steps),
          .steps = count_between(input.steps.settled),
          .length_ms = count_between(input.steps.settled) * input.phases.step_ms};
}

// From the sender that retransmitted to the receiver that missed it, as far as packets or counters
// show; and the port to look at.
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
  add("packets lost: retransmitted, out of sequence or never received", 1e6 * lossiness(port),
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
    evidence.push_back({"packets retransmitted for them", 100 * way->resent_packets / way->packets,
                        "% of all", rows(*way)});
    evidence.push_back({"waited without traffic until a retransmission",
                        signs.view.waited_ns / 1e6 / signs.steps, "ms a step", "RoCE packets"});
  }
  if (const RoceWay* way = signs.view.most_marked()) {
    evidence.push_back(
        {"packets marked on the way (ECN)", 100 * way->markedness(), "% of all", rows(*way)});
  }
}

Verdict verdict_at(Where where, VerdictClass verdict, Cause cause, double lost_ms) {
  return {
      .verdict = verdict, .cause = cause, .where = std::move(where), .lost_ms_per_step = lost_ms};
}

Where place_of(const RdmaPort& port) { return {.interface = port.name, .node = port.node}; }

Verdict congested(const RdmaSigns& signs, double lost_ms) {
  const RdmaPort& paused = *math::most_by(signs.ports, &RdmaPort::paused_ms);
  const RdmaPort& pausing = *math::most_by(signs.ports, &RdmaPort::pausing_ms);
  if (paused.paused_ms <= 0) {
    return verdict_at(where_congested(signs), VerdictClass::RdmaCongestion, Cause::Ecn, lost_ms);
  }
  const bool is_peer = pausing.pausing_ms > kPeerPauses * paused.paused_ms;
  return verdict_at(place_of(is_peer ? pausing : paused), VerdictClass::RdmaCongestion,
                    is_peer ? Cause::ReceiverPauses : Cause::Pauses, lost_ms);
}

void charge(Account account, Verdict verdict, const RdmaSigns& signs, Findings& findings) {
  const auto port = std::ranges::find_if(signs.ports, [&](const RdmaPort& each) {
    return each.node == verdict.where.node && each.name == verdict.where.interface;
  });
  add_view(signs, verdict.evidence);
  add_signs(*port, signs.length_ms, verdict.evidence);
  findings.accounting[account] += verdict.lost_ms_per_step;
  findings.verdicts.push_back(std::move(verdict));
}

void charge_loss(const RdmaSigns& signs, double lost_ms, Findings& findings) {
  charge(Account::Loss, verdict_at(where_lost(signs), VerdictClass::RdmaLoss, Cause::Loss, lost_ms),
         signs, findings);
}

// The line's part of what is exposed; a verdict where it is most of it.
double charge_line(const DiagnosisInput& input, const RdmaSigns& signs, Findings& findings) {
  const double line_ms = std::min(wire_ms(signs.ports, signs.steps), input.phases.exposed_ms);
  if (line_ms > kLineOfExposed * input.phases.exposed_ms) {
    charge(Account::Link,
           verdict_at(place_of(signs.ports.front()), VerdictClass::LanBandwidth, Cause::LineRate,
                      line_ms),
           signs, findings);
  } else {
    findings.accounting[Account::Link] += line_ms;
  }
  return line_ms;
}

// What computing does not hide: the line's part, and the rest to loss or else to congestion.
void charge_exposed(const DiagnosisInput& input, const RdmaSigns& signs, Findings& findings) {
  const double rest_ms = input.phases.exposed_ms - charge_line(input, signs, findings);
  if (signs.is_lossy()) {
    charge_loss(signs, rest_ms, findings);
  } else if (signs.is_congested()) {
    charge(Account::Link, congested(signs, rest_ms), signs, findings);
  }
}

void add_hints(const RdmaSigns& signs, Findings& findings) {
  add_view(signs, findings.hints);
  for (const RdmaPort& port : signs.ports) {
    add_signs(port, signs.length_ms, findings.hints);
  }
}

// The time in which packets were marked; where only ports show congestion, its time is not known.
double congested_ms(const RdmaSigns& signs, double rest_ms) {
  const RoceWay* way = signs.view.most_marked();
  return way == nullptr ? rest_ms : std::min(rest_ms, way->marked_ns / 1e6 / signs.steps);
}

// Packets show how long the job waited for retransmissions and sent them: no estimate is needed.
void charge_seen(const DiagnosisInput& input, const RdmaSigns& signs, Findings& findings) {
  double rest_ms = input.phases.exposed_ms - charge_line(input, signs, findings);
  if (signs.is_lossy()) {
    const double loss_ms = std::min(rest_ms, signs.view.loss_ns() / 1e6 / signs.steps);
    charge_loss(signs, loss_ms, findings);
    rest_ms -= loss_ms;
  }
  if (signs.is_congested()) {
    charge(Account::Link, congested(signs, congested_ms(signs, rest_ms)), signs, findings);
  }
  add_hints(signs, findings);
}

// Counters alone show only what certainly was lost.
void charge_counted(const DiagnosisInput& input, const RdmaSigns& signs, Findings& findings) {
  const double paused_ms = std::min(signs.paused_ms() / signs.steps, input.phases.exposed_ms);
  const double rest_ms = input.phases.exposed_ms - paused_ms;
  const double waiting_ms = std::min(signs.waiting_ms() / signs.steps, rest_ms);
  if (paused_ms > 0) {
    charge(Account::Link, congested(signs, paused_ms), signs, findings);
  }
  if (waiting_ms > 0 && signs.is_lossy()) {
    charge_loss(signs, waiting_ms, findings);
  }
  add_hints(signs, findings);
}

}  // namespace

Findings rdma_findings(const DiagnosisInput& input) {
  Findings findings;
  const RdmaSigns signs = rdma_signs(input);
  if (signs.ports.empty()) {
    return findings;
  }
  if (input.phases.source == PhaseSource::Library) {
    charge_exposed(input, signs, findings);
  } else if (signs.view.is_seen()) {
    charge_seen(input, signs, findings);
  } else {
    charge_counted(input, signs, findings);
  }
  return findings;
}

}  // namespace chokepoint::analysis
