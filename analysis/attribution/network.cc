#include "analysis/attribution/network.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "analysis/attribution/charges.h"
#include "analysis/attribution/hosts.h"
#include "analysis/attribution/route.h"
#include "base/json/codec.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMaxOutageSteps = 0.25;  // of all steps: an outage lies in no more of them,
// And these have this share of the time above the usual step.
constexpr double kMinLostInOutage = 0.8;

std::string sockets_of(const std::string& node) { return "socket samples of " + node; }

// Where no socket was read, packets show them.
std::string round_trips_of(const DirectionLimits& direction, const std::string& node) {
  const FlowData* const flow = direction.view.at_sender;
  const bool is_read = flow != nullptr && !(flow->sockets[0].empty() && flow->sockets[1].empty());
  return is_read ? sockets_of(node) : "flow samples of " + node;
}

void add_link(const Route& route, Verdict& verdict) {
  verdict.evidence.push_back({"payload while data were under way", route.rate_mbps, "Mb/s",
                              "flow samples of " + route.from});
  if (verdict.cause == Cause::JobTraffic) {
    verdict.evidence.push_back({"the job's own data, checkpoints and weights on the same interface",
                                route.beside_mbps(), "Mb/s", "flow samples, while ranks exchange"});
  }
  if (const auto line = route.line_mbps()) {
    verdict.evidence.push_back(
        {"the interface's own speed", line, "Mb/s",
         "nic.speed_mbps of " +
             (route.sender.interface.empty() ? route.receiver.interface : route.sender.interface)});
  }
  if (verdict.cause == Cause::CompetingTraffic) {
    verdict.evidence.push_back({"traffic of others on the same interface", route.others_mbps(),
                                "Mb/s", "nic.sent_bytes, job.sent_bytes"});
  }
  if (const Card* storage = route.storage();
      verdict.cause == Cause::StorageTraffic && storage != nullptr) {
    verdict.evidence.push_back({"traffic of others on the same interface", storage->others_mbps,
                                "Mb/s", "nic.sent_bytes, job.sent_bytes"});
    verdict.evidence.push_back({"of that, NFS of " + storage->nfs_mount, storage->nfs_mbps, "Mb/s",
                                "nfs.read_bytes, nfs.written_bytes of " + storage->node});
    verdict.where.node = storage->node;
    verdict.where.mount = storage->nfs_mount;
  }
  if (const Card* slot = route.narrow_slot()) {
    verdict.evidence.push_back({"capacity of the PCIe slot", slot->slot_mbps, "Mb/s",
                                "pcie.ceiling_mbps of " + slot->interface});
  }
}

void add_mean(const DirectionLimits& direction, const char* what, const char* unit, double factor,
              record::Figure record::SocketSample::* member, Verdict& verdict,
              const std::string& node) {
  if (direction.view.at_sender == nullptr) {
    return;
  }
  double sum = 0;
  double count = 0;
  const auto side = static_cast<std::size_t>(direction.view.direction);
  for (const record::SocketSample& sample : direction.view.at_sender->sockets.at(side)) {
    if ((sample.*member).known()) {
      sum += static_cast<double>((sample.*member).value());
      ++count;
    }
  }
  if (count > 0) {
    verdict.evidence.push_back({what, factor * sum / count, unit, sockets_of(node)});
  }
}

void add_hosts(const DiagnosisInput& input, const DirectionLimits& direction, Verdict& verdict) {
  const auto& place = verdict.verdict == VerdictClass::ReceiverHost ? direction.view.receiver
                                                                    : direction.view.sender;
  if (!place) {
    return;
  }
  const NodeData& node = input.run.nodes[*place];
  const HostLoad load = load_of(node, input.span_of(*place));
  if (load.is_starved) {
    add_starvation(node, input.span_of(*place), load, verdict.evidence);
  } else if (load.busiest_percent > load.softirq_percent) {
    verdict.evidence.push_back({"thread " + load.busiest_thread + " worked", load.busiest_percent,
                                "% of a core", "thread.cpu_ns of " + node.name});
  } else {
    verdict.evidence.push_back({load.softirq_core + " received packets", load.softirq_percent,
                                "% of its time", "cpu.softirq_ns of " + node.name});
  }
}

void add_round_trips(const DirectionLimits& direction, const Route& route, Verdict& verdict) {
  if (route.rtt_ms > 0) {
    verdict.evidence.push_back(
        {"unloaded round trip", route.rtt_ms, "ms", round_trips_of(direction, route.from)});
  }
  add_mean(direction, "round trip under load", "ms", 1e-3, &record::SocketSample::rtt_us, verdict,
           route.from);
}

