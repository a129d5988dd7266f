#include "analysis/attribution/rdma.h"

#include <algorithm>

#include "analysis/attribution/rdma_ports.h"

namespace chokepoint::analysis {
namespace {

constexpr double kLossy = 1e-5;        // signs of loss a packet
constexpr double kCongested = 1e-4;    // signs of congestion a packet
constexpr double kPaused = 0.01;       // of the time
constexpr double kUsualPacket = 4096;  // bytes, where nobody counts packets
constexpr double kLineFull = 0.7;      // of what is exposed the line needs
constexpr double kPeerPauses = 0.5;    // of the pauses, where the peer itself asked for them

double packets_of(const RdmaPort& port) {
  return std::max(1.0, port.packets > 0 ? port.packets : port.busier_bytes() / kUsualPacket);
}

double lossiness(const RdmaPort& port) { return port.lost / packets_of(port); }
double congestion(const RdmaPort& port) { return port.slowed / packets_of(port); }

template <class Measure>
const RdmaPort& most_by(const std::vector<RdmaPort>& ports, Measure measure) {
  return *std::ranges::max_element(ports, {}, measure);
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
  add("packets for which congestion was notified", 1e6 * congestion(port), "a million",
      "rdma.cnp_handled, ecn_marked");
  add("its sending was paused", 100 * port.paused_ms / length_ms, "% of the time",
      "nic.received_pause_us");
  add("it asked others to pause", 100 * port.pausing_ms / length_ms, "% of the time",
      "nic.sent_pause_us");
  add("sent", port.sent_bytes * 8e-3 / length_ms, "Mb/s", "rdma.sent_bytes");
}

Verdict verdict_at(const RdmaPort& port, VerdictClass verdict, const char* cause, double lost_ms) {
  return {.verdict = verdict,
          .cause = cause,
          .where = {.interface = port.name, .node = port.node},
          .lost_ms_per_step = lost_ms};
}

Verdict congested(const std::vector<RdmaPort>& ports, double lost_ms) {
  const RdmaPort& paused = most_by(ports, &RdmaPort::paused_ms);
  const RdmaPort& pausing = most_by(ports, &RdmaPort::pausing_ms);
  if (paused.paused_ms <= 0) {
    return verdict_at(most_by(ports, congestion), VerdictClass::RdmaCongestion, "ecn", lost_ms);
  }
  const bool is_peer = pausing.pausing_ms > kPeerPauses * paused.paused_ms;
  return verdict_at(is_peer ? pausing : paused, VerdictClass::RdmaCongestion,
                    is_peer ? "receiver-pauses" : "pauses", lost_ms);
}

struct Signs {
  std::vector<RdmaPort> ports = {};
  double steps = 1;      // in which they counted
  double length_ms = 1;  // of these

  bool is_lossy() const { return lossiness(most_by(ports, lossiness)) > kLossy; }
  double paused_ms() const { return most_by(ports, &RdmaPort::paused_ms).paused_ms; }
  bool is_congested() const {
    return congestion(most_by(ports, congestion)) > kCongested || paused_ms() > kPaused * length_ms;
  }
};

Signs signs_of(const Scene& scene) {
  return {.ports = all_rdma_ports(scene.run, scene.clocks, scene.steps),
          .steps = count_between(scene.steps.settled),
          .length_ms = count_between(scene.steps.settled) * scene.phases.step_ms};
}

void charge(Account account, Verdict verdict, const Signs& signs, Findings& findings) {
  const auto port = std::ranges::find_if(signs.ports, [&](const RdmaPort& each) {
    return each.node == verdict.where.node && each.name == verdict.where.interface;
  });
  add_signs(*port, signs.length_ms, verdict.evidence);
  findings.accounting[account] += verdict.lost_ms_per_step;
  findings.verdicts.push_back(std::move(verdict));
}

// What computing does not hide: the line's part, and the rest by whatever disturbs.
void charge_exposed(const Scene& scene, const Signs& signs, Findings& findings) {
  const double line_ms = std::min(wire_ms(signs.ports, signs.steps), scene.phases.exposed_ms);
  const double rest_ms = scene.phases.exposed_ms - line_ms;
  if (line_ms > kLineFull * scene.phases.exposed_ms) {
    charge(Account::Link,
           verdict_at(signs.ports.front(), VerdictClass::LanBandwidth, "line-rate", line_ms), signs,
           findings);
  } else {
    findings.accounting[Account::Link] += line_ms;
  }
  if (signs.is_lossy()) {
    charge(Account::Loss,
           verdict_at(most_by(signs.ports, lossiness), VerdictClass::RdmaLoss, "loss", rest_ms),
           signs, findings);
  } else if (signs.is_congested()) {
    charge(Account::Link, congested(signs.ports, rest_ms), signs, findings);
  }
}

}  // namespace

Findings rdma_findings(const Scene& scene) {
  Findings findings;
  const Signs signs = signs_of(scene);
  if (signs.ports.empty()) {
    return findings;
  }
  if (scene.phases.source == PhaseSource::Library) {
    charge_exposed(scene, signs, findings);
    return findings;
  }
  const double paused_ms = std::min(signs.paused_ms() / signs.steps, scene.phases.exposed_ms);
  if (paused_ms > 0) {
    charge(Account::Link, congested(signs.ports, paused_ms), signs, findings);
  }
  for (const RdmaPort& port : signs.ports) {
    add_signs(port, signs.length_ms, findings.hints);
  }
  return findings;
}

}  // namespace chokepoint::analysis
