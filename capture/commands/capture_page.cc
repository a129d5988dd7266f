#include "capture/commands/capture_page.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <cmath>

#include "base/cli/table.h"
#include "base/math/units.h"
#include "base/sys/clock.h"
#include "capture/commands/flow_table.h"
#include "capture/commands/units.h"
#include "capture/packet/text.h"

namespace chokepoint::capture {
namespace {

constexpr std::size_t kMostDropsShown = 5;
constexpr std::size_t kMostQueuePairsShown = 20;
constexpr double kMedian = 0.5;
constexpr double kP99 = 0.99;

std::string time_text(double seconds) {
  return math::format_duration(std::chrono::nanoseconds(std::llround(seconds * kNsPerSecond)));
}

void print_sums(std::ostream& out, const Findings& findings) {
  const double seconds = findings.progress.seconds();
  fmt::print(out, "{}: {} packets, {} in {}", findings.source, findings.volume.packets,
             bytes_text(findings.volume.bytes), time_text(seconds));
  if (seconds > 0) {
    fmt::print(out, ", {} on average",
               math::format_rate(static_cast<double>(findings.volume.bytes) * kBits / seconds));
  }
  fmt::print(out, "; {} flows\n", findings.flows + findings.remainder.flows);
}

void print_drops(std::ostream& out, const Findings& findings) {
  const observer::Progress& progress = findings.progress;
  if (progress.dropped_by_kernel + progress.dropped_by_interface == 0) {
    return;
  }
  fmt::print(out,
             "not seen: {} packets dropped by the kernel, {} by the interface; what follows counts "
             "without them\n",
             progress.dropped_by_kernel, progress.dropped_by_interface);
  for (std::size_t i = 0; i < findings.drops.size() && i < kMostDropsShown; ++i) {
    const source::Drop& drop = findings.drops[i];
    fmt::print(out, "  {} at {}: {}\n", findings.interface_name(drop.interface),
               sys::rfc3339(drop.time_ns), drop.by_kernel + drop.by_interface);
  }
  if (findings.drops.size() > kMostDropsShown) {
    fmt::print(out, "  and {} times more\n", findings.drops.size() - kMostDropsShown);
  }
}

void print_flows(std::ostream& out, const cli::Terminal& terminal, const Findings& findings) {
  if (findings.top.empty()) {
    return;
  }
  out << '\n';
  flow_table(findings.top, terminal).print(out, terminal);
  const std::size_t left = findings.flows - findings.top.size();
  if (left > 0) {
    fmt::print(out, "and {} flows more (--top N shows more, --json all)\n", left);
  }
  const std::vector<std::string> lines = remarkable_lines(findings.top, terminal);
  if (!lines.empty()) {
    out << "\nremarkable\n";
  }
  for (const std::string& line : lines) {
    fmt::print(out, "  {}\n", line);
  }
}

void print_gloo(std::ostream& out, const cli::Terminal& terminal, const Findings& findings) {
  if (findings.gloo_connections == 0) {
    return;
  }
  using cli::Align;
  cli::Table table({{"Gloo"},
                    {"collectives", Align::Right},
                    {"sent", Align::Right},
                    {"received", Align::Right},
                    {"median", Align::Right},
                    {"p99", Align::Right}});
  for (const observer::CollectiveSum* sum : findings.collectives) {
    table.add({std::string(observer::kind_text(sum->kind)), std::to_string(sum->count),
               bytes_text(sum->sent_bytes), bytes_text(sum->received_bytes),
               time_text(sum->duration_ns.quantile(kMedian) / kNsPerSecond),
               time_text(sum->duration_ns.quantile(kP99) / kNsPerSecond)});
  }
  out << '\n';
  table.print(out, terminal);
  fmt::print(out, "{} messages on {} connections\n", findings.gloo_messages,
             findings.gloo_connections);
}

void print_rest(std::ostream& out, const Findings& findings) {
  const observer::Others& others = findings.others;
  if (findings.remainder.flows > 0) {
    fmt::print(out,
               "\n{} flows that were idle made room for others: {} packets, {}, {} resent (--flows "
               "keeps more)\n",
               findings.remainder.flows, findings.remainder.packets,
               bytes_text(findings.remainder.bytes), findings.remainder.retransmitted_packets);
  }
  if (others.other_ip.packets + others.not_ip.packets + others.malformed.packets > 0) {
    fmt::print(out,
               "\nbeside flows: {} packets of other IP protocols, {} not IP, {} "
               "malformed or cut off\n",
               others.other_ip.packets, others.not_ip.packets, others.malformed.packets);
  }
}

void print_queue_pairs(std::ostream& out, const cli::Terminal& terminal, const Findings& findings) {
  if (findings.queue_pairs.empty()) {
    return;
  }
  using cli::Align;
  cli::Table table({{"RoCE to"},
                    {"queue pair", Align::Right},
                    {"messages", Align::Right},
                    {"payload", Align::Right},
                    {"resent", Align::Right},
                    {"missing", Align::Right},
                    {"NAK", Align::Right},
                    {"RNR", Align::Right},
                    {"CNP", Align::Right},
                    {"ECN", Align::Right}});
  for (std::size_t i = 0; i < findings.queue_pairs.size() && i < kMostQueuePairsShown; ++i) {
    const roce::QueuePairFacts& facts = findings.queue_pairs[i];
    table.add({packet::text_of(facts.ends.destination, facts.ends.is_ipv6),
               fmt::format("{:#x}", facts.queue_pair), std::to_string(facts.messages),
               bytes_text(facts.payload_bytes), std::to_string(facts.retransmitted_packets),
               std::to_string(facts.missing_packets),
               std::to_string(facts.sequence_naks + facts.other_naks),
               std::to_string(facts.receiver_not_ready),
               std::to_string(facts.congestion_notifications),
               std::to_string(facts.congestion_marks)});
  }
  out << '\n';
  table.print(out, terminal);
}

}  // namespace

void print_page(std::ostream& out, const cli::Terminal& terminal, const Findings& findings) {
  print_sums(out, findings);
  print_drops(out, findings);
  print_flows(out, terminal, findings);
  print_gloo(out, terminal, findings);
  print_queue_pairs(out, terminal, findings);
  print_rest(out, findings);
  for (const std::string& remark : findings.remarks) {
    fmt::print(out, "\nnote: {}\n", remark);
  }
  if (findings.is_interrupted) {
    out << "\nInterrupted: this is what was seen until then.\n";
  }
}

}  // namespace chokepoint::capture
