#include "analysis/attribution/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>

#include "analysis/attribution/advice_texts.h"
#include "analysis/attribution/route.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMbpsPerGbps = 1000;

using Words = std::map<std::string, std::string, std::less<>>;

// Nothing where a word is not known.
std::optional<std::string> filled(std::string_view text, const Words& words) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = std::min(text.find('{', at), text.size());
    result += text.substr(at, open - at);
    if (open == text.size()) {
      break;
    }
    const std::size_t close = text.find('}', open);
    const auto word = words.find(text.substr(open + 1, close - open - 1));
    if (word == words.end() || word->second.empty()) {
      return std::nullopt;
    }
    result += word->second;
    at = close + 1;
  }
  return result;
}

// The direction that the verdict is about: that one between its nodes that was held back longest.
const DirectionBlame* direction_of(const DiagnosisInput& input, const Where& where) {
  const DirectionBlame* most = nullptr;
  double most_ns = -1;
  for (const DirectionBlame& direction : input.blame.directions) {
    const Route route = route_of(input, direction);
    double held_ns = 0;
    for (const double ns : direction.held.ns) {
      held_ns += ns;
    }
    if (route.from == where.from && route.to == where.to && held_ns > most_ns) {
      most = &direction;
      most_ns = held_ns;
    }
  }
  return most;
}

std::string rate_text(double gbps) {
  return gbps < 1 ? fmt::format("{:g}M", gbps * kMbpsPerGbps) : fmt::format("{:g}G", gbps);
}

// The rate to ask about: the card's own where something slower lies behind it, else the next one
// that can be bought.
std::string next_link(const Route& route) {
  constexpr double kSlower = 2;
  constexpr double kFaster = 1.5;
  constexpr std::array kGbps{0.1,  0.25, 0.5,   1.0,   2.5,   5.0,  10.0,
                             25.0, 40.0, 100.0, 200.0, 400.0, 800.0};
  const double line_gbps = route.line_mbps().value_or(0) / kMbpsPerGbps;
  const double rate_gbps = route.rate_mbps / kMbpsPerGbps;
  if (line_gbps > kSlower * rate_gbps && !route.is_wan) {
    return rate_text(line_gbps);
  }
  if (route.rate_mbps <= 0) {
    return "";
  }
  const auto* const next =
      std::ranges::find_if(kGbps, [&](double each) { return each > kFaster * rate_gbps; });
  return next == kGbps.end() ? "" : rate_text(*next);
}

// Twice what the path holds, and no less than what suits any LAN.
std::string buffer_of(const Route& route) {
  constexpr double kLeast = 16 * 1024 * 1024;
  constexpr double kMost = 1024.0 * 1024 * 1024;
  constexpr double kBytesPerMegabitMs = 1e6 / 8 / 1e3;
  const double holds =
      route.line_mbps().value_or(route.rate_mbps) * kBytesPerMegabitMs * route.rtt_ms;
  const double bytes = std::clamp(2 * holds, kLeast, kMost);
  return fmt::format("{}", std::bit_ceil(static_cast<std::uint64_t>(bytes)));
}

std::string peer_address(const DiagnosisInput& input, const DirectionBlame& direction) {
  const Connection& connection = input.run.connections[direction.view.connection];
  return direction.view.direction == record::Direction::AToB ? connection.row.b_address
                                                             : connection.row.a_address;
}

Words words_of(const DiagnosisInput& input, const Verdict& verdict) {
  const Where& where = verdict.where;
  Words words{{"from", where.from},
              {"to", where.to},
              {"node", where.node},
              {"node_interface", where.interface},
              {"rank", where.rank ? fmt::format("{}", *where.rank) : ""}};
  const DirectionBlame* direction = direction_of(input, where);
  if (direction == nullptr) {
    return words;
  }
  const Route route = route_of(input, *direction);
  words["interface"] = route.sender.interface;
  words["peer_interface"] = route.receiver.interface;
  words["link"] = next_link(route);
  words["buffer"] = buffer_of(route);
  words["to_address"] = peer_address(input, *direction);
  if (const auto better = better_way(input, *direction, route)) {
    words["better"] = better->interface;
    words["address"] = better->address;
  }
  return words;
}

}  // namespace

void advise(const DiagnosisInput& input, Verdict& verdict) {
  const Words words = words_of(input, verdict);
  for (const AdviceText& text : advice_texts()) {
    if (text.verdict != verdict.verdict || (!text.cause.empty() && text.cause != verdict.cause)) {
      continue;
    }
    const auto what = filled(text.what, words);
    const auto command = filled(text.command, words);
    if (what && command) {
      verdict.advice.push_back({.what = *what, .command = *command});
    }
  }
  for (const DisproofText& text : disproof_texts()) {
    if (text.verdict == verdict.verdict) {
      verdict.disproof = text.text;
    }
  }
}

}  // namespace chokepoint::analysis