void add_retransmissions(const DirectionLimits& direction, const Route& route, Verdict& verdict) {
  if (direction.facts.packets > 0 && direction.facts.retransmitted > 0) {
    verdict.evidence.push_back({"packets retransmitted",
                                100 * direction.facts.retransmitted / direction.facts.packets, "%",
                                "flow totals of " + route.from});
  }
}

// What it would take in flight to fill the path at the interface's speed.
void add_delay_product(const Route& route, Verdict& verdict) {
  constexpr double kBytesPerMbMs = 1e6 / 8 / 1e3;
  const auto line = route.line_mbps();
  if (line && route.rtt_ms > 0) {
    verdict.evidence.push_back({"bandwidth-delay product at that speed",
                                *line * route.rtt_ms * kBytesPerMbMs, "bytes",
                                "that speed times the unloaded round trip"});
  }
}

// A longer route would show in its round trip, in whichever direction that was measured.
void add_return_path(const DiagnosisInput& input, const Route& route, Verdict& verdict) {
  constexpr double kMinFasterReturn = 2;
  std::optional<Route> back;
  for (const DirectionLimits& direction : input.limit_timeline.directions) {
    const auto from = static_cast<std::size_t>(direction.view.direction);
    const auto& names = input.run.connections[direction.view.connection].names;
    if (names.at(from) != route.to || names.at(1 - from) != route.from) {
      continue;
    }
    Route reverse = route_of(input, direction);
    if (!back || reverse.rate_mbps > back->rate_mbps) {
      back = std::move(reverse);
    }
  }
  if (back && back->rtt_ms > 0 && back->rate_mbps > kMinFasterReturn * route.rate_mbps) {
    verdict.evidence.push_back(
        {"reverse path: unloaded round trip", back->rtt_ms, "ms", sockets_of(route.to)});
    verdict.evidence.push_back(
        {"payload on the reverse path", back->rate_mbps, "Mb/s", "flow samples of " + route.to});
  }
}

void add_buffers(const DirectionLimits& direction, const Route& route, Verdict& verdict) {
  using record::SocketSample;
  if (verdict.cause == Cause::ReceiveWindow) {
    add_mean(direction, "window that the receiver announced", "bytes", 1,
             &SocketSample::send_window_bytes, verdict, route.from);
  }
  if (verdict.cause == Cause::SendBuffer || verdict.cause == Cause::GlooCredit) {
    add_mean(direction, "in the sender's queue", "bytes", 1, &SocketSample::send_queue_bytes,
             verdict, route.from);
  }
}

bool is_delay(VerdictClass verdict) {
  return verdict == VerdictClass::LanLatency || verdict == VerdictClass::WanLatency;
}

void add_evidence(const DiagnosisInput& input, const DirectionLimits& direction, const Route& route,
                  Verdict& verdict) {
  // The strongest evidence comes first: short pages show only the first line.
  if (verdict.cause == Cause::ProcessCpu || verdict.cause == Cause::Softirq) {
    add_hosts(input, direction, verdict);
  }
  if (is_loss(verdict.verdict)) {
    add_retransmissions(direction, route, verdict);
  }
  add_buffers(direction, route, verdict);
  if (is_delay(verdict.verdict)) {
    add_round_trips(direction, route, verdict);
  }
  add_link(route, verdict);
  if (is_delay(verdict.verdict)) {
    add_delay_product(route, verdict);
  } else {
    add_round_trips(direction, route, verdict);
  }
  if (verdict.verdict == VerdictClass::WanLoss || verdict.verdict == VerdictClass::WanBandwidth) {
    add_return_path(input, route, verdict);
  }
  if (!is_loss(verdict.verdict)) {
    add_retransmissions(direction, route, verdict);
  }
}

// What waits for a round trip waits for both directions of it.
bool is_round_trip(Cause cause) { return cause == Cause::RoundTrips || cause == Cause::GlooCredit; }

// The two nodes most charged, and in which direction.
Where where_of(const std::vector<const Charge*>& charges, Cause cause) {
  std::map<std::pair<std::string, std::string>, double> charged_ms;
  for (const Charge* charge : charges) {
    charged_ms[{charge->route.from, charge->route.to}] += charge->ms;
  }
  const auto most =
      std::ranges::max_element(charged_ms, {}, [](const auto& each) { return each.second; });
  const auto back = charged_ms.find({most->first.second, most->first.first});
  const bool is_both = is_round_trip(cause) || (back != charged_ms.end() &&
                                                back->second > kMinOtherDirection * most->second);
  return {.from = most->first.first, .to = most->first.second, .direction = is_both ? "both" : ""};
}

