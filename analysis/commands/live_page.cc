// What `chokepoint live` shows: the verdict so far, the step, and a row for each node.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "analysis/attribution/causes.h"
#include "analysis/commands/diagnose.h"
#include "analysis/commands/live.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/math/quantity.h"
#include "base/math/statistics.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kLabelColumns = 9;  // columns of a line's label
constexpr std::size_t kMaxVerdictLines = 3;
constexpr std::size_t kMaxAdviceLines = 2;
constexpr std::size_t kMinFullRows = 16;  // in less the verdict has one line and nothing is blank
constexpr std::size_t kMinNodeRows = 2;   // rows reserved for nodes in a low terminal
constexpr double kMbpsPerGbps = 1e3;
constexpr double kGbpsFrom = 1e4;  // Mb/s: from here on rates are in Gb/s

// A line whose letters are counted before they get colours.
struct Line {
  std::string text = {};
  cli::Tint tint = cli::Tint::None;
};

std::string cut(const std::string& text, std::size_t width) {
  if (cli::width_of(text) <= width) {
    return text;
  }
  std::string shown;
  std::size_t letters = 0;
  for (std::size_t at = 0; at < text.size() && letters + 1 < width; ++letters) {
    const std::size_t length = std::max<std::size_t>(cli::letter_length(text.substr(at)), 1);
    shown += text.substr(at, length);
    at += length;
  }
  return width == 0 ? "" : shown + "…";
}

std::string padded(const std::string& text, std::size_t width, cli::Align align) {
  const std::size_t letters = cli::width_of(text);
  const std::string space(width - std::min(width, letters), ' ');
  return align == cli::Align::Right ? space + text : text + space;
}

// "00:03:12".
std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::clamp(seconds, 0.0, 1e9));
  return fmt::format("{:02}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

// Wrapped behind a label; what does not fit into `most` lines ends in "…".
std::vector<Line> block(const std::string& label, const std::string& text, std::size_t columns,
                        std::size_t most, cli::Tint tint) {
  const std::size_t room = columns - std::min(columns, kLabelColumns);
  std::vector<std::string> lines = cli::broken(cli::printable(text), room);
  if (lines.size() > most) {
    lines.resize(most);
    lines.back() = cut(lines.back() + " …", room);
    lines.back() = lines.back().ends_with("…") ? lines.back() : lines.back() + "…";
  }
  std::vector<Line> shown;
  for (std::size_t line = 0; line < lines.size(); ++line) {
    const std::string margin = padded(line == 0 ? label : "", kLabelColumns, cli::Align::Left);
    shown.push_back({cut(margin + lines[line], columns), tint});
  }
  return shown;
}

// "0-3,8"
std::string ranks_text(const std::vector<std::int64_t>& ranks) {
  std::string text;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) {
      ++last;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ",", ranks[first]);
    text += last > first ? fmt::format("-{}", ranks[last]) : "";
    first = last + 1;
  }
  return text;
}

// From 0 up, so that a spike looks as large as it is.
std::string sparkline(const std::vector<double>& values, std::size_t most) {
  constexpr std::array<const char*, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t count = std::min(most, values.size());
  const auto shown = std::span(values).last(count);
  const double top = shown.empty() ? 0 : *std::ranges::max_element(shown);
  std::string text;
  for (const double value : shown) {
    const double share = top > 0 ? std::clamp(value / top, 0.0, 1.0) : 0;
    text += kBlocks.at(static_cast<std::size_t>(std::lround(share * (kBlocks.size() - 1))));
  }
  return text;
}

struct LiveColumn {
  std::string title = {};
  cli::Align align = cli::Align::Right;
  int rank = 0;  // the highest is left out first where there is little room
  std::function<std::string(const LiveNode&)> text = {};
};

std::string percent_text(const std::optional<double>& percent) {
  return percent ? fmt::format("{:.0f} %", *percent) : "";
}

std::string share_text(const std::optional<double>& percent) {
  constexpr double kMinShownPercent = 0.01;
  if (!percent) {
    return "";
  }
  return *percent <= 0                 ? "0 %"
         : *percent < kMinShownPercent ? "<0.01 %"
                                       : math::number_text(*percent) + " %";
}

std::string ms_text(const std::optional<double>& ms) { return ms ? math::format_ms(*ms) : ""; }

