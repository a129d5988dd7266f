#include "tests/preflight/crowd/answers.h"

#include <fmt/format.h>

#include <cmath>

#include "base/documents/collective.h"
#include "base/json/codec.h"
#include "base/net/address.h"
#include "preflight/task/host_facts.h"
#include "tests/fakes/printed.h"
#include "tests/preflight/crowd/documents.h"

namespace chokepoint::preflight::crowd {
namespace {

using control::Json;

constexpr HostIndex kInNetwork = 250;
constexpr std::uint32_t kFirst = 1U << 16U;  // 127.1.0.0
constexpr double kSpread = 0.01;             // measurements differ by so much
constexpr int kPacketBytes = 1472;

// The same between the same two, and no other's: -1 to 1.
double luck(HostIndex a, HostIndex b) {
  const std::uint32_t mixed = (a * 2654435761U) ^ (b * 2246822519U);
  return static_cast<double>(mixed % 2001U) / 1000.0 - 1.0;
}

std::string number(double value) { return fmt::format("{:.4f}", value); }

struct Round {
  const Network& network;
  HostIndex host;
  HostIndex peer;
  const Task& task;
  int together;
  std::uint32_t flow;
};

Gaps common(const Round& round) {
  const double rtt = round.network.rtt_ms * (1 + kSpread * luck(round.host, round.peer));
  return {{"host", name_of_host(round.host)}, {"peer", round.task.peer},      {"rtt", number(rtt)},
          {"rtt_min", number(0.8 * rtt)},     {"rtt_p99", number(1.5 * rtt)}, {"offset", "0.0"}};
}

// What a flow sends again costs it most of its speed.
double slowed_by_loss(double mbps, double loss_percent) {
  return loss_percent > 0 ? std::min(mbps, mbps / (1 + 10 * loss_percent)) : mbps;
}

std::string tcp_direction(const Round& round, bool sends) {
  const PathFigures figures =
      path_figures(round.network, sends ? round.host : round.peer, sends ? round.peer : round.host,
                   round.together, round.flow);
  const double payload = 0.94 + kSpread * luck(round.host, round.peer) / 2;
  const double mbps = payload * slowed_by_loss(figures.mbps, figures.loss_percent);
  Gaps gaps = common(round);
  gaps.emplace_back("mbps", number(mbps));
  gaps.emplace_back("bytes", fmt::format("{:.0f}", mbps * 125'000));
  gaps.emplace_back("retransmits", figures.loss_percent > 0 ? "50" : "0");
  return forms().tcp_direction.filled(gaps);
}

std::string_view direction_of(const Task& task) {
  if (task.sends && task.receives) {
    return "both";
  }
  return task.sends ? "send" : "receive";
}

std::string tcp(const Round& round) {
  Gaps gaps = common(round);
  gaps.emplace_back("direction", direction_of(round.task));
  std::string text = forms().tcp.filled(gaps);
  text.back() = ',';
  if (round.task.sends != round.task.receives) {
    return text + tcp_direction(round, round.task.sends).substr(1);
  }
  return text + R"("send":)" + tcp_direction(round, true) + R"(,"receive":)" +
         tcp_direction(round, false) + "}";
}

void add_loss(Gaps& gaps, const Round& round, bool sends) {
  const PathFigures figures = sends ? path_figures(round.network, round.host, round.peer)
                                    : path_figures(round.network, round.peer, round.host);
  const double seconds = std::chrono::duration<double>(round.task.time).count();
  const double packets = std::floor(round.task.rate_bits_per_s * seconds / 8 / kPacketBytes);
  const double lost = std::round(packets * figures.loss_percent / 100);
  gaps.emplace_back(sends ? "send_sent" : "receive_sent", fmt::format("{:.0f}", packets));
  gaps.emplace_back(sends ? "send_lost" : "receive_lost", fmt::format("{:.0f}", lost));
  gaps.emplace_back(sends ? "send_received" : "receive_received",
                    fmt::format("{:.0f}", packets - lost));
  gaps.emplace_back(sends ? "send_loss_percent" : "receive_loss_percent",
                    number(packets > 0 ? 100 * lost / packets : 0));
}

std::string udp(const Round& round) {
  Gaps gaps = common(round);
  add_loss(gaps, round, true);
  add_loss(gaps, round, false);
  return forms().udp.filled(gaps);
}

std::string path(const Round& round) {
  Gaps gaps = common(round);
  gaps.emplace_back(
      "mtu", fmt::format("{}", path_figures(round.network, round.host, round.peer).mtu_bytes));
  return forms().path.filled(gaps);
}

std::string names(const Task& task) {
  Json answers = Json::array();
  for (const std::string& host : task.hosts) {
    answers.push_back({{"name", host}, {"addresses", {host}}, {"error", nullptr}});
  }
  return Json{{"schema", "chokepoint.names/1"}, {"answers", answers}}.dump();
}

std::string collective(const Network& network, const Task& task) {
  const auto port_mbps = static_cast<double>(network.port_mbps);
  return fakes::printed_text(
      documents::Collective{.backend = "gloo",
                            .collective = "all-reduce",
                            .ranks = static_cast<int>(task.hosts.size()),
                            .sizes = {{.bytes = static_cast<std::uint64_t>(task.bytes),
                                       .time_us = math::Distribution{.median = 1000, .count = 10},
                                       .algbw_mbps = port_mbps / 2,
                                       .busbw_mbps = port_mbps * 0.9,
                                       .checked = true}}});
}

}  // namespace

std::string address_of(HostIndex host) {
  return fmt::format("127.1.{}.{}", host / kInNetwork, host % kInNetwork + 1);
}

std::string name_of_host(HostIndex host) { return fmt::format("host{}", host); }

HostIndex host_at(std::string_view address) {
  const Result<net::Address> parsed = net::Address::parse(address);
  if (!parsed || parsed->family() != net::Family::Ipv4) {
    return UINT32_MAX;
  }
  const auto& bytes = parsed->bytes();
  const std::uint32_t low = std::uint32_t{bytes[1]} << 16U;
  const HostIndex last = bytes[3];
  const bool is_ours = bytes[0] == 127 && low == kFirst && last >= 1 && last <= kInNetwork;
  return is_ours ? bytes[2] * kInNetwork + last - 1 : UINT32_MAX;
}

Json ready_body(const Network& network, HostIndex host) {
  HostFacts facts{.host = name_of_host(host),
                  .receive_buffer_bytes = 33'554'432,
                  .send_buffer_bytes = 33'554'432,
                  .congestion_control = "cubic",
                  .cpus = 64,
                  .gpus = 8};
  facts.interfaces.push_back({.name = "eth0",
                              .addresses = {address_of(host)},
                              .networks = {"127.1.0.0/16"},
                              .mtu = network.mtu_bytes,
                              .speed_mbps = network.port_mbps,
                              .pci_mbps = 4 * network.port_mbps,
                              .is_port = true,
                              .is_up = true});
  return {{"facts", json::to_json(facts)},
          {"settings", {{"sysctl", {{"net.ipv4.tcp_congestion_control", "cubic"}}}}}};
}

std::string answer(const Network& network, HostIndex host, const Task& task, int together,
                   std::uint32_t flow) {
  const Round round{network, host, host_at(task.peer), task, together, flow};
  switch (task.kind) {
    case TaskKind::Latency:
      return forms().latency.filled(common(round));
    case TaskKind::Loss:
      return udp(round);
    case TaskKind::Path:
      return path(round);
    case TaskKind::Tcp:
      return tcp(round);
    case TaskKind::Names:
      return names(task);
    case TaskKind::Collective:
      return collective(network, task);
    default:
      return forms().doctor.filled({{"host", name_of_host(host)}});
  }
}

}  // namespace chokepoint::preflight::crowd