// The first by name of the nodes at both ends, so that either direction names the same card.
void name_card(const Charge& charge, Where& where) {
  const Route& route = charge.route;
  const bool is_sender = route.receiver.node.empty() ||
                         (!route.sender.node.empty() && route.sender.node < route.receiver.node);
  const Card* card = is_sender ? &route.sender : &route.receiver;
  if (charge.verdict == VerdictClass::PcieNic) {
    card = route.narrow_slot();
  } else if (charge.verdict != VerdictClass::WrongPath) {
    return;
  }
  where.interface = card->interface;
  where.node = card->node;
}

// The charges of one class become one verdict; the largest names its cause.
struct Group {
  std::vector<const Charge*> charges = {};
  std::map<Cause, double> causes = {};
  double removable_ms = 0;
};

const Charge& largest(const Group& group) {
  const auto cause =
      std::ranges::max_element(group.causes, {}, [](const auto& entry) { return entry.second; });
  const Charge* most = nullptr;
  for (const Charge* charge : group.charges) {
    most =
        charge->cause == cause->first && (most == nullptr || charge->ms > most->ms) ? charge : most;
  }
  return *most;
}

Verdict verdict_of(const DiagnosisInput& input, const Group& group) {
  const Charge& charge = largest(group);
  Verdict verdict{.verdict = charge.verdict,
                  .cause = charge.cause,
                  .where = where_of(group.charges, charge.cause),
                  .lost_ms_per_step = group.removable_ms};
  name_card(charge, verdict.where);
  add_evidence(input, *charge.direction, charge.route, verdict);
  return verdict;
}

// Of NCCL's network steps, over all settled steps, in ns; double, because rows may hold any number.
struct Waits {
  double gpu = 0;
  double network = 0;
  double peer = 0;
  double flush = 0;

  double sum() const { return gpu + network + peer + flush; }
  void add(const record::Collective& row) {
    gpu += static_cast<double>(row.gpu_wait_ns.value_or(0));
    network += static_cast<double>(row.network_wait_ns.value_or(0));
    peer += static_cast<double>(row.peer_wait_ns.value_or(0));
    flush += static_cast<double>(row.flush_wait_ns.value_or(0));
  }
};

Waits nccl_waits_of(const DiagnosisInput& input, std::size_t place) {
  Waits waits;
  const Span span = input.span_of(place);
  for (const record::Collective& row : input.run.nodes[place].collectives) {
    if (row.end_ns > span.start_ns && row.start_ns < span.end_ns) {
      waits.add(row);
    }
  }
  return waits;
}

Evidence share(const char* what, double part, const Waits& waits, const char* columns,
               const NodeData& node) {
  return {what, 100 * part / waits.sum(), "%",
          std::string(columns) + " of the collectives of " + node.name};
}

Evidence of_gpu(const Waits& waits, const NodeData& node) {
  return share("of what NCCL's network steps waited, for the own GPU or the flush over PCIe",
               waits.gpu + waits.flush, waits, "gpu_wait_ns, flush_wait_ns", node);
}

Evidence of_peer(const Waits& waits, const NodeData& node) {
  return share("of what NCCL's network steps waited, for the receiver's credit", waits.peer, waits,
               "peer_wait_ns", node);
}

Evidence of_network(const Waits& waits, const NodeData& node) {
  return share("of what NCCL's network steps waited, for the network", waits.network, waits,
               "network_wait_ns", node);
}

bool is_of_network(VerdictClass verdict) {
  using enum VerdictClass;
  return verdict == LanBandwidth || verdict == LanLoss || verdict == LanLatency ||
         verdict == WanBandwidth || verdict == WanLoss || verdict == WanLatency;
}

void add_to(Verdict& verdict, const Waits& waits, const NodeData& node) {
  if (verdict.verdict == VerdictClass::PcieGpu && verdict.where.node == node.name) {
    verdict.evidence.push_back(of_gpu(waits, node));
  } else if (verdict.where.from == node.name && verdict.verdict == VerdictClass::ReceiverHost) {
    verdict.evidence.push_back(of_peer(waits, node));
  } else if (verdict.where.from == node.name && is_of_network(verdict.verdict)) {
    verdict.evidence.push_back(of_network(waits, node));
  }
}

// The interfaces of containers come and go, so only cards and what carries the job's flows count.
bool is_jobs(const NodeData& node, const std::string& name) {
  const Interface* interface = node.interface(name);
  return (interface != nullptr && interface->kind == "physical") ||
         std::ranges::any_of(node.flows,
                             [&](const FlowData& flow) { return flow.row.interface == name; });
}

struct Flap {
  const NodeData* node = nullptr;
  const record::Event* event = nullptr;
  bool is_cause = false;  // switched off, rather than lost its carrier
};

bool was_switched_off(const record::Event& event) {
  return event.kind == record::kInterfaceGone ||
         !json::field_in<bool>(json::object_or_null(event.detail), "enabled", "event")
              .value_or(true);
}