// What the ranks of each node wait for others, a step: the mean over them.
std::map<std::string, double> waits_of(const LiveView& view) {
  std::map<std::string, std::vector<double>> waits;
  if (view.diagnosis) {
    for (const RankFigures& rank : view.diagnosis->ranks) {
      waits[rank.node].push_back(rank.waiting_ms);
    }
  }
  std::map<std::string, double> means;
  for (const auto& [node, each] : waits) {
    means[node] = math::mean(each).value_or(0);
  }
  return means;
}

std::string state_text(const LiveNode& node) {
  if (node.stalled_s) {
    return fmt::format("stalled {:.0f} s", *node.stalled_s);
  }
  if (node.state == NodeState::Ended) {
    return node.exit_status.value_or(0) == 0 ? "ended" : fmt::format("exit {}", *node.exit_status);
  }
  return std::string(chokepoint::name_of(node.state));
}

std::vector<LiveColumn> columns_of(const LiveView& view) {
  double most_mbps = 0;
  for (const LiveNode& node : view.nodes) {
    most_mbps = std::max({most_mbps, node.sent_mbps.value_or(0), node.received_mbps.value_or(0)});
  }
  const bool in_gbps = most_mbps >= kGbpsFrom;
  const std::string unit = in_gbps ? "Gb/s" : "Mb/s";
  const auto rate = [in_gbps](const std::optional<double>& mbps) {
    return mbps ? math::three_digits(in_gbps ? *mbps / kMbpsPerGbps : *mbps) : "";
  };
  const auto waits = waits_of(view);
  const bool all_run = std::ranges::all_of(view.nodes, [](const LiveNode& node) {
    return node.state == NodeState::Running && !node.stalled_s;
  });
  using cli::Align;
  std::vector<LiveColumn> columns{
      {"node", Align::Left, 0, [](const LiveNode& node) { return cli::printable(node.name); }},
      {"state", Align::Left, 0,
       [all_run](const LiveNode& node) { return all_run ? "" : state_text(node); }},
      {"ranks", Align::Left, 6, [](const LiveNode& node) { return ranks_text(node.ranks); }},
      {"step", Align::Right, 5,
       [](const LiveNode& node) { return node.step ? fmt::format("{}", *node.step) : ""; }},
      {"took", Align::Right, 1, [](const LiveNode& node) { return ms_text(node.step_ms); }},
      {"waits", Align::Right, 2,
       [waits](const LiveNode& node) {
         const auto found = waits.find(node.name);
         return found == waits.end() ? "" : math::format_ms(found->second);
       }},
      {"out " + unit, Align::Right, 1, [rate](const LiveNode& n) { return rate(n.sent_mbps); }},
      {"in " + unit, Align::Right, 1, [rate](const LiveNode& n) { return rate(n.received_mbps); }},
      {"resent", Align::Right, 3,
       [](const LiveNode& node) { return share_text(node.retransmitted_percent); }},
      {"rtt", Align::Right, 4, [](const LiveNode& node) { return ms_text(node.rtt_ms); }},
      {"core", Align::Right, 4,
       [](const LiveNode& node) { return percent_text(node.core_percent); }},
      {"GPU", Align::Right, 3, [](const LiveNode& node) { return percent_text(node.gpu_percent); }},
  };
  std::erase_if(columns, [&](const LiveColumn& column) {
    return std::ranges::all_of(view.nodes,
                               [&](const LiveNode& node) { return column.text(node).empty(); });
  });
  return columns;
}

// The table's lines, its head first; columns that do not fit are left out.
std::vector<Line> table_of(const LiveView& view, std::size_t columns_of_screen) {
  constexpr std::size_t kMaxNameLetters = 24;
  constexpr std::size_t kColumnGap = 2;
  struct Filled {
    LiveColumn column;
    std::vector<std::string> cells;
    std::size_t width;
  };
  std::vector<Filled> filled;
  for (LiveColumn& column : columns_of(view)) {
    Filled each{.column = std::move(column), .cells = {}, .width = 0};
    each.width = cli::width_of(each.column.title);
    for (const LiveNode& node : view.nodes) {
      each.cells.push_back(cut(each.column.text(node), kMaxNameLetters));
      each.width = std::max(each.width, cli::width_of(each.cells.back()));
    }
    filled.push_back(std::move(each));
  }
  const auto whole = [&] {
    std::size_t width = 0;
    for (const Filled& each : filled) {
      width += each.width + kColumnGap;
    }
    return width - std::min(width, kColumnGap);
  };
  while (whole() > columns_of_screen && filled.size() > 1) {
    const auto least =
        std::ranges::max_element(filled, {}, [](const Filled& each) { return each.column.rank; });
    filled.erase(least);
  }
  std::vector<Line> lines(view.nodes.size() + 1);
  for (std::size_t line = 0; line < lines.size(); ++line) {
    for (const Filled& each : filled) {
      lines[line].text += lines[line].text.empty() ? "" : std::string(kColumnGap, ' ');
      lines[line].text += padded(line == 0 ? each.column.title : each.cells[line - 1], each.width,
                                 each.column.align);
    }
    lines[line].text = cut(lines[line].text, columns_of_screen);
    lines[line].tint = line == 0 ? cli::Tint::Faint : cli::Tint::None;
  }
  for (std::size_t node = 0; node < view.nodes.size(); ++node) {
    const LiveNode& each = view.nodes[node];
    if (each.stalled_s || each.state == NodeState::CutOff || each.state == NodeState::Silent) {
      lines[node + 1].tint = cli::Tint::Bad;
    }
  }
  return lines;
}

