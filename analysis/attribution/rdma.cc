#include "analysis/attribution/rdma.h"

#include <algorithm>
#include <vector>

#include "analysis/attribution/rdma_traffic.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

// Judgements: no card that counts in hardware was at hand.
constexpr double kMinLossPerPacket = 1e-5;        // signs of loss per packet
constexpr double kMinCongestionPerPacket = 1e-4;  // signs of congestion per packet
constexpr double kMinMarkedShare = 1e-3;          // of packets, by switches
constexpr double kMinPausedShare = 0.01;          // of the time
constexpr double kAssumedPacketBytes = 4096;      // bytes, for devices that do not count packets
constexpr double kMinTimeoutMs = 67;  // 4.096 µs × 2^14: shorter time-outs are rarely configured
// The line is the cause if it needs this of what is exposed.
constexpr double kMinLineOfExposed = 0.7;
constexpr double kMinPeerPauses = 0.5;  // of the pauses: then the peer itself requested them

double packets_of(const RdmaPort& port) {
  return std::max(1.0, port.packets > 0 ? port.packets : port.busier_bytes() / kAssumedPacketBytes);
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
    return kMinTimeoutMs * math::most_by(ports, &RdmaPort::timeouts)->timeouts;
  }
  // Counters include retransmissions for a reply that only came late: where packets are captured,
  // these show what was missing.
  bool is_lossy() const {
    const RoceDirection* direction = view.most_lossy();
    return view.is_seen() ? direction != nullptr && direction->lossiness() > kMinLossPerPacket
                          : lossiness(most_lossy_port()) > kMinLossPerPacket;
  }
  bool is_congested() const {
    const RoceDirection* direction = view.most_marked();
    return congestion(most_congested_port()) > kMinCongestionPerPacket ||
           paused_ms() > kMinPausedShare * length_ms ||
           (direction != nullptr && direction->markedness() > kMinMarkedShare);
  }
};

void name_direction(const RdmaSigns& signs, const RoceDirection& direction,
                    double RoceDirection::* measure, Where& where) {
  where.from = direction.from;
  where.to = direction.to;
  const auto back = std::ranges::find_if(signs.view.directions, [&](const RoceDirection& other) {
    return other.from == direction.to && other.to == direction.from;
  });
  if (back != signs.view.directions.end() &&
      (*back).*measure > kMinOtherDirection * (direction.*measure)) {
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
  if (const RoceDirection* direction = signs.view.most_lossy()) {
    name_direction(signs, *direction, &RoceDirection::missing, where);
  } else {
    name_ends(signs, where);
  }
  return where;
}

Where where_congested(const RdmaSigns& signs) {
  const RdmaPort& port = signs.most_congested_port();
  Where where{.interface = port.name, .node = port.node};
  if (const RoceDirection* direction = signs.view.most_marked()) {
    name_direction(signs, *direction, &RoceDirection::marks, where);
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
  const auto rows = [](const RoceDirection& direction) {
    return "RoCE packets from " + direction.from + " to " + direction.to;
  };
  if (const RoceDirection* direction = signs.view.most_lossy()) {
    evidence.push_back({"packets that the receiver missed, by its NAKs or by gaps",
                        1e6 * direction->lossiness(), "a million", rows(*direction)});
    evidence.push_back({"packets retransmitted for them",
                        100 * direction->resent_packets / direction->packets, "% of all",
                        rows(*direction)});
    evidence.push_back({"waited without traffic until a retransmission",
                        signs.view.waited_ns / 1e6 / signs.steps, "ms a step", "RoCE packets"});
  }
  if (const RoceDirection* direction = signs.view.most_marked()) {
    evidence.push_back({"packets marked on the path (ECN)", 100 * direction->markedness(),
                        "% of all", rows(*direction)});
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
  const bool is_peer = pausing.pausing_ms > kMinPeerPauses * paused.paused_ms;
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
  if (line_ms > kMinLineOfExposed * input.phases.exposed_ms) {
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
  const RoceDirection* direction = signs.view.most_marked();
  return direction == nullptr ? rest_ms
                              : std::min(rest_ms, direction->marked_ns / 1e6 / signs.steps);
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
