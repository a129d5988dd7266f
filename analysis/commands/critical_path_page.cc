// The critical path for people: a row for each rank, and in each moment of the step a mark in the
// row of the rank that the path is on.
//
//   critical path of step 31, the median one: 120.0 ms
//   rank 0 on a                                       ━━━━━━━━━━━━━━━━━━
//   rank 1 on b  ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒█████████
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <tuple>
#include <utility>

#include "analysis/commands/diagnose.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

constexpr int kSentenceIndent = 2;
constexpr std::size_t kNameGap = 2;        // between a row's name and its bar
constexpr std::size_t kNarrowestBar = 20;  // in letters
constexpr std::size_t kWidestBar = 120;
constexpr std::size_t kMaxRows = 16;
constexpr std::size_t kMaxRanksAllShown = 8;  // of more, only those on the path
constexpr std::size_t kSentences = 3;

struct PathMark {
  const char* letter = " ";
  cli::Tint tint = cli::Tint::None;
  const char* meaning = "";
};

PathMark mark_of(PathKind kind) {
  switch (kind) {
    case PathKind::Computing:
      return {"▒", cli::Tint::None, "computing"};
    case PathKind::Late:
      return {"█", cli::Tint::Bad, "late: others wait"};
    case PathKind::Transfer:
      return {"━", cli::Tint::Notice, "data under way"};
    case PathKind::Overhead:
      return {"╌", cli::Tint::Faint, "round trips, library"};
  }
  return {};
}

struct PathRow {
  std::optional<std::int64_t> rank = {};
  std::string node = {};
  double ms = 0;  // of the path

  bool is_of(const PathPart& part) const { return rank == part.rank && node == part.node; }
  std::string name() const {
    const std::string who = rank ? fmt::format("rank {}", *rank) : "a rank";
    return cli::printable(node.empty() ? who : fmt::format("{} on {}", who, node));
  }
};

// By rank; of many those on which the path is longest.
std::vector<PathRow> rows_of(const CriticalPath& path, const std::vector<RankFigures>& ranks) {
  std::vector<PathRow> rows;
  if (ranks.size() <= kMaxRanksAllShown) {
    std::ranges::transform(ranks, std::back_inserter(rows), [](const RankFigures& each) {
      return PathRow{.rank = each.rank, .node = each.node};
    });
  }
  for (const PathPart& part : path.parts) {
    auto row = std::ranges::find_if(rows, [&](const PathRow& each) { return each.is_of(part); });
    if (row == rows.end()) {
      row = rows.insert(row, {.rank = part.rank, .node = part.node});
    }
    row->ms += part.ms;
  }
  std::ranges::stable_sort(rows, std::greater(), &PathRow::ms);
  rows.resize(std::min(rows.size(), kMaxRows));
  std::ranges::sort(rows, {}, [](const PathRow& row) { return std::pair(row.rank, row.node); });
  return rows;
}

std::string bar_of(const CriticalPath& path, const std::vector<PathRow>& rows, const PathRow& row,
                   std::size_t width, const cli::Terminal& terminal) {
  std::vector<PathMark> marks(width);
  const auto column_of = [&](double ms) {
    return static_cast<std::size_t>(std::lround(ms / path.length_ms * static_cast<double>(width)));
  };
  for (const PathPart& part : path.parts) {
    if (!row.is_of(part)) continue;
    const std::size_t first = std::min(column_of(part.start_ms), width - 1);
    const std::size_t end =
        std::max(std::min(column_of(part.start_ms + part.ms), width), first + 1);
    std::fill(marks.begin() + static_cast<std::ptrdiff_t>(first),
              marks.begin() + static_cast<std::ptrdiff_t>(end), mark_of(part.kind));
    const auto to = std::ranges::find(rows, part.to_rank, &PathRow::rank);
    if (part.to_rank && to != rows.end()) {
      marks[end - 1].letter = *to->rank > part.rank.value_or(-1) ? "▼" : "▲";
    }
  }
  std::string bar;
  for (std::size_t first = 0; first < width;) {
    std::string same;
    std::size_t next = first;
    for (; next < width && marks[next].tint == marks[first].tint; ++next) {
      same += marks[next].letter;
    }
    bar += cli::tinted(same, marks[first].tint, terminal);
    first = next;
  }
  return bar;
}

