#include "analysis/load/missing.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

using Lines = std::vector<std::string>;

std::string joined(const auto& words) {
  std::string text;
  for (const auto& word : words) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", word);
  }
  return text;
}

template <class Samples>
bool has_any(const NodeData& node, Samples FlowData::* samples) {
  return std::ranges::any_of(node.flows, [&](const FlowData& flow) {
    return !(flow.*samples)[0].empty() || !(flow.*samples)[1].empty();
  });
}

void tell_records(const RunData& run, Lines& lines) {
  for (const Error& error : run.unreadable) {
    lines.push_back(fmt::format("a record cannot be read: {}", describe(error)));
  }
  for (const NodeData& node : run.nodes) {
    if (node.damage) {
      lines.push_back(fmt::format("the record of {} is cut short or damaged", node.name));
    } else if (!node.is_complete) {
      lines.push_back(
          fmt::format("the record of {} has no end: it goes on, or was killed", node.name));
    }
  }
}

void tell_ranks(const RunData& run, Lines& lines) {
  std::map<std::int64_t, std::set<std::string>> nodes_of_rank;
  std::set<std::int64_t> sizes;
  for (const NodeData& node : run.nodes) {
    for (const record::Process& process : node.processes) {
      if (process.rank.known()) {
        nodes_of_rank[process.rank.value()].insert(node.name);
      }
      if (process.rank.known() && process.world_size.known()) {
        sizes.insert(process.world_size.value());
      }
    }
  }
  std::vector<std::int64_t> absent;
  for (std::int64_t rank = 0; !sizes.empty() && rank < *sizes.rbegin(); ++rank) {
    if (!nodes_of_rank.contains(rank)) {
      absent.push_back(rank);
    }
  }
  if (!absent.empty()) {
    constexpr std::size_t kMost = 16;
    const std::vector<std::int64_t> first(
        absent.begin(),
        absent.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, absent.size())));
    lines.push_back(fmt::format("no record of rank {}{} of {}", joined(first),
                                absent.size() > kMost ? " …" : "", *sizes.rbegin()));
  }
  if (sizes.size() > 1) {
    lines.push_back(
        fmt::format("two jobs lie here, of {} processes: keep a folder for each", joined(sizes)));
    return;
  }
  for (const auto& [rank, nodes] : nodes_of_rank) {
    if (nodes.size() > 1) {
      lines.push_back(
          fmt::format("two jobs lie here: rank {} is in the records of {}; keep a "
                      "folder for each",
                      rank, joined(nodes)));
      return;
    }
  }
}

std::size_t dropping(const NodeData& node, std::string_view kind) {
  return static_cast<std::size_t>(std::ranges::count(node.events, kind, &record::Event::kind));
}

void tell_samples(const NodeData& node, Lines& lines) {
  if (node.processes.empty()) {
    lines.push_back(fmt::format("no process of the job was seen on {}", node.name));
  }
  if (!has_any(node, &FlowData::packets)) {
    lines.push_back(fmt::format("no packets were captured on {}", node.name));
  } else if (dropping(node, record::kPacketsDropped) > 0) {
    lines.push_back(fmt::format("not all packets were seen on {}", node.name));
  }
  if (!has_any(node, &FlowData::sockets)) {
    lines.push_back(fmt::format("no sockets were read on {}", node.name));
  }
  if (dropping(node, record::kDropped) > 0) {
    lines.push_back(
        fmt::format("some of what was measured on {} did not reach its record", node.name));
  }
  if (node.steps.empty()) {
    lines.push_back(fmt::format("no steps were found on {}", node.name));
  }
}

}  // namespace

std::vector<std::string> missing_of(const RunData& run) {
  Lines lines;
  tell_records(run, lines);
  tell_ranks(run, lines);
  for (const NodeData& node : run.nodes) {
    tell_samples(node, lines);
  }
  return lines;
}

}  // namespace chokepoint::analysis
