#include "tests/preflight/coordinator/fake_agents.h"

#include <algorithm>

#include "base/documents/collective.h"
#include "base/documents/doctor.h"
#include "base/documents/probe_latency.h"
#include "base/documents/probe_path.h"
#include "base/documents/probe_paths.h"
#include "base/documents/probe_tcp.h"
#include "base/documents/probe_udp.h"
#include "base/documents/rdma.h"
#include "base/json/codec.h"
#include "tests/fakes/printed.h"

namespace chokepoint::preflight {
namespace {

using control::Json;

constexpr std::int64_t kNsPerMs = 1'000'000;

documents::TcpFigures tcp_figures(double mbps) {
  return {.mss_bytes = 1448,
          .throughput_mbps = mbps,
          .sent_bytes = 1'448'000,
          .retransmits = 1,
          .max_cwnd_bytes = 65536,
          .cpu = {.sender_busiest_core_percent = 20},
          .limit = documents::TcpLimit::Path};
}

documents::UdpFigures udp_figures() {
  return {
      .packets_sent = 500, .lost = 3, .lost_in_receiver_queue = 1, .dropped_by_sender_queue = 1};
}

documents::ProbeTcp tcp(const Task& task) {
  if (task.sends && task.receives) {
    return {.direction = documents::Direction::Both,
            .by_direction = {.send = tcp_figures(400), .receive = tcp_figures(300)}};
  }
  return {.by_direction = {.only = tcp_figures(940)}};
}

Json names(const Task& task) {
  Json answers = Json::array();
  for (const std::string& name : task.hosts) {
    answers.push_back({{"name", name}, {"addresses", {"10.0.0.9"}}, {"error", nullptr}});
  }
  return {{"schema", "chokepoint.names/1"}, {"answers", answers}};
}

documents::ProbePath path() {
  const documents::PathDirection direction{.trace = documents::PathTrace{.length = 1},
                                           .mtu = documents::PathMtu{.path_mtu_bytes = 9000}};
  return {.families = {.ipv4 = {.resolves = true,
                                .connection = documents::Connection::Connected,
                                .forward = direction,
                                .reverse = direction}}};
}

documents::ProbePaths paths(const Task& task) {
  if (task.kind == TaskKind::Flows) {
    return {.verdict = documents::FlowsVerdict::Alike, .flows = {{.source_port = 40'000}}};
  }
  return {.verdict = documents::FlowsVerdict::Found,
          .findings = {{.kind = documents::FlowFault::Rate,
                        .flows = 1,
                        .one_of_members = 2,
                        .rate_mbps = 95,
                        .others_rate_mbps = 940,
                        .source_ports = {40'001}}},
          .flows = {{.source_port = 40'000}, {.source_port = 40'001}}};
}

documents::Doctor doctor() {
  return {.verdict = checks::Status::Warning,
          .checks = {{.id = "nic.mtu",
                      .status = checks::Status::Warning,
                      .subject = "eth0",
                      .found = "1500",
                      .wanted = "9000",
                      .why = "small packets cost processor time"}}};
}

documents::Collective collective(const Task& task) {
  return {.backend = "gloo",
          .collective = "all-reduce",
          .ranks = static_cast<int>(task.hosts.size()),
          .sizes = {{.bytes = static_cast<std::uint64_t>(task.bytes),
                     .time_us = math::Distribution{.median = 50},
                     .busbw_mbps = 800}}};
}

}  // namespace

Json document_for(const Task& task) {
  switch (task.kind) {
    case TaskKind::Doctor:
      return fakes::printed(doctor());
    case TaskKind::Names:
      return names(task);
    case TaskKind::Latency:
      return fakes::printed(documents::ProbeLatency{
          .idle_ms = documents::RoundTrips{.min = 0.1, .median = 0.2, .p99 = 0.5, .count = 1}});
    case TaskKind::Loss:
      return fakes::printed(
          documents::ProbeUdp{.direction = documents::Direction::Both,
                              .clock_offset_ms = 5000,
                              .clock_uncertainty_ms = 0.1,
                              .by_direction = {.send = udp_figures(), .receive = udp_figures()}});
    case TaskKind::Path:
      return fakes::printed(path());
    case TaskKind::Tcp:
      return fakes::printed(tcp(task));
    case TaskKind::Flows:
    case TaskKind::Rates:
      return fakes::printed(paths(task));
    case TaskKind::RdmaBandwidth:
      return fakes::printed(documents::Rdma{.figures = {.average_mbps = 90'000}});
    case TaskKind::RdmaLatency:
      return fakes::printed(
          documents::Rdma{.figures = {.latency_us = documents::RdmaLatency{.median = 1.5}}});
    case TaskKind::Collective:
      return fakes::printed(collective(task));
    case TaskKind::Loaded:
    case TaskKind::Processor:
    case TaskKind::Storage:
      break;  // no preflight asks for them
  }
  return {};
}

FakeAgents::FakeAgents(std::size_t hosts) : hosts_(hosts) {}

HostFacts FakeAgents::facts(HostIndex host) const {
  HostFacts facts{.host = name(host), .has_gloo = true};
  facts.interfaces.push_back({.name = "eth0",
                              .addresses = {address(host)},
                              .networks = {"10.0.0.0/24"},
                              .speed_mbps = 1000,
                              .is_port = true,
                              .is_up = true});
  facts.wall_less_monotonic_ms = 1000.0 * host;
  if (change_facts) {
    change_facts(facts);
  }
  return facts;
}

std::size_t FakeAgents::count(TaskKind kind) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(asked, [&](const Asked& each) { return each.task.kind == kind; }));
}

bool FakeAgents::is_busy(HostIndex host) const {
  return std::ranges::any_of(
      working_, [&](const auto& each) { return each.first == host || each.second.peer == host; });
}

std::optional<HostIndex> FakeAgents::peer_of(const Task& task) const {
  for (HostIndex host = 0; host < hosts_; ++host) {
    if (address(host) == task.peer) {
      return host;
    }
  }
  return std::nullopt;
}

void FakeAgents::ask(HostIndex host, TaskNumber number, const Task& task) {
  const std::optional<HostIndex> peer = peer_of(task);
  faults += is_busy(host) || gone.contains(host) || (peer && is_busy(*peer)) ? 1 : 0;
  faults += !task_in(json::to_json(task)) ? 1 : 0;
  asked.push_back({.host = host, .task = task, .beside = working_.size()});
  working_[host] = {.number = number, .peer = peer};
  const Asked& last = asked.back();
  const Time at = clock.monotonic_ns() + task.time.count() * kNsPerMs;
  if (interrupts && interrupts(last)) {
    interrupted_ = true;
  } else if (goes && goes(last)) {
    gone.insert(host);
    plan(at, AgentLeft{.host = host, .error = {ErrorKind::Io, "", "", 0, "gone"}});
  } else if (!silent || !silent(last)) {
    std::optional<Result<Json>> own = answer ? answer(last) : std::nullopt;
    plan(at, Answered{.host = host,
                      .task = number,
                      .document = own ? std::move(*own) : Result<Json>(document_for(task))});
  }
}

void FakeAgents::give_up(HostIndex host, TaskNumber number) {
  const auto at = working_.find(host);
  faults += at == working_.end() || at->second.number != number ? 1 : 0;
  working_.erase(host);
  std::erase_if(events_, [&](const auto& each) {
    const auto* answered = std::get_if<Answered>(&each.second);
    return answered != nullptr && answered->host == host && answered->task == number;
  });
}

Result<std::optional<Event>> FakeAgents::next(const net::Deadline& deadline) {
  if (told_ == 0) {
    for (HostIndex host = 0; host < hosts_; ++host) {
      const auto at = absent.find(host);
      if (at == absent.end()) {
        plan(clock.monotonic_ns(), AgentJoined{.host = host,
                                               .address = address(host),
                                               .program = "chokepoint",
                                               .facts = facts(host)});
      } else if (at->second != Presence::Lost) {
        plan(clock.monotonic_ns(), AgentLeft{.host = host,
                                             .presence = at->second,
                                             .error = {ErrorKind::Refused, "", "", 0, "no"}});
      }
    }
  }
  ++told_;
  if (interrupted_) {
    return fail(ErrorKind::Interrupted, "wait", "", "interrupted");
  }
  if (breaks_after && told_ > *breaks_after) {
    return fail(ErrorKind::Io, "wait", "epoll", "broken");
  }
  // A moment longer than it was asked for: waits never end early.
  const std::int64_t wait =
      std::chrono::nanoseconds(deadline.until - net::Deadline::Clock::now()).count() + kNsPerMs;
  if (events_.empty() || events_.begin()->first > clock.monotonic_ns() + wait) {
    clock.advance(std::max<std::int64_t>(wait, 0));
    return std::nullopt;
  }
  auto node = events_.extract(events_.begin());
  clock.advance(std::max<std::int64_t>(0, node.key() - clock.monotonic_ns()));
  if (const auto* answered = std::get_if<Answered>(&node.mapped())) {
    working_.erase(answered->host);
  }
  return std::optional<Event>(std::move(node.mapped()));
}

}  // namespace chokepoint::preflight