std::string sentence_of(const PathPart& part, double step_ms) {
  const std::string who = PathRow{.rank = part.rank, .node = part.node}.name();
  const std::string time =
      fmt::format("{} ({:.0f} %)", whole_text(part.ms), 100 * part.ms / step_ms);
  switch (part.kind) {
    case PathKind::Computing:
      return fmt::format("{} computes for {}", who, time);
    case PathKind::Late:
      return fmt::format("{} still computes, and others wait for it, for {}", who, time);
    case PathKind::Transfer:
      return part.to_rank ? fmt::format("data are under way from {} to rank {} for {}", who,
                                        *part.to_rank, time)
                          : fmt::format("{} exchanges data for {}", who, time);
    case PathKind::Overhead:
      return fmt::format("{} waits for round trips or the library for {}", who, time);
  }
  return "";
}

// Those alike as one, the longest first.
std::vector<PathPart> summed(const std::vector<PathPart>& parts) {
  std::vector<PathPart> sums;
  for (const PathPart& part : parts) {
    const auto like = std::ranges::find_if(sums, [&](const PathPart& sum) {
      return std::tie(sum.kind, sum.rank, sum.node, sum.to_rank) ==
             std::tie(part.kind, part.rank, part.node, part.to_rank);
    });
    if (like != sums.end()) {
      like->ms += part.ms;
    } else {
      sums.push_back(part);
    }
  }
  std::ranges::stable_sort(sums, std::greater(), &PathPart::ms);
  return sums;
}

std::string legend_of(const CriticalPath& path, const cli::Terminal& terminal) {
  std::string legend;
  for (const auto& [kind, name] : EnumNames<PathKind>::kNames) {
    const double ms = math::sum_by(
        path.parts, [&](const PathPart& part) { return part.kind == kind ? part.ms : 0; });
    const PathMark mark = mark_of(kind);
    if (ms > 0) {
      legend += fmt::format("{}{} {} {}", legend.empty() ? "" : "   ",
                            cli::tinted(mark.letter, mark.tint, terminal), mark.meaning,
                            part_text(ms, path.length_ms));
    }
  }
  return legend;
}

}  // namespace

void print_critical_path(std::ostream& out, const cli::Terminal& terminal, const CriticalPath& path,
                         const std::vector<RankFigures>& ranks) {
  const std::vector<PathRow> rows = rows_of(path, ranks);
  std::size_t name_width = 0;
  for (const PathRow& row : rows) {
    name_width = std::max(name_width, cli::width_of(row.name()));
  }
  const auto room = static_cast<std::size_t>(std::max(terminal.width, 0));
  const std::size_t width =
      std::clamp(room - std::min(room, name_width + kNameGap), kNarrowestBar, kWidestBar);
  const std::string title = fmt::format("critical path of step {}, the median one: {}", path.step,
                                        whole_text(path.length_ms));
  fmt::print(out, "\n{}\n", cli::tinted(title, cli::Tint::Bold, terminal));
  for (const PathRow& row : rows) {
    const std::string pad(name_width - cli::width_of(row.name()) + kNameGap, ' ');
    const std::string line = row.name() + pad + bar_of(path, rows, row, width, terminal);
    fmt::print(out, "{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
  fmt::print(out, "{}\n", legend_of(path, terminal));
  if (ranks.size() > kMaxRanksAllShown) {
    fmt::print(out, "of {} ranks those that the path is on\n", ranks.size());
  }
  std::vector<PathPart> sums = summed(path.parts);
  sums.resize(std::min(sums.size(), kSentences));
  for (const PathPart& part : sums) {
    fmt::print(out, "{}",
               cli::wrapped(sentence_of(part, path.length_ms), terminal.width, kSentenceIndent));
  }
}

}  // namespace chokepoint::analysis
