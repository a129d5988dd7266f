// A report as text: its sections, and how these look on a terminal and in Markdown.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "analysis/attribution/causes.h"
#include "analysis/commands/diagnose.h"
#include "analysis/commands/text_views.h"
#include "base/cli/text.h"
#include "base/math/quantity.h"
#include "base/math/units.h"
#include "base/sys/clock.h"

namespace chokepoint::analysis {
namespace {

constexpr int kSectionIndent = 2;

void print_table(std::ostream& out, const cli::Terminal& terminal, const SectionTable& table) {
  cli::Table printed(table.columns);
  for (const std::vector<std::string>& row : table.rows) {
    printed.add({row.begin(), row.end()});
  }
  printed.print(out, terminal);
}

std::string markdown_advice(const Advice& advice) {
  const std::string what = cli::markdown_text(advice.what);
  const std::string command = advice.command.empty() ? "" : cli::markdown_code(advice.command);
  return fmt::format("- {}{}{}\n", what, what.empty() || command.empty() ? "" : ": ", command);
}

using cli::Align;

constexpr std::size_t kMaxFlows = 20;
constexpr const char* kUnknown = "–";

std::string or_unknown(const std::optional<double>& value, const std::string& unit) {
  return value ? math::quantity_text(*value, unit) : kUnknown;
}

template <class T>
std::optional<double> real(const std::optional<T>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

Section verdict_of(const Report& report) {
  const Diagnosis& diagnosis = report.diagnosis;
  Section section{.lines = {headline_of(diagnosis)}, .advice = diagnosis.verdict.advice};
  section.lines.push_back(fmt::format(
      "Confidence {:.0f} %.{}", 100 * diagnosis.verdict.confidence,
      diagnosis.verdict.disproof.empty() ? "" : " Wrong if " + diagnosis.verdict.disproof + "."));
  if (!diagnosis.verdict.against.empty()) {
    section.lines.push_back("The confidence is lowered: " + diagnosis.verdict.against + ".");
  }
  if (diagnosis.confirmation) {
    section.lines.push_back(fmt::format(
        "Tests after the job: {}. Without them the confidence is {:.0f} %.",
        diagnosis.confirmation->sentence, 100 * diagnosis.confirmation->confidence_before));
  }
  return section;
}

Section run_of(const Report& report) {
  const RunSummary& run = report.summary;
  Section section{.title = "The run", .table = {.columns = {{"what"}, {"is"}}}};
  const auto add = [&](const char* what, const std::string& is) {
    if (!is.empty() && is != kUnknown) {
      section.table.rows.push_back({what, is});
    }
  };
  add("folder", report.diagnosis.run);
  add("command", run.command);
  for (const auto& [key, value] : run.labels) {
    section.table.rows.push_back({"label " + key, value});
  }
  add("duration", run.duration_s ? math::format_ms(1e3 * *run.duration_s) : "");
  add("exit status", run.exit_status ? fmt::format("{}", *run.exit_status) : "");
  const StepTimes& steps = report.diagnosis.steps;
  if (steps.source && steps.median_ms) {
    add("steps", fmt::format("{} by {}, median {}", steps.count, name_of(*steps.source),
                             math::format_ms(*steps.median_ms)));
  }
  add("exchange", report.diagnosis.rounds ? sentence_of(*report.diagnosis.rounds) : "");
  add("time in steps", report.diagnosis.goodput ? sentence_of(*report.diagnosis.goodput) : "");
  add("sent", or_unknown(run.volume.sent_bytes, "bytes"));
  std::vector<std::string> purposes;
  for (const PurposeVolume& each : run.purposes) {
    purposes.push_back(fmt::format("{} {:.1f} %", traffic::sentence_of(each.purpose),
                                   100 * share_of(each, run.purposes)));
  }
  add("for", fmt::format("{}", fmt::join(purposes, ", ")));
  add("network of the busiest node, both directions", or_unknown(network_mbps(run), "mbps"));
  return section;
}

Section accounting_of(const Report& report) {
  Section section{.title = "Where a step's time goes"};
  if (!report.diagnosis.accounting) {
    return section;
  }
  const Accounting& accounting = *report.diagnosis.accounting;
  const double sum = accounting.sum();
  section.table.columns = {{"account"}, {"a step", Align::Right}, {"share", Align::Right}};
  for (std::size_t place = 0; place < kAccounts; ++place) {
    if (accounting.ms.at(place) > 0) {
      section.table.rows.push_back(
          {words_of(Account(place)), math::format_ms(accounting.ms.at(place)),
           fmt::format("{:.1f} %", sum > 0 ? 100 * accounting.ms.at(place) / sum : 0)});
    }
  }
  section.table.rows.push_back({"the step", math::format_ms(sum), "100.0 %"});
  return section;
}

Section evidence_of(const Report& report) {
  Section section{.title = "Evidence",
                  .table = {.columns = {{"what"}, {"value", Align::Right}, {"from"}}}};
  for (const Evidence& each : report.diagnosis.verdict.evidence) {
    section.table.rows.push_back({each.what, or_unknown(each.value, each.unit), each.from});
  }
  return section;
}

Section others_of(const Report& report) {
  Section section{
      .title = "What comes next",
      .table = {
          .columns = {{"class"}, {"a step", Align::Right}, {"share", Align::Right}, {"what"}}}};
  for (const Verdict& each : report.diagnosis.others) {
    section.table.rows.push_back({name_of(each.verdict), math::format_ms(each.lost_ms_per_step),
                                  fmt::format("{:.1f} %", each.share_percent), sentence_of(each)});
  }
  return section;
}

Section paths_of(const Report& report) {
  Section section{.title = "Paths: reached and possible throughput",
                  .table = {.columns = {{"from"},
                                        {"to"},
                                        {"round trip", Align::Right},
                                        {"reached", Align::Right},
                                        {"possible", Align::Right},
                                        {"by"}}}};
  for (const PathPicture& path : report.paths) {
    section.table.rows.push_back({path.from, path.to, or_unknown(path.min_rtt_ms, "ms"),
                                  or_unknown(path.reached_mbps, "mbps"),
                                  or_unknown(path.possible_mbps(), "mbps"),
                                  path.limit() ? std::string(name_of(*path.limit())) : kUnknown});
  }
  return section;
}

Section probes_of(const Report& report) {
  Section section{.title = "Probes before, and what the job reached",
                  .table = {.columns = {{"node"},
                                        {"peer"},
                                        {"way"},
                                        {"what"},
                                        {"probe", Align::Right},
                                        {"job", Align::Right}}}};
  for (const ProbeLine& probe : report.probes.lines) {
    section.table.rows.push_back({probe.node, probe.peer, probe.direction, probe.what,
                                  or_unknown(probe.probe_value, probe.unit),
                                  or_unknown(probe.job_value, probe.unit)});
  }
  return section;
}

std::string text_of(const NamedValue& each) {
  const auto* number = std::get_if<double>(&each.value);
  return number != nullptr ? math::quantity_text(*number, each.unit == "share" ? "" : each.unit)
                           : std::get<std::string>(each.value);
}

// Each probe with its values; its lists are on the page and in the document.
std::vector<Section> recorded_of(const Report& report) {
  std::vector<Section> sections;
  for (const RecordedProbe& probe : report.recorded) {
    Section& section = sections.emplace_back();
    section.title =
        fmt::format("Probe {} of {}{}, {}", probe.kind, probe.node,
                    probe.peer.empty() ? "" : " to " + probe.peer, sys::rfc3339(probe.wall_ns));
    section.table.columns = {{"what"}, {"is", Align::Right}};
    for (const NamedValue& each : probe.values) {
      section.table.rows.push_back({each.what, text_of(each)});
    }
  }
  return sections;
}

double bytes_of(const FlowLine& flow) {
  return static_cast<double>(flow.directions[0].bytes.value_or(0) +
                             flow.directions[1].bytes.value_or(0));
}

// Of both directions, as far as they are known.
std::string retransmitted_text(const FlowLine& flow) {
  std::optional<double> sum;
  for (const FlowDirection& direction : flow.directions) {
    if (direction.retransmitted_packets) {
      sum = sum.value_or(0) + static_cast<double>(*direction.retransmitted_packets);
    }
  }
  return sum ? math::number_text(*sum) : kUnknown;
}

Section flows_of(const Report& report) {
  Section section{.title = "Connections",
                  .table = {.columns = {{"a"},
                                        {"b"},
                                        {"a to b", Align::Right},
                                        {"b to a", Align::Right},
                                        {"retransmitted", Align::Right},
                                        {"round trip", Align::Right}}}};
  std::vector<const FlowLine*> order;
  for (const FlowLine& flow : report.flows.flows) {
    order.push_back(&flow);
  }
  std::ranges::stable_sort(order, std::greater<>(),
                           [](const FlowLine* flow) { return bytes_of(*flow); });
  if (order.size() > kMaxFlows) {
    section.lines.push_back(
        fmt::format("The {} of {} connections that carried most.", kMaxFlows, order.size()));
    order.resize(kMaxFlows);
  }
  for (const FlowLine* flow : order) {
    const auto end = [](const FlowSide& side) {
      return side.port ? fmt::format("{}:{}", side.name, *side.port) : side.name;
    };
    const auto rtt = flow->rtt_ms();
    section.table.rows.push_back(
        {end(flow->sides[0]), end(flow->sides[1]),
         or_unknown(real(flow->directions[0].bytes), "bytes"),
         or_unknown(real(flow->directions[1].bytes), "bytes"), retransmitted_text(*flow),
         rtt ? math::format_ms(rtt->median) : or_unknown(flow->min_rtt_ms, "ms")});
  }
  return section;
}

Section moments_of(const Report& report) {
  Section section{.title = "Moments",
                  .table = {.columns = {{"at", Align::Right}, {"node"}, {"what"}, {"more"}}}};
  for (const Moment& moment : report.timeline.moments) {
    const auto at_ms =
        static_cast<double>(moment.span.start_ns - report.timeline.span.start_ns) / 1e6;
    section.table.rows.push_back(
        {fmt::format("{:.3f} s", at_ms / 1e3), moment.node, moment.what, moment.detail});
  }
  return section;
}

}  // namespace

void print_report(std::ostream& out, const cli::Terminal& terminal, const Report& report) {
  bool is_first = true;
  for (const Section& section : sections_of(report)) {
    if (!section.title.empty()) {
      fmt::print(out, "{}{}\n", is_first ? "" : "\n",
                 cli::tinted(section.title, cli::Tint::Bold, terminal));
    }
    is_first = false;
    for (const std::string& line : section.lines) {
      out << cli::wrapped(cli::printable(line), terminal.width,
                          section.title.empty() ? 0 : kSectionIndent);
    }
    for (const Advice& advice : section.advice) {
      out << with_command(cli::printable(advice.what), cli::printable(advice.command),
                          terminal.width, kSectionIndent);
    }
    if (!section.table.rows.empty()) {
      print_table(out, terminal, section.table);
    }
  }
}

std::string markdown_of(const Report& report) {
  std::string text;
  for (const Section& section : sections_of(report)) {
    text += text.empty() ? "" : "\n";
    if (section.title.empty()) {
      text += "# " + cli::markdown_text(report.diagnosis.run) + "\n\n";
    } else {
      text += "## " + cli::markdown_text(section.title) + "\n\n";
    }
    const bool is_list = section.lines.size() > 1 && !section.title.empty();
    for (const std::string& line : section.lines) {
      text += (is_list ? "- " : "") + cli::markdown_text(line) + (is_list ? "\n" : "\n\n");
    }
    for (const Advice& advice : section.advice) {
      text += markdown_advice(advice);
    }
    if (!section.table.rows.empty()) {
      text += cli::markdown_table(section.table.columns, section.table.rows);
    }
  }
  return text;
}

std::vector<Section> sections_of(const Report& report) {
  std::vector<Section> sections = {
      verdict_of(report),  accounting_of(report),
      evidence_of(report), others_of(report),
      run_of(report),      paths_of(report),
      probes_of(report),   flows_of(report),
      moments_of(report),  {.title = "What was not measured, and why", .lines = report.missing}};
  std::ranges::move(recorded_of(report), std::back_inserter(sections));
  std::erase_if(sections, [](const Section& section) {
    return section.lines.empty() && section.table.rows.empty() && section.advice.empty();
  });
  return sections;
}

}  // namespace chokepoint::analysis