// "rank 1 on a waits 40.1 ms a step for others, rank 0 on b for none and computes 150 ms"
std::string waits_text(const Diagnosis& diagnosis) {
  constexpr double kMinShare = 0.03;  // of the step: steps differ by less without a cause
  if (diagnosis.ranks.size() < 2 || !diagnosis.accounting) {
    return "";
  }
  const auto [least, most] =
      std::ranges::minmax_element(diagnosis.ranks, {}, &RankFigures::waiting_ms);
  if (most->waiting_ms - least->waiting_ms < kMinShare * diagnosis.accounting->sum()) {
    return "";
  }
  return fmt::format(
      "rank {} on {} waits {} a step for others; rank {} on {} waits {}, computes {}", most->rank,
      most->node, math::format_ms(most->waiting_ms), least->rank, least->node,
      math::format_ms(least->waiting_ms), math::format_ms(least->computing_ms));
}

cli::Tint verdict_tint(VerdictClass verdict) {
  return verdict == VerdictClass::Compute   ? cli::Tint::Good
         : verdict == VerdictClass::Unknown ? cli::Tint::Notice
                                            : cli::Tint::Bad;
}

std::vector<Line> verdict_lines(const LiveView& view, std::size_t columns, bool is_low) {
  if (!view.diagnosis) {
    return block("verdict", view.no_diagnosis, columns, is_low ? 1 : kMaxVerdictLines,
                 cli::Tint::Notice);
  }
  const Diagnosis& diagnosis = *view.diagnosis;
  std::vector<Line> lines =
      block("so far", headline_of(diagnosis), columns, is_low ? 1 : kMaxVerdictLines,
            verdict_tint(diagnosis.verdict.verdict));
  if (is_low) {
    return lines;
  }
  const auto add = [&](const char* label, const std::string& text, std::size_t most) {
    if (!text.empty()) {
      std::ranges::move(block(label, text, columns, most, cli::Tint::None),
                        std::back_inserter(lines));
    }
  };
  add("now", diagnosis.pause, kMaxAdviceLines);
  if (!diagnosis.verdict.evidence.empty()) {
    add("why", evidence_text(diagnosis.verdict.evidence, 1), 1);
  }
  add("do", advice_text(advice_of(diagnosis)), kMaxAdviceLines);
  add("waits", waits_text(diagnosis), kMaxAdviceLines);
  return lines;
}

// Of the node with most steps seen.
const LiveNode* leading_node(const LiveView& view) {
  return math::most_by(view.nodes, [](const LiveNode& node) { return node.recent_ms.size(); });
}

// Where steps have gone on coming, "; none for 9.00 s".
std::string pause_text(const LiveNode& node) {
  constexpr double kMaxStepsWithoutEnd = 3;
  const double since_s = node.since_step_s.value_or(0);
  const bool is_late =
      node.median_ms && since_s > 1 && since_s > kMaxStepsWithoutEnd * *node.median_ms / 1e3;
  return is_late && node.state == NodeState::Running
             ? fmt::format("; none for {} s", math::three_digits(since_s))
             : "";
}

std::vector<Line> step_lines(const LiveView& view, std::size_t columns) {
  const LiveNode* leading = leading_node(view);
  if (leading == nullptr || !leading->step_ms) {
    return block("step", "none has ended yet", columns, 1, cli::Tint::None);
  }
  std::string text = math::format_ms(*leading->step_ms);
  if (leading->median_ms) {
    text += fmt::format(", median {}", math::format_ms(*leading->median_ms));
  }
  text += fmt::format("; number {} by {}", leading->step.value_or(0), leading->step_source);
  text += pause_text(*leading);
  const std::size_t taken = kLabelColumns + cli::width_of(text) + 2;
  std::vector<Line> lines = block(
      "step", text + "  " + sparkline(leading->recent_ms, columns > taken ? columns - taken : 0),
      columns, 1, cli::Tint::None);
  if (view.diagnosis && view.diagnosis->accounting) {
    std::ranges::move(
        block("", accounting_text(*view.diagnosis->accounting), columns, 1, cli::Tint::Faint),
        std::back_inserter(lines));
  }
  return lines;
}

