#include "analysis/attribution/rdma.h"

#include <algorithm>

#include "analysis/attribution/rdma_signs.h"

namespace chokepoint::analysis {
namespace {

constexpr double kLineOfExposed = 0.7;  // of what is exposed the line needs
constexpr double kPeerPauses = 0.5;     // of the pauses, where the peer itself asked for them

Verdict verdict_at(Where where, VerdictClass verdict, const char* cause, double lost_ms) {
  return {
      .verdict = verdict, .cause = cause, .where = std::move(where), .lost_ms_per_step = lost_ms};
}

Where place_of(const RdmaPort& port) { return {.interface = port.name, .node = port.node}; }

Verdict congested(const RdmaSigns& signs, double lost_ms) {
  const RdmaPort& paused = *std::ranges::max_element(signs.ports, {}, &RdmaPort::paused_ms);
  const RdmaPort& pausing = *std::ranges::max_element(signs.ports, {}, &RdmaPort::pausing_ms);
  if (paused.paused_ms <= 0) {
    return verdict_at(where_congested(signs), VerdictClass::RdmaCongestion, "ecn", lost_ms);
  }
  const bool is_peer = pausing.pausing_ms > kPeerPauses * paused.paused_ms;
  return verdict_at(place_of(is_peer ? pausing : paused), VerdictClass::RdmaCongestion,
                    is_peer ? "receiver-pauses" : "pauses", lost_ms);
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
  charge(Account::Loss, verdict_at(where_lost(signs), VerdictClass::RdmaLoss, "loss", lost_ms),
         signs, findings);
}

// The line's part of what is exposed; a verdict where it is most of it.
double charge_line(const DiagnosisInput& input, const RdmaSigns& signs, Findings& findings) {
  const double line_ms = std::min(wire_ms(signs.ports, signs.steps), input.phases.exposed_ms);
  if (line_ms > kLineOfExposed * input.phases.exposed_ms) {
    charge(
        Account::Link,
        verdict_at(place_of(signs.ports.front()), VerdictClass::LanBandwidth, "line-rate", line_ms),
        signs, findings);
  } else {
    findings.accounting[Account::Link] += line_ms;
  }
  return line_ms;
}

// What computing does not hide: the line's part, and the rest by whatever disturbs.
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

// While packets were marked; where ports alone tell of congestion, nothing tells when.
double congested_ms(const RdmaSigns& signs, double rest_ms) {
  const RoceWay* way = signs.view.most_marked();
  return way == nullptr ? rest_ms : std::min(rest_ms, way->marked_ns / 1e6 / signs.steps);
}

// Packets tell how long was waited and sent again for what was lost, so nothing is guessed.
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

// Of counters alone: what certainly was lost.
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
