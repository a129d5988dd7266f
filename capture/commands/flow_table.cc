#include "capture/commands/flow_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/cli/text.h"
#include "base/math/units.h"
#include "capture/observer/ends.h"

namespace chokepoint::capture {
namespace {

constexpr double kNsPerUs = 1e3;

struct Candidate {
  std::uint32_t slot = 0;
  Rates mbps{};
  double weight = 0;
};

bool is_heavier(const Candidate& one, const Candidate& other) { return one.weight > other.weight; }

double median_rtt(const flow::FlowFacts& facts) {
  const auto& [forth, back] = facts.directions;
  return std::max(forth.rtt_ms ? forth.rtt_ms->median : 0, back.rtt_ms ? back.rtt_ms->median : 0);
}

double weight_of(const flow::Engine& engine, std::uint32_t slot, const flow::Glance& glance,
                 const Rates& mbps, SortBy sort) {
  const auto& [forth, back] = glance.tallies;
  switch (sort) {
    case SortBy::Bytes:
      return static_cast<double>(forth->bytes + back->bytes);
    case SortBy::Retransmissions:
      return static_cast<double>(forth->retransmitted_packets + back->retransmitted_packets);
    case SortBy::Rtt:
      return median_rtt(engine.facts(slot));
    case SortBy::Rate:
      break;
  }
  return mbps[0] + mbps[1];
}

// Keeps the `most` heaviest in a heap whose front is the lightest.
void offer(std::vector<Candidate>& heap, const Candidate& candidate, std::size_t most) {
  if (heap.size() == most) {
    if (most == 0 || !is_heavier(candidate, heap.front())) {
      return;
    }
    std::ranges::pop_heap(heap, is_heavier);
    heap.pop_back();
  }
  heap.push_back(candidate);
  std::ranges::push_heap(heap, is_heavier);
}

bool is_before(const RankedFlow& one, const RankedFlow& other) {
  return std::tuple(-one.weight, one.analyser, one.slot) <
         std::tuple(-other.weight, other.analyser, other.slot);
}

using flow::DirectionFacts;

constexpr double kMinShare = 0.01;  // of the packets, or of the time; less is not mentioned

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

void add_retransmitted(const DirectionFacts& facts, std::vector<std::string>& words) {
  if (facts.retransmitted_packets == 0) {
    return;
  }
  words.push_back(fmt::format("resent {:.2g} % ({})",
                              share(facts.retransmitted_packets, facts.packets) * math::kPercent,
                              main_cause(facts.retransmissions)));
  if (share(facts.retransmissions.spurious, facts.retransmitted_packets) > kMinShare) {
    words.push_back(fmt::format("{} of them needless", facts.retransmissions.spurious));
  }
}

void add_window(const DirectionFacts& facts, std::vector<std::string>& words) {
  if (facts.busy_s > 0 && facts.window_limited_s / facts.busy_s > kMinShare) {
    words.push_back(fmt::format("window full {:.0f} % of the busy time",
                                facts.window_limited_s / facts.busy_s * math::kPercent));
  }
  if (facts.zero_windows > 0) {
    words.push_back(fmt::format("closed its window {}×", facts.zero_windows));
  }
}

void add_path(const DirectionFacts& facts, std::vector<std::string>& words) {
  if (share(facts.congestion_marks, facts.packets) > kMinShare) {
    words.push_back(fmt::format("{:.0f} % marked as congested",
                                share(facts.congestion_marks, facts.packets) * math::kPercent));
  }
  if (share(facts.out_of_order, facts.packets) > kMinShare) {
    words.push_back(fmt::format("{:.0f} % out of order",
                                share(facts.out_of_order, facts.packets) * math::kPercent));
  }
  if (facts.duplicates > 0) {
    words.push_back(fmt::format("{} copies", facts.duplicates));
  }
  if (facts.missing_bytes > 0) {
    words.push_back(fmt::format("the capture missed {}",
                                math::format_bytes(static_cast<double>(facts.missing_bytes))));
  }
}

void add_direction(const DirectionFacts& facts, std::string_view sign,
                   std::vector<std::string>& all) {
  std::vector<std::string> words;
  add_retransmitted(facts, words);
  add_window(facts, words);
  add_path(facts, words);
  if (!words.empty()) {
    all.push_back(fmt::format("{} {}", sign, fmt::join(words, ", ")));
  }
}

using cli::Align;
using cli::Cell;
using cli::Tint;

constexpr int kWide = 112;       // enough for every column beside IPv4 addresses
constexpr int kNumberRoom = 46;  // the columns behind the ends take so much on a narrower terminal
constexpr double kBadShare = 0.01;
constexpr std::size_t kLongestEnd = 64;
constexpr std::size_t kMargin = 2;

std::string rate_text(double mbps) {
  return mbps > 0 ? math::format_rate(mbps * math::kMega) : std::string("-");
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
  return {fmt::format("{:.2f} %", share * math::kPercent),
          share > kBadShare ? Tint::Bad : Tint::Notice};
}

std::string rtt_text(const RankedFlow& flow) {
  const flow::DirectionFacts& main = flow.facts.directions.at(flow.main_direction());
  const auto& rtt = flow.facts.path_rtt_ms ? flow.facts.path_rtt_ms : main.rtt_ms;
  return rtt ? math::format_ms(rtt->median) : std::string("-");
}

std::vector<Cell> row_of(const RankedFlow& flow, std::size_t most_end, bool is_wide) {
  const flow::FlowFacts& facts = flow.facts;
  std::vector<Cell> row{ends_text(facts, most_end), rate_text(flow.mbps[0]),
                        rate_text(flow.mbps[1]), resent_cell(facts), rtt_text(flow)};
  if (is_wide) {
    const std::size_t main = flow.main_direction();
    const auto window = facts.directions.at(1 - main).max_window_bytes;
    const bool is_tcp = facts.kind == packet::Kind::Tcp;
    row.emplace_back(is_tcp ? bytes_text(facts.directions.at(main).max_in_flight_bytes) : "-");
    row.emplace_back(window ? bytes_text(*window) : "-");
    row.emplace_back(bytes_text(facts.directions[0].bytes + facts.directions[1].bytes));
    row.emplace_back(std::string(name_of(facts.kind)));
  }
  return row;
}

}  // namespace

std::vector<std::string> sort_names() { return {"rate", "bytes", "retransmissions", "rtt"}; }

SortBy sort_named(const std::string& name) {
  const std::vector<std::string> names = sort_names();
  return static_cast<SortBy>(std::ranges::find(names, name) - names.begin());
}

std::size_t RankedFlow::main_direction() const {
  const auto& [forth, back] = facts.directions;
  return back.payload_bytes > forth.payload_bytes ? 1 : 0;
}

void rank(const flow::Engine& engine, std::size_t analyser, const RankBy& by,
          std::vector<RankedFlow>& flows) {
  std::vector<Candidate> heaviest;
  engine.glance([&](std::uint32_t slot, const flow::Glance& glance) {
    const Rates mbps = by.rates(slot, glance);
    offer(heaviest, {slot, mbps, weight_of(engine, slot, glance, mbps, by.sort)}, by.most);
  });
  for (const Candidate& each : heaviest) {
    flows.push_back({.facts = engine.facts(each.slot),
                     .mbps = each.mbps,
                     .analyser = analyser,
                     .slot = each.slot,
                     .weight = each.weight});
  }
  std::ranges::sort(flows, is_before);
  flows.resize(std::min(flows.size(), by.most));
}

Rates lifetime_rates(std::uint32_t, const flow::Glance& glance) {
  const auto microseconds = static_cast<double>(glance.end_ns - glance.start_ns) / kNsPerUs;
  const auto rate = [&](const flow::Tally* tally) {
    return microseconds > 0 ? static_cast<double>(tally->payload_bytes) * math::kBits / microseconds
                            : 0;
  };
  return {rate(glance.tallies[0]), rate(glance.tallies[1])};
}

std::string ends_text(const flow::FlowFacts& facts, std::size_t most) {
  const packet::Ends& ends = facts.ends;
  const auto end = [&](const packet::Address& address, std::uint16_t port) {
    return cut_in_front(observer::end_text(address, ends.is_ipv6, port), most);
  };
  return end(ends.source, ends.source_port) + " > " + end(ends.destination, ends.destination_port);
}

std::vector<std::string> anomalies_of(const flow::FlowFacts& facts) {
  std::vector<std::string> words;
  add_direction(facts.directions[0], "->", words);
  add_direction(facts.directions[1], "<-", words);
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

std::vector<std::string> anomaly_lines(const std::vector<RankedFlow>& flows,
                                       const cli::Terminal& terminal) {
  const std::size_t room = static_cast<std::size_t>(terminal.width) - 2 * kMargin;
  std::vector<std::string> lines;
  for (const RankedFlow& flow : flows) {
    const std::size_t first = lines.size();
    const std::vector<std::string> words = anomalies_of(flow.facts);
    if (words.empty()) {
      continue;
    }
    const std::string text =
        fmt::format("{}: {}", ends_text(flow.facts, kLongestEnd), fmt::join(words, "; "));
    const std::string margin(kMargin, ' ');
    for (const std::string& line : cli::broken(text, room)) {
      lines.push_back(lines.size() == first ? line : margin + line);
    }
  }
  return lines;
}

}  // namespace chokepoint::capture
