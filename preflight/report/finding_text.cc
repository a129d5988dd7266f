#include "preflight/report/finding_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cli/text.h"
#include "preflight/judge/figure_text.h"

namespace chokepoint::preflight {
namespace {

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

std::string words_of(const checks::Check& check) {
  std::string text = check.subject;
  if (!check.found.empty()) {
    text += ": " + check.found;
  }
  if (!check.wanted.empty()) {
    text += " (wanted: " + check.wanted + ")";
  }
  return text;
}

// Names what was not tested, so that no finding about it is not taken for a good result.
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
    text += words_of(worst->check);
    text += count == 1 ? "" : "; " + counted(count - 1, "more finding", "more findings");
  }
  text += untested(measured);
  text += measured.was_interrupted ? "; interrupted, so not all was measured" : "";
  return cli::printable(text);
}

std::optional<double> link_mbps(const HostResult& host) {
  const InterfaceFacts* interface = tested_interface(host);
  const auto speed =
      interface == nullptr ? std::nullopt : lesser(interface->speed_mbps, interface->pci_mbps);
  return speed && *speed > 0 ? speed : std::nullopt;
}

Figure throughput_mbps(const PathResult& path) {
  return path.alone_mbps ? path.alone_mbps : path.tcp_mbps;
}

ExpectedRates::ExpectedRates(const Measured& measured) {
  for (const HostResult& host : measured.hosts) {
    links_.push_back(link_mbps(host));
    by_links_ = by_links_ || links_.back().has_value();
  }
  for (const PairResult& pair : measured.pairs) {
    fastest_ = greater(greater(fastest_, throughput_mbps(pair.there)), throughput_mbps(pair.back));
  }
}

std::optional<double> ExpectedRates::mbps(HostIndex from, HostIndex to) const {
  const std::optional<double> link = lesser(links_.at(from), links_.at(to));
  const bool both_known = links_.at(from) && links_.at(to);
  return both_known ? link : lesser(link, fastest_);
}

Figure ExpectedRates::share(HostIndex from, HostIndex to, const PathResult& path) const {
  const Figure reached = throughput_mbps(path);
  const std::optional<double> most = mbps(from, to);
  if (!reached || !most || *most <= 0) {
    return std::nullopt;
  }
  return static_cast<float>(*reached / *most);
}

}  // namespace chokepoint::preflight
