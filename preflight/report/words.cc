#include "preflight/report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/cli/text.h"
#include "preflight/judge/words.h"

namespace chokepoint::preflight {
namespace {

template <class T, std::size_t N>
using Names = std::array<std::pair<T, std::string_view>, N>;

constexpr Names<Presence, 7> kPresences{{{Presence::Unresolved, "unresolved"},
                                         {Presence::Unreachable, "unreachable"},
                                         {Presence::NoAgent, "no-agent"},
                                         {Presence::Refused, "refused"},
                                         {Presence::Strange, "strange"},
                                         {Presence::Lost, "lost"},
                                         {Presence::Present, "present"}}};

constexpr Names<Place, 8> kPlaces{{{Place::Cluster, "cluster"},
                                   {Place::Host, "host"},
                                   {Place::Port, "port"},
                                   {Place::Slot, "slot"},
                                   {Place::Name, "name"},
                                   {Place::Way, "way"},
                                   {Place::Pair, "pair"},
                                   {Place::Uplink, "uplink"}}};

constexpr Names<TcpLimit, 6> kLimits{{{TcpLimit::Network, "network"},
                                      {TcpLimit::ReceiveWindow, "receive-window"},
                                      {TcpLimit::SendBuffer, "send-buffer"},
                                      {TcpLimit::SenderCpu, "sender-cpu"},
                                      {TcpLimit::ReceiverCpu, "receiver-cpu"},
                                      {TcpLimit::Application, "application"}}};

constexpr Names<FamilyState, 3> kFamilies{{{FamilyState::Absent, "absent"},
                                           {FamilyState::Works, "works"},
                                           {FamilyState::Fails, "fails"}}};

template <class T, std::size_t N>
std::string_view name_in(const Names<T, N>& names, T value) {
  const auto* at = std::ranges::find(names, value, &std::pair<T, std::string_view>::first);
  return at == names.end() ? std::string_view() : at->second;
}

template <class T, std::size_t N>
std::optional<T> value_in(const Names<T, N>& names, std::string_view name) {
  const auto* at = std::ranges::find(names, name, &std::pair<T, std::string_view>::second);
  return at == names.end() ? std::nullopt : std::optional(at->first);
}

std::string scope(const Measured& measured) {
  const auto present = static_cast<std::size_t>(
      std::ranges::count(measured.hosts, Presence::Present, &HostResult::presence));
  const std::string hosts =
      present == measured.hosts.size()
          ? counted(present, "host", "hosts")
          : fmt::format("{} of {}", present, counted(measured.hosts.size(), "host", "hosts"));
  return fmt::format("{}, {}{}", hosts, counted(measured.pairs.size(), "pair", "pairs"),
                     measured.is_sampled ? " of a sample" : "");
}

std::string told(const checks::Check& check) {
  std::string text = check.subject;
  if (!check.found.empty()) {
    text += ": " + check.found;
  }
  if (!check.wanted.empty()) {
    text += " (wanted: " + check.wanted + ")";
  }
  return text;
}

// What nobody looked at is not well for that.
std::string untested(const Measured& measured) {
  const auto count =
      static_cast<std::size_t>(std::ranges::count_if(measured.pairs, [&](const PairResult& pair) {
        return !is_tested(pair) && measured.hosts[pair.a].presence == Presence::Present &&
               measured.hosts[pair.b].presence == Presence::Present;
      }));
  return count == 0                      ? ""
         : count < measured.pairs.size() ? "; " + counted(count, "pair", "pairs") + " not tested"
         : count == 1                    ? "; the pair was not tested"
                                         : "; none of the pairs was tested";
}

std::optional<double> lesser(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) {
    return a ? a : b;
  }
  return std::min(*a, *b);
}

std::optional<double> greater(std::optional<double> a, const Figure& b) {
  return b ? std::max(a.value_or(0), static_cast<double>(*b)) : a;
}

}  // namespace

std::string_view name_of(Presence presence) { return name_in(kPresences, presence); }
std::optional<Presence> presence_named(std::string_view name) { return value_in(kPresences, name); }

std::string_view name_of(Place place) { return name_in(kPlaces, place); }

std::string_view name_of(TcpLimit limit) { return name_in(kLimits, limit); }
std::optional<TcpLimit> tcp_limit_named(std::string_view name) { return value_in(kLimits, name); }

std::string_view name_of(FamilyState state) { return name_in(kFamilies, state); }
std::optional<FamilyState> family_state_named(std::string_view name) {
  return value_in(kFamilies, name);
}

std::string sentence_of(const Measured& measured, const Judgement& judgement) {
  const auto count = static_cast<std::size_t>(std::ranges::count_if(
      judgement.findings,
      [](const Finding& finding) { return finding.check.status >= checks::Status::Warning; }));
  std::string text = scope(measured) + ": ";
  if (count == 0) {
    text += "nothing wrong was found";
  } else {
    const auto worst = std::ranges::max_element(
        judgement.findings, {}, [](const Finding& finding) { return finding.check.status; });
    text += told(worst->check);
    text += count == 1 ? "" : "; " + counted(count - 1, "more finding", "more findings");
  }
  text += untested(measured);
  text += measured.was_interrupted ? "; interrupted, so not all was measured" : "";
  return cli::printable(text);
}

std::optional<double> link_mbps(const HostResult& host) {
  if (!host.facts) {
    return std::nullopt;
  }
  for (const InterfaceFacts& each : host.facts->interfaces) {
    if (std::ranges::find(each.addresses, host.address) != each.addresses.end()) {
      const std::optional<double> speed = lesser(each.speed_mbps, each.pci_mbps);
      return speed && *speed > 0 ? speed : std::nullopt;
    }
  }
  return std::nullopt;
}

Figure throughput_mbps(const WayResult& way) {
  return way.alone_mbps ? way.alone_mbps : way.tcp_mbps;
}

Yardstick::Yardstick(const Measured& measured) {
  for (const HostResult& host : measured.hosts) {
    links_.push_back(link_mbps(host));
    by_links_ = by_links_ || links_.back().has_value();
  }
  for (const PairResult& pair : measured.pairs) {
    fastest_ = greater(greater(fastest_, throughput_mbps(pair.there)), throughput_mbps(pair.back));
  }
}

std::optional<double> Yardstick::mbps(HostIndex from, HostIndex to) const {
  const std::optional<double> link = lesser(links_.at(from), links_.at(to));
  const bool both_known = links_.at(from) && links_.at(to);
  return both_known ? link : lesser(link, fastest_);
}

Figure Yardstick::share(HostIndex from, HostIndex to, const WayResult& way) const {
  const Figure reached = throughput_mbps(way);
  const std::optional<double> most = mbps(from, to);
  if (!reached || !most || *most <= 0) {
    return std::nullopt;
  }
  return static_cast<float>(*reached / *most);
}

}  // namespace chokepoint::preflight
