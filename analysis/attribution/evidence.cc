#include "analysis/attribution/evidence.h"

#include <algorithm>

#include "analysis/attribution/hosts.h"

namespace chokepoint::analysis {
namespace {

std::string sockets_of(const std::string& node) { return "socket samples of " + node; }

void add_link(const Route& route, Verdict& verdict) {
  verdict.evidence.push_back({"payload while data were under way", route.rate_mbps, "Mb/s",
                              "flow samples of " + route.from});
  if (const auto line = route.line_mbps()) {
    verdict.evidence.push_back(
        {"the interface's own speed", line, "Mb/s", "nic.speed_mbps of " + route.sender.interface});
  }
  const double others = std::max(route.sender.others_mbps, route.receiver.others_mbps);
  if (verdict.cause == "competing-traffic") {
    verdict.evidence.push_back({"traffic of others on the same interface", others, "Mb/s",
                                "nic.sent_bytes, job.sent_bytes"});
  }
  if (const Card* slot = route.narrow_slot()) {
    verdict.evidence.push_back({"what the PCIe slot carries", slot->slot_mbps, "Mb/s",
                                "pcie.ceiling_mbps of " + slot->interface});
  }
}

void add_mean(const DirectionBlame& direction, const char* what, const char* unit, double factor,
              record::Figure record::SocketSample::* member, Verdict& verdict,
              const std::string& node) {
  if (direction.view.at_sender == nullptr) {
    return;
  }
  double sum = 0;
  double count = 0;
  const auto way = static_cast<std::size_t>(direction.view.direction);
  for (const record::SocketSample& sample : direction.view.at_sender->sockets.at(way)) {
    if ((sample.*member).known()) {
      sum += static_cast<double>((sample.*member).value());
      ++count;
    }
  }
  if (count > 0) {
    verdict.evidence.push_back({what, factor * sum / count, unit, sockets_of(node)});
  }
}

void add_hosts(const DiagnosisInput& input, const DirectionBlame& direction, Verdict& verdict) {
  const auto& place = verdict.verdict == VerdictClass::ReceiverHost ? direction.view.receiver
                                                                    : direction.view.sender;
  if (!place) {
    return;
  }
  const NodeData& node = input.run.nodes[*place];
  const HostLoad load = load_of(node, input.span_of(*place));
  if (load.is_starved) {
    verdict.evidence.push_back({"thread " + load.waiting_thread + " was ready and got no processor",
                                load.waited_percent, "% of the time",
                                "thread.wait_ns of " + node.name});
  } else if (load.busiest_percent > load.softirq_percent) {
    verdict.evidence.push_back({"thread " + load.busiest_thread + " worked", load.busiest_percent,
                                "% of a core", "thread.cpu_ns of " + node.name});
  } else {
    verdict.evidence.push_back({load.softirq_core + " received packets", load.softirq_percent,
                                "% of its time", "cpu.softirq_ns of " + node.name});
  }
}

void add_round_trips(const DirectionBlame& direction, const Route& route, Verdict& verdict) {
  if (route.rtt_ms > 0) {
    verdict.evidence.push_back({"unloaded round trip", route.rtt_ms, "ms", sockets_of(route.from)});
  }
  add_mean(direction, "round trip under load", "ms", 1e-3, &record::SocketSample::rtt_us, verdict,
           route.from);
}

void add_retransmissions(const DirectionBlame& direction, const Route& route, Verdict& verdict) {
  if (direction.facts.packets > 0 && direction.facts.retransmitted > 0) {
    verdict.evidence.push_back({"packets sent again",
                                100 * direction.facts.retransmitted / direction.facts.packets, "%",
                                "flow totals of " + route.from});
  }
}

// A longer route would show in its round trip, whichever way it was measured.
void add_way_back(const DiagnosisInput& input, const Route& route, Verdict& verdict) {
  constexpr double kMuchFaster = 2;
  std::optional<Route> back;
  for (const DirectionBlame& direction : input.blame.directions) {
    const auto from = static_cast<std::size_t>(direction.view.direction);
    const auto& names = input.run.connections[direction.view.connection].names;
    if (names.at(from) != route.to || names.at(1 - from) != route.from) {
      continue;
    }
    Route way = route_of(input, direction);
    if (!back || way.rate_mbps > back->rate_mbps) {
      back = std::move(way);
    }
  }
  if (back && back->rtt_ms > 0 && back->rate_mbps > kMuchFaster * route.rate_mbps) {
    verdict.evidence.push_back(
        {"round trip of the way back, unloaded", back->rtt_ms, "ms", sockets_of(route.to)});
    verdict.evidence.push_back(
        {"payload on the way back", back->rate_mbps, "Mb/s", "flow samples of " + route.to});
  }
}

void add_buffers(const DirectionBlame& direction, const Route& route, Verdict& verdict) {
  using record::SocketSample;
  if (verdict.cause == "receive-window") {
    add_mean(direction, "window that the receiver announced", "bytes", 1,
             &SocketSample::send_window_bytes, verdict, route.from);
  }
  if (verdict.cause == "send-buffer" || verdict.cause == "gloo-credit") {
    add_mean(direction, "in the sender's queue", "bytes", 1, &SocketSample::send_queue_bytes,
             verdict, route.from);
  }
}

bool is_delay(VerdictClass verdict) {
  return verdict == VerdictClass::LanLatency || verdict == VerdictClass::WanLatency;
}

}  // namespace

void add_evidence(const DiagnosisInput& input, const DirectionBlame& direction, const Route& route,
                  Verdict& verdict) {
  // What tells most of the cause comes first: short pages show no more.
  const bool is_loss =
      verdict.verdict == VerdictClass::LanLoss || verdict.verdict == VerdictClass::WanLoss;
  if (verdict.cause == "process-cpu" || verdict.cause == "softirq") {
    add_hosts(input, direction, verdict);
  }
  if (is_loss) {
    add_retransmissions(direction, route, verdict);
  }
  add_buffers(direction, route, verdict);
  if (is_delay(verdict.verdict)) {
    add_round_trips(direction, route, verdict);
  }
  add_link(route, verdict);
  if (!is_delay(verdict.verdict)) {
    add_round_trips(direction, route, verdict);
  }
  if (verdict.verdict == VerdictClass::WanLoss || verdict.verdict == VerdictClass::WanBandwidth) {
    add_way_back(input, route, verdict);
  }
  if (!is_loss) {
    add_retransmissions(direction, route, verdict);
  }
}

}  // namespace chokepoint::analysis