// If both ends of a link went down, the one that was switched off.
Flap flap_of(const DiagnosisInput& input) {
  Flap first;
  for (std::size_t place = 0; place < input.run.nodes.size(); ++place) {
    const Span span = input.span_of(place);
    for (const record::Event& event : input.run.nodes[place].events) {
      const bool is_down =
          event.kind == record::kInterfaceDown || event.kind == record::kInterfaceGone;
      if (!is_down || event.t_ns < span.start_ns || event.t_ns > span.end_ns ||
          !is_jobs(input.run.nodes[place], event.subject)) {
        continue;
      }
      const Flap flap{&input.run.nodes[place], &event, was_switched_off(event)};
      first = first.event == nullptr || (flap.is_cause && !first.is_cause) ? flap : first;
    }
  }
  return first;
}

// Nearly all retransmissions fell into the steps that took twice the usual one, so there is no loss
// otherwise. True also where retransmissions were not counted.
bool is_lost_in_long_steps(const DiagnosisInput& input, double usual_ns) {
  Spans long_steps;
  for (const Span& step : input.steps.settled) {
    if (static_cast<double>(step.length_ns()) > 2 * usual_ns) {
      long_steps.push_back(step);
    }
  }
  double all = 0;
  double inside = 0;
  for (const DirectionLimits& direction : input.limit_timeline.directions) {
    const DirectionView& view = direction.view;
    for (const record::FlowSample& sample : view.best().packets.at(side_of(view))) {
      const double again = figure(sample.retransmitted_packets);
      const std::int64_t t_ns = input.clocks.common_ns(view.best_node(), sample.t_ns);
      if (again > 0 && covers(input.steps.settled, t_ns)) {
        all += again;
        inside += covers(long_steps, t_ns) ? again : 0;
      }
    }
  }
  return inside >= kMinLostInOutage * all;
}

// Few steps took nearly all of the time that is above the usual step.
bool is_outage(const DiagnosisInput& input) {
  const Spans& steps = input.steps.settled;
  std::vector<double> lengths;
  for (const Span& step : steps) {
    lengths.push_back(static_cast<double>(step.length_ns()));
  }
  std::ranges::sort(lengths, std::ranges::greater{});
  const double usual = lengths[lengths.size() / 2];
  const auto few = static_cast<std::size_t>(kMaxOutageSteps * static_cast<double>(lengths.size()));
  double all = 0;
  double of_few = 0;
  for (std::size_t place = 0; place < lengths.size(); ++place) {
    const double lost = std::max(0.0, lengths[place] - usual);
    all += lost;
    of_few += place < std::max<std::size_t>(few, 1) ? lost : 0;
  }
  return of_few > kMinLostInOutage * all && lengths.front() > 4 * usual &&
         lengths.front() > usual + 500e6 && is_lost_in_long_steps(input, usual);
}

}  // namespace

Findings network_findings(const DiagnosisInput& input) {
  Findings network;
  const std::vector<Charge> charges = charges_of(input);
  std::map<VerdictClass, Group> groups;
  for (const Charge& charge : charges) {
    Group& group = groups[charge.verdict];
    group.charges.push_back(&charge);
    group.causes[charge.cause] += charge.ms;
    group.removable_ms += charge.ms * charge.removable;
    network.accounting[charge.account] += charge.ms;
  }
  for (const auto& [verdict, group] : groups) {
    network.verdicts.push_back(verdict_of(input, group));
  }
  return network;
}

void add_nccl_waits(const DiagnosisInput& input, Findings& findings) {
  for (std::size_t place = 0; place < input.run.nodes.size(); ++place) {
    const NodeData& node = input.run.nodes[place];
    const Waits waits = nccl_waits_of(input, place);
    if (waits.sum() <= 0) {
      continue;
    }
    for (Verdict& verdict : findings.verdicts) {
      add_to(verdict, waits, node);
    }
    findings.hints.push_back(of_gpu(waits, node));
    findings.hints.push_back(of_peer(waits, node));
    findings.hints.push_back(of_network(waits, node));
  }
}

void explain_loss(const DiagnosisInput& input, Verdict& verdict) {
  if (const Flap flap = flap_of(input); flap.event != nullptr) {
    verdict.cause = Cause::InterfaceFlap;
    verdict.where.interface = flap.event->subject;
    verdict.where.node = flap.node->name;
    verdict.evidence.push_back({flap.event->subject + " of " + flap.node->name + " went down",
                                std::nullopt, "", "events of " + flap.node->name});
    return;
  }
  if (input.steps.settled.size() > 3 && is_outage(input)) {
    verdict.cause = Cause::LinkCut;
  }
}

}  // namespace chokepoint::analysis
