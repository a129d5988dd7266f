#include "capture/commands/findings.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "base/cli/table.h"
#include "base/math/units.h"
#include "base/sys/clock.h"
#include "capture/commands/flow_table.h"
#include "capture/packet/address_text.h"

namespace chokepoint::capture {
namespace {

// Of a flow::Tally or the flow::Remainder.
template <class Part>
void add(Volume& volume, const Part& part) {
  volume.packets += part.packets;
  volume.bytes += part.bytes;
  volume.payload_bytes += part.payload_bytes;
  volume.retransmitted_packets += part.retransmitted_packets;
}

void add(Volume& volume, const observer::Count& count) {
  volume.packets += count.packets;
  volume.bytes += count.bytes;
}

void add(flow::Remainder& sum, const flow::Remainder& more) {
  sum.flows += more.flows;
  sum.packets += more.packets;
  sum.bytes += more.bytes;
  sum.payload_bytes += more.payload_bytes;
  sum.retransmitted_packets += more.retransmitted_packets;
  sum.retransmitted_bytes += more.retransmitted_bytes;
}

void gather_from(const observer::Analyser& analyser, Findings& findings) {
  analyser.engine().glance([&](std::uint32_t, const flow::Glance& glance) {
    add(findings.volume, *glance.tallies[0]);
    add(findings.volume, *glance.tallies[1]);
  });
  findings.flows += analyser.engine().flows();
  add(findings.remainder, analyser.engine().remainder());
  findings.others += analyser.others();
  analyser.roce().visit(
      [&](const roce::QueuePairFacts& facts) { findings.queue_pairs.push_back(facts); });
}

void add_rest(Findings& findings) {
  add(findings.volume, findings.others.other_ip);
  add(findings.volume, findings.others.not_ip);
  add(findings.volume, findings.others.malformed);
  add(findings.volume, findings.remainder);
}

constexpr std::size_t kMaxDropsShown = 5;
constexpr std::size_t kMaxQueuePairsShown = 20;
constexpr double kMedian = 0.5;
constexpr double kP99 = 0.99;

std::string time_text(double seconds) { return math::format_ms(seconds * 1e3); }

void print_sums(std::ostream& out, const Findings& findings) {
  const double seconds = findings.progress.seconds();
  fmt::print(out, "{}: {} packets, {} in {}", findings.source, findings.volume.packets,
             bytes_text(findings.volume.bytes), time_text(seconds));
  if (seconds > 0) {
    fmt::print(
        out, ", {} on average",
        math::format_rate(static_cast<double>(findings.volume.bytes) * math::kBits / seconds));
  }
  fmt::print(out, "; {} flows\n", findings.flows + findings.remainder.flows);
}

void print_drops(std::ostream& out, const Findings& findings) {
  const observer::Progress& progress = findings.progress;
  if (progress.dropped_by_kernel + progress.dropped_by_interface == 0) {
    return;
  }
  fmt::print(out,
             "not seen: {} packets dropped by the kernel, {} by the interface; the counts below do "
             "not include them\n",
             progress.dropped_by_kernel, progress.dropped_by_interface);
  for (std::size_t i = 0; i < findings.drops.size() && i < kMaxDropsShown; ++i) {
    const source::Drop& drop = findings.drops[i];
    fmt::print(out, "  {} at {}: {}\n", findings.interface_name(drop.interface),
               sys::rfc3339(drop.time_ns), drop.by_kernel + drop.by_interface);
  }
  if (findings.drops.size() > kMaxDropsShown) {
    fmt::print(out, "and {} more times\n", findings.drops.size() - kMaxDropsShown);
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
    fmt::print(out, "and {} more flows (--top N shows more, --json all)\n", left);
  }
  const std::vector<std::string> lines = anomaly_lines(findings.top, terminal);
  if (!lines.empty()) {
    out << "\nanomalies\n";
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
    table.add({std::string(name_of(sum->kind)), std::to_string(sum->count),
               bytes_text(sum->sent_bytes), bytes_text(sum->received_bytes),
               time_text(sum->duration_ns.quantile(kMedian) / math::kNsPerSecond),
               time_text(sum->duration_ns.quantile(kP99) / math::kNsPerSecond)});
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
               "\n{} idle flows were removed to make room for others: {} packets, {}, {} "
               "retransmitted (--flows N keeps more)\n",
               findings.remainder.flows, findings.remainder.packets,
               bytes_text(findings.remainder.bytes), findings.remainder.retransmitted_packets);
  }
  if (others.other_ip.packets + others.not_ip.packets + others.malformed.packets > 0) {
    fmt::print(
        out,
        "\nnot in flows: {} packets of other IP protocols, {} not IP, {} malformed or truncated\n",
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
  for (std::size_t i = 0; i < findings.queue_pairs.size() && i < kMaxQueuePairsShown; ++i) {
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

std::string Findings::interface_name(std::uint32_t index) const {
  return index < interfaces.size() ? interfaces[index].name : std::string();
}

Findings gather(const observer::Observer& observer, SortBy by, std::size_t top) {
  Findings findings;
  for (std::size_t i = 0; i < observer.analysers().size(); ++i) {
    const observer::Analyser& analyser = *observer.analysers()[i];
    gather_from(analyser, findings);
    rank(analyser.engine(), i, {.sort = by, .most = top, .rates = lifetime_rates}, findings.top);
  }
  add_rest(findings);
  findings.gloo_messages = observer.gloo().messages();
  findings.gloo_connections = observer.gloo().connections();
  findings.collectives = observer.gloo().sums();
  findings.progress = observer.progress().now();
  findings.drops = observer.progress().drops();
  findings.interfaces = observer.progress().interfaces();
  findings.remarks = observer.remarks();
  return findings;
}

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
    out << "\nInterrupted: these are the results until then.\n";
  }
}

}  // namespace chokepoint::capture
