#include "preflight/report/page.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/checks/check.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/math/units.h"
#include "preflight/judge/figure_text.h"
#include "preflight/report/finding_text.h"

namespace chokepoint::preflight {
namespace {

constexpr double kBitsPerMbit = 1e6;
constexpr std::size_t kMaxMtus = 4;

std::string rate(double mbps) { return math::format_rate(mbps * kBitsPerMbit); }

// Each path once: visit(from, to, way).
template <class Visit>
void each_path(const Measured& measured, Visit visit) {
  for (const PairResult& pair : measured.pairs) {
    visit(pair.a, pair.b, pair.there);
    visit(pair.b, pair.a, pair.back);
  }
}

std::string between(const Measured& measured, HostIndex a, HostIndex b, std::string_view word) {
  return fmt::format("{} {} {}", measured.hosts[a].name, word, measured.hosts[b].name);
}

std::string round_trips(const Measured& measured) {
  std::vector<const PairResult*> known;
  for (const PairResult& pair : measured.pairs) {
    if (pair.rtt_ms) {
      known.push_back(&pair);
    }
  }
  if (known.empty()) {
    return {};
  }
  std::ranges::sort(known, {}, [](const PairResult* pair) { return *pair->rtt_ms; });
  const PairResult& slowest = *known.back();
  return fmt::format("{} at the median of {}, {} at most ({})",
                     math::format_ms(*known[known.size() / 2]->rtt_ms),
                     counted(known.size(), "pair", "pairs"), math::format_ms(*slowest.rtt_ms),
                     between(measured, slowest.a, slowest.b, "and"));
}

std::string loss(const Measured& measured) {
  std::size_t tested = 0;
  std::size_t lossy = 0;
  double most = 0;
  std::string worst;
  each_path(measured, [&](HostIndex from, HostIndex to, const PathResult& path) {
    tested += path.packets > 0 ? 1 : 0;
    lossy += path.lost > 0 ? 1 : 0;
    const double percent = path.packets == 0 ? 0 : 100.0 * path.lost / path.packets;
    if (percent > most) {
      most = percent;
      worst = between(measured, from, to, "to");
    }
  });
  if (tested == 0) {
    return {};
  }
  return lossy == 0 ? fmt::format("none on {}", counted(tested, "path", "paths"))
                    : fmt::format("on {} of {}, {:.2g} % at most ({})", lossy,
                                  counted(tested, "path", "paths"), most, worst);
}

std::string largest_packets(const Measured& measured) {
  std::map<float, std::size_t, std::greater<>> paths;
  each_path(measured, [&](HostIndex, HostIndex, const PathResult& path) {
    if (path.mtu_bytes) {
      ++paths[*path.mtu_bytes];
    }
  });
  std::string text;
  std::size_t sizes = 0;
  for (const auto& [mtu, count] : paths) {
    if (sizes++ < kMaxMtus) {
      text += fmt::format("{}{:.0f} bytes on {}", text.empty() ? "" : ", ", mtu,
                          counted(count, "path", "paths"));
    }
  }
  return text + (sizes > kMaxMtus ? fmt::format(", and {} sizes more", sizes - kMaxMtus) : "");
}

std::string clocks(const Measured& measured) {
  const PairResult* most = nullptr;
  for (const PairResult& pair : measured.pairs) {
    if (pair.clock_offset_ms &&
        (most == nullptr || std::abs(*pair.clock_offset_ms) > std::abs(*most->clock_offset_ms))) {
      most = &pair;
    }
  }
  return most == nullptr ? std::string()
                         : fmt::format("at most {} apart ({})",
                                       math::format_ms(std::abs(*most->clock_offset_ms)),
                                       between(measured, most->a, most->b, "and"));
}

std::string rdma(const Measured& measured) {
  std::vector<float> known;
  each_path(measured, [&](HostIndex, HostIndex, const PathResult& path) {
    if (path.rdma_mbps) {
      known.push_back(*path.rdma_mbps);
    }
  });
  if (known.empty()) {
    return {};
  }
  std::ranges::sort(known);
  return fmt::format("{} at the median of {}, {} at least", rate(known[known.size() / 2]),
                     counted(known.size(), "path", "paths"), rate(known.front()));
}

std::string cut_in_words(const Measured& measured, const CutResult& cut) {
  std::string text = fmt::format("{} | {}: {} together", hosts_in_words(measured, cut.left),
                                 hosts_in_words(measured, cut.right), rate(cut.together_mbps));
  if (cut.alone_mbps && *cut.alone_mbps > 0) {
    text += fmt::format(", {} one by one ({:.0f} %)", rate(*cut.alone_mbps),
                        100 * cut.together_mbps / *cut.alone_mbps);
  }
  return text;
}

std::string collective(const Measured& measured) {
  if (!measured.collective) {
    return {};
  }
  const CollectiveResult& result = *measured.collective;
  std::string text =
      fmt::format("{}, {}", result.backend,
                  counted(static_cast<std::size_t>(std::max(result.ranks, 0)), "rank", "ranks"));
  text += result.bytes > 0 ? ", " + math::format_bytes(static_cast<double>(result.bytes)) : "";
  if (result.error) {
    return text + ": " + describe(*result.error);
  }
  text += result.bus_mbps ? ": " + rate(*result.bus_mbps) : "";
  return text +
         (result.time_us ? fmt::format(" in {}", math::format_ms(*result.time_us / 1000)) : "");
}

using checks::Status;
using cli::Tint;

constexpr int kMaxPageWidth = 110;
constexpr int kLabel = 12;
constexpr std::size_t kFewTroubles = 5;

Tint tint_of(Status verdict) {
  return verdict == Status::Critical  ? Tint::Bad
         : verdict == Status::Warning ? Tint::Notice
         : verdict == Status::Unknown ? Tint::Faint
                                      : Tint::Good;
}

void print_verdict(const cli::Context& context, const Measured& measured,
                   const Judgement& judgement) {
  const std::string name(checks::name_of(judgement.verdict));
  const int width = std::min(context.out_terminal.width, kMaxPageWidth);
  const int indent = static_cast<int>(name.size()) + 2;
  const std::string lines = cli::wrapped(sentence_of(measured, judgement), width, indent);
  fmt::print(context.out, "{}  {}\n",
             cli::tinted(name, tint_of(judgement.verdict), context.out_terminal),
             lines.substr(static_cast<std::size_t>(indent)));
}

checks::Checks checks_of(const Judgement& judgement) {
  checks::Checks checks;
  for (const Finding& finding : judgement.findings) {
    checks.push_back(finding.check);
  }
  return checks;
}

void print_absent(const cli::Context& context, const Measured& measured) {
  cli::Table table({{"not there"}, {"state"}, {"why"}});
  bool is_any = false;
  for (const HostResult& host : measured.hosts) {
    if (host.presence == Presence::Present) {
      continue;
    }
    is_any = true;
    std::string why = host.error ? describe(*host.error) : std::string();
    why += host.lost_during.empty() ? "" : fmt::format(" (during {})", host.lost_during);
    table.add({{host.name, Tint::Bold}, std::string(name_of(host.presence)), why});
  }
  if (is_any) {
    table.print(context.out, context.out_terminal);
    context.out << '\n';
  }
}

void print_troubles(const cli::Context& context, const Measured& measured, bool all) {
  const std::size_t count =
      all ? measured.troubles.size() : std::min(measured.troubles.size(), kFewTroubles);
  if (count == 0) {
    return;
  }
  cli::Table table({{"came to nothing"}, {"between"}, {"why"}});
  for (std::size_t at = 0; at < count; ++at) {
    const Trouble& trouble = measured.troubles[at];
    table.add({trouble.test,
               measured.hosts[trouble.a].name + " and " + measured.hosts[trouble.b].name,
               describe(trouble.error)});
  }
  table.print(context.out, context.out_terminal);
  if (count < measured.troubles.size()) {
    fmt::print(context.out, "… and {} more (--all)\n", measured.troubles.size() - count);
  }
  context.out << '\n';
}

void print_left_out(const cli::Context& context, const Measured& measured) {
  const int width = std::min(context.out_terminal.width, kMaxPageWidth);
  for (const std::string& what : measured.left_out) {
    const std::string lines = cli::wrapped(cli::printable(what), width, kLabel);
    fmt::print(context.out, "{:<{}}{}", "left out", kLabel,
               lines.substr(static_cast<std::size_t>(kLabel)));
  }
  context.out << (measured.left_out.empty() ? "" : "\n");
}

void print_summary(const cli::Context& context, const Measured& measured) {
  const int width = std::min(context.out_terminal.width, kMaxPageWidth);
  for (const auto& [label, text] : summary_of(measured)) {
    const std::string lines = cli::wrapped(cli::printable(text), width, kLabel);
    fmt::print(context.out, "{:<{}}{}", label, kLabel, lines.substr(kLabel));
  }
  context.out << '\n';
}

}  // namespace

std::string hosts_in_words(const Measured& measured, const std::vector<HostIndex>& hosts) {
  std::vector<HostIndex> sorted = hosts;
  std::ranges::sort(sorted);
  std::string text;
  for (std::size_t at = 0; at < sorted.size();) {
    std::size_t end = at + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) {
      ++end;
    }
    text += (text.empty() ? "" : ", ") + measured.hosts[sorted[at]].name;
    text +=
        end - at == 1 ? "" : (end - at == 2 ? ", " : " to ") + measured.hosts[sorted[end - 1]].name;
    at = end;
  }
  return text;
}

std::vector<SummaryLine> summary_of(const Measured& measured) {
  std::vector<SummaryLine> lines{{"round trip", round_trips(measured)},
                                 {"loss", loss(measured)},
                                 {"packet", largest_packets(measured)},
                                 {"clocks", clocks(measured)},
                                 {"RDMA", rdma(measured)}};
  for (const CutResult& cut : measured.cuts) {
    lines.emplace_back("cut", cut_in_words(measured, cut));
  }
  lines.emplace_back("all-reduce", collective(measured));
  std::erase_if(lines, [](const SummaryLine& line) { return line.second.empty(); });
  return lines;
}

void print_page(const cli::Context& context, const Measured& measured, const Judgement& judgement,
                bool all) {
  print_verdict(context, measured, judgement);
  checks::print_page(context, checks_of(judgement), all);
  context.out << '\n';
  print_heat_map(context, measured);
  print_summary(context, measured);
  print_left_out(context, measured);
  print_absent(context, measured);
  print_troubles(context, measured, all);
}

}  // namespace chokepoint::preflight
