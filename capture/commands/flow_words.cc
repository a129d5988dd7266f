#include "capture/commands/flow_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/math/units.h"
#include "capture/commands/units.h"
#include "capture/observer/ends_text.h"

namespace chokepoint::capture {
namespace {

using flow::DirectionFacts;

constexpr double kWorthTelling = 0.01;  // of the packets, or of the time

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string cut_in_front(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : "…" + text.substr(text.size() - most + 1);
}

std::string_view main_cause(const flow::Retransmissions& causes) {
  const std::array<std::pair<std::uint64_t, std::string_view>, 4> all{
      {{causes.fast, "fast"},
       {causes.timeout, "after a timeout"},
       {causes.probe, "as a tail probe"},
       {causes.unknown, "cause not seen"}}};
  return std::ranges::max(all, {}, [](const auto& each) { return each.first; }).second;
}

void tell_resent(const DirectionFacts& facts, std::vector<std::string>& words) {
  if (facts.retransmitted_packets == 0) {
    return;
  }
  words.push_back(fmt::format("resent {:.2g} % ({})",
                              share(facts.retransmitted_packets, facts.packets) * kPercent,
                              main_cause(facts.retransmissions)));
  if (share(facts.retransmissions.spurious, facts.retransmitted_packets) > kWorthTelling) {
    words.push_back(fmt::format("{} of them needless", facts.retransmissions.spurious));
  }
}

void tell_window(const DirectionFacts& facts, std::vector<std::string>& words) {
  if (facts.busy_s > 0 && facts.window_limited_s / facts.busy_s > kWorthTelling) {
    words.push_back(fmt::format("window full {:.0f} % of the busy time",
                                facts.window_limited_s / facts.busy_s * kPercent));
  }
  if (facts.zero_windows > 0) {
    words.push_back(fmt::format("closed its window {}×", facts.zero_windows));
  }
}

void tell_path(const DirectionFacts& facts, std::vector<std::string>& words) {
  if (share(facts.congestion_marks, facts.packets) > kWorthTelling) {
    words.push_back(fmt::format("{:.0f} % marked as congested",
                                share(facts.congestion_marks, facts.packets) * kPercent));
  }
  if (share(facts.out_of_order, facts.packets) > kWorthTelling) {
    words.push_back(
        fmt::format("{:.0f} % out of order", share(facts.out_of_order, facts.packets) * kPercent));
  }
  if (facts.duplicates > 0) {
    words.push_back(fmt::format("{} copies", facts.duplicates));
  }
  if (facts.missing_bytes > 0) {
    words.push_back(fmt::format("the capture missed {}",
                                math::format_bytes(static_cast<double>(facts.missing_bytes))));
  }
}

void tell_direction(const DirectionFacts& facts, std::string_view sign,
                    std::vector<std::string>& all) {
  std::vector<std::string> words;
  tell_resent(facts, words);
  tell_window(facts, words);
  tell_path(facts, words);
  if (!words.empty()) {
    all.push_back(fmt::format("{} {}", sign, fmt::join(words, ", ")));
  }
}

}  // namespace

std::string ends_words(const flow::FlowFacts& facts, std::size_t most) {
  const packet::Ends& ends = facts.ends;
  const auto end = [&](const packet::Address& address, std::uint16_t port) {
    return cut_in_front(observer::end_text(address, ends.is_ipv6, port), most);
  };
  return end(ends.source, ends.source_port) + " > " + end(ends.destination, ends.destination_port);
}

std::vector<std::string> remarkable(const flow::FlowFacts& facts) {
  std::vector<std::string> words;
  tell_direction(facts.directions[0], "->", words);
  tell_direction(facts.directions[1], "<-", words);
  if (facts.kind != packet::Kind::Tcp) {
    return words;
  }
  const bool one_sided = facts.directions[0].packets == 0 || facts.directions[1].packets == 0;
  if (one_sided) {
    words.emplace_back("only one direction was seen");
  }
  if (!facts.handshake_seen && !one_sided) {
    words.emplace_back("handshake not seen: window scale unknown");
  }
  return words;
}

}  // namespace chokepoint::capture
