#include "analysis/attribution/charge_verdict.h"

#include <algorithm>

namespace chokepoint::analysis {
namespace {

constexpr double kOthersShare = 0.2;    // of what passes the card
constexpr double kLineFull = 0.7;       // of the line, by payload
constexpr double kBestLanRttMs = 0.15;  // no wire inside a room does much better

// Even the best change leaves what the line itself takes; a line that is full can only be replaced.
double beyond_line(const Route& route) {
  const auto line_mbps = route.line_mbps();
  const bool is_line_full = line_mbps && route.rate_mbps > kLineFull * *line_mbps;
  return line_mbps && *line_mbps > 0 && !is_line_full ? 1 - route.rate_mbps / *line_mbps : 1;
}

// With the pipe for itself the job needs its own share of the time, part of it behind computing.
double without_others(const Phases& phases, double own_share) {
  const double needed_ms = own_share * (phases.exposed_ms + phases.hidden_ms);
  const double left_ms = std::max(0.0, needed_ms - phases.hidden_ms);
  return phases.exposed_ms > 0 ? std::max(0.0, 1 - left_ms / phases.exposed_ms) : 0;
}

void judge_link(const DiagnosisInput& input, Charge& charge) {
  const Route& route = charge.route;
  charge.account = Account::Link;
  charge.verdict = route.is_wan ? VerdictClass::WanBandwidth : VerdictClass::LanBandwidth;
  const double others = std::max(route.sender.others_mbps, route.receiver.others_mbps);
  const double all = others + route.rate_mbps;
  const double own_share = all > 0 ? route.rate_mbps / all : 1;
  charge.cause = 1 - own_share > kOthersShare ? "competing-traffic" : "line-rate";
  if (route.narrow_slot() != nullptr) {
    charge.account = Account::Pcie;
    charge.verdict = VerdictClass::PcieNic;
    charge.cause = "pcie-width";
    return;
  }
  charge.removable =
      1 - own_share > kOthersShare ? without_others(input.phases, own_share) : beyond_line(route);
  if (const auto better = better_way(input, *charge.direction, route)) {
    charge.verdict = VerdictClass::WrongPath;
    charge.cause = better->cause;
  }
}

void judge_window(const Route& route, bool is_receiver, Charge& charge) {
  charge.removable = beyond_line(route);
  charge.cause = is_receiver ? "receive-window" : "send-buffer";
  charge.account = route.is_wan  ? Account::Window
                   : is_receiver ? Account::ReceiverHost
                                 : Account::SenderHost;
  charge.verdict = route.is_wan  ? VerdictClass::WanLatency
                   : is_receiver ? VerdictClass::ReceiverHost
                                 : VerdictClass::SenderHost;
}

void judge_delay(const Route& route, Account account, const char* cause, Charge& charge) {
  charge.removable = beyond_line(route);
  charge.account = account;
  charge.cause = cause;
  charge.verdict = route.is_wan ? VerdictClass::WanLatency : VerdictClass::LanLatency;
  if (!route.is_wan) {
    charge.removable *= route.rtt_ms > 0 ? std::max(0.0, 1 - kBestLanRttMs / route.rtt_ms) : 0;
  }
}

}  // namespace

void judge_charge(const DiagnosisInput& input, Limit limit, Charge& charge) {
  switch (limit) {
    case Limit::LinkFull:
      return judge_link(input, charge);
    case Limit::Loss:
      charge.account = Account::Loss;
      charge.cause = "loss";
      charge.verdict = charge.route.is_wan ? VerdictClass::WanLoss : VerdictClass::LanLoss;
      return;
    case Limit::ReceiveWindow:
      return judge_window(charge.route, true, charge);
    case Limit::SendBuffer:
      return judge_window(charge.route, false, charge);
    case Limit::CongestionWindow:
      return judge_delay(charge.route, Account::Window, "congestion-window", charge);
    case Limit::LibraryCredit:
      // A message goes as a whole; only a collective's segments wait for credit.
      return input.phases.by_messages
                 ? judge_delay(charge.route, Account::Latency, "round-trips", charge)
                 : judge_delay(charge.route, Account::Library, "gloo-credit", charge);
    case Limit::RoundTrip:
      return judge_delay(charge.route, Account::Latency, "round-trips", charge);
  }
}

}  // namespace chokepoint::analysis
