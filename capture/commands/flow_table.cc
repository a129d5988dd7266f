#include "capture/commands/flow_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/cli/text.h"
#include "base/math/units.h"
#include "capture/commands/flow_words.h"
#include "capture/commands/units.h"
#include "capture/observer/ends_text.h"

namespace chokepoint::capture {
namespace {

using cli::Align;
using cli::Cell;
using cli::Tint;

constexpr int kWide = 112;       // from here on every column has room beside IPv4 addresses
constexpr int kNumberRoom = 46;  // what the columns behind the ends take where it is narrower
constexpr double kBadShare = 0.01;
constexpr std::size_t kLongestEnd = 64;
constexpr std::size_t kMargin = 2;

std::string rate_text(double mbps) {
  return mbps > 0 ? math::format_rate(mbps * kMega) : std::string("-");
}

Cell resent_cell(const flow::FlowFacts& facts) {
  const auto& [forth, back] = facts.directions;
  const std::uint64_t resent = forth.retransmitted_packets + back.retransmitted_packets;
  if (facts.kind != packet::Kind::Tcp || resent == 0) {
    return facts.kind == packet::Kind::Tcp ? "0" : "-";
  }
  const flow::DirectionFacts& main =
      forth.retransmitted_packets >= back.retransmitted_packets ? forth : back;
  const double share =
      static_cast<double>(main.retransmitted_packets) / static_cast<double>(main.packets);
  return {fmt::format("{:.2f} %", share * kPercent), share > kBadShare ? Tint::Bad : Tint::Notice};
}

std::string rtt_text(const RankedFlow& flow) {
  const flow::DirectionFacts& main = flow.facts.directions.at(flow.main_direction());
  const auto& rtt = flow.facts.path_rtt_ms ? flow.facts.path_rtt_ms : main.rtt_ms;
  return rtt ? math::format_duration(std::chrono::nanoseconds(std::llround(rtt->median * kNsPerMs)))
             : std::string("-");
}

std::vector<Cell> row_of(const RankedFlow& flow, std::size_t most_end, bool is_wide) {
  const flow::FlowFacts& facts = flow.facts;
  std::vector<Cell> row{ends_words(facts, most_end), rate_text(flow.mbps[0]),
                        rate_text(flow.mbps[1]), resent_cell(facts), rtt_text(flow)};
  if (is_wide) {
    const std::size_t main = flow.main_direction();
    const auto window = facts.directions.at(1 - main).max_window_bytes;
    const bool is_tcp = facts.kind == packet::Kind::Tcp;
    row.emplace_back(is_tcp ? bytes_text(facts.directions.at(main).max_in_flight_bytes) : "-");
    row.emplace_back(window ? bytes_text(*window) : "-");
    row.emplace_back(bytes_text(facts.directions[0].bytes + facts.directions[1].bytes));
    row.emplace_back(std::string(observer::protocol_text(facts.kind)));
  }
  return row;
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  return math::format_bytes(static_cast<double>(bytes));
}

cli::Table flow_table(const std::vector<RankedFlow>& flows, const cli::Terminal& terminal) {
  const bool is_wide = terminal.width >= kWide;
  std::vector<cli::Column> columns{{"flow a > b"},
                                   {"->", Align::Right},
                                   {"<-", Align::Right},
                                   {"resent", Align::Right},
                                   {"RTT", Align::Right}};
  int taken = kNumberRoom;
  if (is_wide) {
    columns.insert(columns.end(), {{"in flight", Align::Right},
                                   {"window", Align::Right},
                                   {"bytes", Align::Right},
                                   {"", Align::Left}});
    taken += kWide - 2 * kNumberRoom + 20;
  }
  const int room = (terminal.width - taken - 3) / 2;
  cli::Table table(columns);
  for (const RankedFlow& flow : flows) {
    table.add(row_of(flow, static_cast<std::size_t>(std::max(room, 8)), is_wide));
  }
  return table;
}

std::vector<std::string> remarkable_lines(const std::vector<RankedFlow>& flows,
                                          const cli::Terminal& terminal) {
  const std::size_t room = static_cast<std::size_t>(terminal.width) - 2 * kMargin;
  std::vector<std::string> lines;
  for (const RankedFlow& flow : flows) {
    const std::size_t first = lines.size();
    const std::vector<std::string> words = remarkable(flow.facts);
    if (words.empty()) {
      continue;
    }
    const std::string text =
        fmt::format("{}: {}", ends_words(flow.facts, kLongestEnd), fmt::join(words, "; "));
    const std::string margin(kMargin, ' ');
    for (const std::string& line : cli::broken(text, room)) {
      lines.push_back(lines.size() == first ? line : margin + line);
    }
  }
  return lines;
}

}  // namespace chokepoint::capture