std::vector<Line> trouble_lines(const LiveView& view, std::size_t columns) {
  std::vector<Line> lines;
  for (const LiveNode& node : view.nodes) {
    if (!node.trouble.empty()) {
      lines.push_back(
          {cut(cli::printable(node.name + ": " + node.trouble), columns), cli::Tint::Notice});
    }
  }
  return lines;
}

Line title_line(const LiveView& view, const LiveFrame& frame) {
  double elapsed_s = 0;
  std::set<std::int64_t> ranks;
  std::string command;
  for (const LiveNode& node : view.nodes) {
    elapsed_s = std::max(elapsed_s, node.elapsed_s.value_or(0));
    ranks.insert(node.ranks.begin(), node.ranks.end());
    command = command.empty() ? node.command : command;
  }
  std::string text = fmt::format("{} · {} · {}", view.run, clock_text(elapsed_s), state_of(view));
  text += ranks.empty() ? "" : fmt::format(" · {} ranks", ranks.size());
  text += frame.is_paused ? " · paused" : "";
  text += command.empty() ? "" : " · " + command;
  return {cut(cli::printable(text), frame.columns), cli::Tint::Bold};
}

Line key_line(const LiveFrame& frame, std::size_t shown, std::size_t nodes) {
  std::string text = "q quit · space pause";
  if (shown < nodes) {
    text += fmt::format(" · ↑ ↓ nodes {}-{} of {}", frame.first_node + 1, frame.first_node + shown,
                        nodes);
  }
  return {cut(text, frame.columns), cli::Tint::Faint};
}

void append(std::vector<Line>& lines, std::vector<Line> more) {
  std::ranges::move(more, std::back_inserter(lines));
}

}  // namespace

std::vector<std::string> draw(const LiveView& view, const LiveFrame& frame,
                              const cli::Terminal& terminal) {
  const std::size_t rows = frame.rows == 0 ? std::numeric_limits<std::size_t>::max() : frame.rows;
  const std::size_t keys = frame.rows == 0 ? 0 : 1;
  const bool is_low = rows < kMinFullRows;
  std::vector<Line> lines{title_line(view, frame)};
  if (has_ended(view) && !view.next.empty()) {
    append(lines, block("next", view.next, frame.columns, 1, cli::Tint::None));
  }
  lines.resize(lines.size() + (is_low ? 0 : 1));
  append(lines, verdict_lines(view, frame.columns, is_low));
  append(lines, step_lines(view, frame.columns));
  lines.resize(lines.size() + (is_low ? 0 : 1));

  std::vector<Line> table = table_of(view, frame.columns);
  std::vector<Line> troubles = trouble_lines(view, frame.columns);
  // Nodes get the rows that the rest leaves, and in a low terminal some of the verdict's.
  const std::size_t least = 1 + std::min(kMinNodeRows, view.nodes.size()) + keys;
  lines.resize(std::min(lines.size(), std::max<std::size_t>(rows - std::min(rows, least), 1)));
  const std::size_t left = rows - std::min(rows, lines.size() + keys + 1);
  const std::size_t shown = std::min(view.nodes.size(), left);
  const std::size_t first = std::min(frame.first_node, view.nodes.size() - shown);
  lines.push_back(table.front());
  for (std::size_t node = first; node < first + shown; ++node) {
    lines.push_back(table[node + 1]);
  }
  const std::size_t room = left - shown;
  if (!troubles.empty() && room > 1) {
    lines.emplace_back();
    troubles.resize(std::min(troubles.size(), room - 1));
    append(lines, std::move(troubles));
  }
  if (keys > 0) {
    LiveFrame shown_frame = frame;
    shown_frame.first_node = first;
    lines.resize(std::max(lines.size(), rows - 1));
    lines.push_back(key_line(shown_frame, shown, view.nodes.size()));
    lines.resize(std::min(lines.size(), rows));
  }
  std::vector<std::string> drawn;
  for (const Line& line : lines) {
    drawn.push_back(line.text.empty() ? "" : cli::tinted(line.text, line.tint, terminal));
  }
  return drawn;
}

}  // namespace chokepoint::analysis
