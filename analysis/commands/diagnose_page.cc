// A diagnosis for people: five lines, all of it, and its numbers in words.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>

#include "analysis/attribution/causes.h"
#include "analysis/attribution/ceilings.h"
#include "analysis/commands/diagnose.h"
#include "analysis/load/run_summary.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/math/quantity.h"
#include "base/math/units.h"
#include "base/record/schema.h"

namespace chokepoint::analysis {
namespace {

constexpr int kLabelIndent = 13;  // of the text behind a line's label
constexpr std::size_t kEvidenceShown = 2;

cli::Tint tint_of(VerdictClass verdict) {
  switch (verdict) {
    case VerdictClass::Compute:
      return cli::Tint::Good;
    case VerdictClass::Unknown:
      return cli::Tint::Notice;
    default:
      return cli::Tint::Bad;
  }
}

// Wraps the text behind its label. A command is never broken, so that it can be copied.
void print_line(std::ostream& out, const cli::Terminal& terminal, const char* label,
                const std::string& text, const std::string& command = {}) {
  const std::string block =
      with_command(cli::printable(text), cli::printable(command), terminal.width, kLabelIndent);
  fmt::print(out, "  {}{}", cli::tinted(fmt::format("{:<11}", label), cli::Tint::Faint, terminal),
             block.substr(std::min<std::size_t>(kLabelIndent, block.size())));
}

// What the verdict costs; with the verdict "compute", what everything else takes together.
std::string loss_text(const Diagnosis& diagnosis) {
  if (!diagnosis.accounting) {
    return "";
  }
  const double step_ms = diagnosis.accounting->sum();
  if (diagnosis.verdict.verdict == VerdictClass::Compute) {
    const double else_ms = step_ms - (*diagnosis.accounting)[Account::Compute];
    return fmt::format("; everything else takes {} of a step's {} ({:.0f} %)",
                       math::format_ms(else_ms), math::format_ms(step_ms),
                       step_ms > 0 ? 100 * else_ms / step_ms : 0);
  }
  if (diagnosis.verdict.lost_ms_per_step <= 0) {
    return "";
  }
  return fmt::format("; {} of a step's {} ({:.0f} %)",
                     math::format_ms(diagnosis.verdict.lost_ms_per_step), math::format_ms(step_ms),
                     diagnosis.verdict.share_percent);
}

std::string step_text(const Diagnosis& diagnosis) {
  if (diagnosis.accounting) {
    return fmt::format("{}; {}", accounting_text(*diagnosis.accounting),
                       steps_text(diagnosis.steps));
  }
  return diagnosis.steps.median_ms
             ? fmt::format("{}, half of them within {}; not accounted for",
                           steps_text(diagnosis.steps), math::format_ms(*diagnosis.steps.median_ms))
             : steps_text(diagnosis.steps);
}

// The evidence, or why there is none.
std::string why_text(const Diagnosis& diagnosis) {
  const Verdict& verdict = diagnosis.verdict;
  if (!verdict.evidence.empty()) {
    return evidence_text(verdict.evidence, kEvidenceShown);
  }
  return diagnosis.missing.empty() ? "no evidence in the records"
                                   : fmt::format("{}", fmt::join(diagnosis.missing, "; "));
}

std::string confidence_text(const Diagnosis& diagnosis) {
  const Verdict& verdict = diagnosis.verdict;
  std::string text = fmt::format("{:.0f} %", verdict.confidence * 100);
  if (diagnosis.confirmation && diagnosis.confirmation->state != Confirmation::State::Open) {
    text += fmt::format(", {:.0f} % without the tests",
                        diagnosis.confirmation->confidence_before * 100);
  }
  if (verdict.lost_low_ms > 0 && verdict.verdict != VerdictClass::Unknown) {
    text += fmt::format("; lost between {} and {} a step", math::format_ms(verdict.lost_low_ms),
                        math::format_ms(verdict.lost_high_ms));
  }
  if (!diagnosis.missing.empty() && !diagnosis.verdict.evidence.empty()) {
    const std::size_t more = diagnosis.missing.size() - 1;
    text +=
        "; " + diagnosis.missing.front() + (more > 0 ? fmt::format(" (and {} more)", more) : "");
  }
  if (!diagnosis.verdict.against.empty()) {
    text += "; lowered, because " + diagnosis.verdict.against;
  }
  return text + "; all details";
}

// "4 tests on a and b may show the cause, in 12 s"
std::string plan_text(const std::vector<PlannedTest>& plan) {
  std::vector<std::string> nodes;
  double seconds = 0;
  for (const PlannedTest& test : plan) {
    seconds += test.time_s;
    if (std::ranges::find(nodes, test.on) == nodes.end()) {
      nodes.push_back(test.on);
    }
  }
  return fmt::format("{} test{} on {} may show the cause, in {:.0f} s", plan.size(),
                     plan.size() == 1 ? "" : "s", fmt::join(nodes, ", "), seconds);
}

constexpr double kShownInSecondsMs = 1e4;  // from here on times are written in seconds
constexpr double kMsPerSecond = 1e3;

using cli::Align;

constexpr int kListIndent = 2;
constexpr double kAccountBarLetters = 30;

void print_below(std::ostream& out, const cli::Terminal& terminal, const cli::Table& table) {
  fmt::print(out, "\n");
  table.print(out, terminal);
}

void print_accounts(std::ostream& out, const cli::Terminal& terminal, const Diagnosis& diagnosis) {
  const Accounting& accounting = *diagnosis.accounting;
  const double sum = accounting.sum();
  cli::Table table({{"a step of " + whole_text(sum)},
                    {whole_text(sum).ends_with("ms") ? "ms" : "s", Align::Right},
                    {"±", Align::Right},
                    {"share", Align::Right},
                    {""}});
  for (std::size_t index = 0; index < kAccounts; ++index) {
    const double ms = accounting.ms[index];
    const double share = sum > 0 ? ms / sum : 0;
    const cli::Tint tint = ms > 0 ? cli::Tint::None : cli::Tint::Faint;
    table.add(
        {{words_of(static_cast<Account>(index)), tint},
         {part_text(ms, sum), tint},
         {diagnosis.uncertainty ? part_text(diagnosis.uncertainty->ms[index], sum) : "", tint},
         {fmt::format("{:.1f} %", 100 * share), tint},
         share_bar(share, kAccountBarLetters)});
  }
  print_below(out, terminal, table);
}

void print_what_ifs(std::ostream& out, const cli::Terminal& terminal, const Diagnosis& diagnosis) {
  const double sum = diagnosis.accounting->sum();
  cli::Table table(
      {{"if this were halved"}, {"a step gains", Align::Right}, {"and takes", Align::Right}});
  for (const WhatIf& what_if : diagnosis.what_ifs) {
    table.add({words_of(what_if.account), part_text(what_if.gained_ms, sum),
               whole_text(what_if.step_ms)});
  }
  print_below(out, terminal, table);
}

void print_evidence(std::ostream& out, const cli::Terminal& terminal, const Verdict& verdict) {
  cli::Table table({{"evidence"}, {"value", Align::Right}, {"from"}});
  for (const Evidence& each : verdict.evidence) {
    table.add(
        {each.what, each.value ? math::quantity_text(*each.value, each.unit) : "", each.from});
  }
  print_below(out, terminal, table);
}

void print_ceilings(std::ostream& out, const cli::Terminal& terminal,
                    const std::vector<Ceiling>& ceilings) {
  cli::Table table({{"probes"},
                    {"where"},
                    {"reached", Align::Right},
                    {"the job", Align::Right},
                    {"share", Align::Right},
                    {"verdict"},
                    {"from"}});
  for (const Ceiling& each : ceilings) {
    const std::string where = !each.to.empty()      ? each.from + " to " + each.to
                              : each.device.empty() ? each.from
                                                    : each.device + " of " + each.from;
    const auto share = each.share_percent();
    table.add({each.probe + ": " + each.what, where,
               math::quantity_text(each.probe_value, each.unit),
               each.job_value ? math::quantity_text(*each.job_value, each.unit) : "",
               share ? fmt::format("{:.0f} %", *share) : "", std::string(label_of(each.support)),
               each.source});
  }
  print_below(out, terminal, table);
}

void print_tests(std::ostream& out, const cli::Terminal& terminal,
                 const Confirmation& confirmation) {
  cli::Table table({{"test"}, {"verdict"}, {"measured"}});
  for (const TestResult& each : confirmation.tests) {
    table.add({std::string(name_of(each.kind)), std::string(label_of(each.support)),
               each.failure.empty() ? each.sentence : each.failure});
  }
  print_below(out, terminal, table);
}

void print_given(std::ostream& out, const cli::Terminal& terminal,
                 const std::vector<GivenClaim>& given) {
  cli::Table table({{"other tools"},
                    {"theirs", Align::Right},
                    {"ours", Align::Right},
                    {"verdict"},
                    {"from"},
                    {"what they say"}});
  const auto figure = [](std::optional<double> value, const std::string& unit) {
    return !value           ? std::string()
           : unit == "rank" ? fmt::format("rank {:.0f}", *value)
                            : math::quantity_text(*value, unit);
  };
  for (const GivenClaim& each : given) {
    table.add({each.tool, figure(each.theirs, each.unit), figure(each.ours, each.unit),
               std::string(label_of(each.support)), each.from, each.what});
  }
  print_below(out, terminal, table);
}

void print_others(std::ostream& out, const cli::Terminal& terminal,
                  const std::vector<Verdict>& others) {
  cli::Table table({{"runner-up"}, {"a step", Align::Right}, {"share", Align::Right}, {"what"}});
  for (const Verdict& each : others) {
    const std::string why = evidence_text(each.evidence, 1);
    table.add({name_of(each.verdict), math::format_ms(each.lost_ms_per_step),
               fmt::format("{:.1f} %", each.share_percent),
               sentence_of(each) + (why.empty() ? "" : "; " + why)});
  }
  print_below(out, terminal, table);
}

// Of many ranks those that compute longest, since the others wait for them.
void print_ranks(std::ostream& out, const cli::Terminal& terminal,
                 const std::vector<RankFigures>& all) {
  constexpr std::size_t kMaxRanksShown = 16;
  std::vector<RankFigures> ranks = all;
  std::ranges::stable_sort(ranks, std::greater<>(), &RankFigures::computing_ms);
  ranks.resize(std::min(ranks.size(), kMaxRanksShown));
  std::ranges::sort(ranks, {}, &RankFigures::rank);
  cli::Table table({{"rank", Align::Right},
                    {"node"},
                    {"computing", Align::Right},
                    {"waiting for others", Align::Right},
                    {"communicating", Align::Right}});
  for (const RankFigures& each : ranks) {
    table.add({fmt::format("{}", each.rank), each.node, math::format_ms(each.computing_ms),
               math::format_ms(each.waiting_ms), math::format_ms(each.communicating_ms)});
  }
  print_below(out, terminal, table);
  if (ranks.size() < all.size()) {
    fmt::print(out, "the {} of {} ranks that compute longest; --json has all\n", ranks.size(),
               all.size());
  }
}

void print_goodput(std::ostream& out, const cli::Terminal& terminal, const Goodput& goodput) {
  fmt::print(out, "\n{}", cli::wrapped(sentence_of(goodput), terminal.width, kListIndent));
  if (goodput.longest.empty()) {
    return;
  }
  cli::Table table({{"pause at"}, {"lasts", Align::Right}, {"meanwhile"}});
  for (const RunPause& pause : goodput.longest) {
    table.add({fmt::format("{:.1f} s", pause.at_s), fmt::format("{:.1f} s", pause.s),
               std::string(name_of(pause.does))});
  }
  table.print(out, terminal);
}

void print_list(std::ostream& out, const cli::Terminal& terminal, const char* title,
                const std::vector<std::string>& lines) {
  if (lines.empty()) {
    return;
  }
  fmt::print(out, "\n{}\n", cli::tinted(title, cli::Tint::Bold, terminal));
  for (const std::string& line : lines) {
    fmt::print(out, "{}", cli::wrapped(cli::printable(line), terminal.width, kListIndent));
  }
}

void print_advice(std::ostream& out, const cli::Terminal& terminal,
                  const std::vector<Advice>& advice) {
  if (advice.empty()) {
    return;
  }
  fmt::print(out, "\n{}\n", cli::tinted("what to do", cli::Tint::Bold, terminal));
  for (const Advice& each : advice) {
    out << with_command(each.what, each.command, terminal.width, kListIndent);
  }
}

}  // namespace

std::string accounting_text(const Accounting& accounting) {
  constexpr double kMinShare = 0.01;       // of the step: smaller accounts are summed up
  constexpr double kMinRestShare = 0.001;  // a smaller sum is left out
  const double sum = accounting.sum();
  double rest = 0;
  std::vector<Account> shown;
  for (std::size_t index = 0; index < kAccounts; ++index) {
    if (accounting.ms[index] >= kMinShare * sum && accounting.ms[index] > 0) {
      shown.push_back(static_cast<Account>(index));
    } else {
      rest += accounting.ms[index];
    }
  }
  std::ranges::stable_sort(shown, std::ranges::greater(),
                           [&](Account account) { return accounting[account]; });
  std::string text;
  for (const Account account : shown) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " + ", part_text(accounting[account], sum),
                        words_of(account));
  }
  return fmt::format(
      "{} = {}{}", whole_text(sum), text,
      rest >= kMinRestShare * sum ? fmt::format(" + {} rest", part_text(rest, sum)) : "");
}

Advice advice_of(const Diagnosis& diagnosis) {
  const bool lacks_records = diagnosis.verdict.verdict == VerdictClass::Unknown &&
                             diagnosis.verdict.cause == Cause::None && !diagnosis.missing.empty();
  if (!diagnosis.verdict.advice.empty() && !lacks_records) {
    return diagnosis.verdict.advice.front();
  }
  if (diagnosis.verdict.verdict == VerdictClass::Compute) {
    return {.what = "nothing: no change to the network would make the job faster"};
  }
  return {.what =
              diagnosis.missing.empty()
                  ? "profile a step of the job: the cause leaves no trace in these records"
                  : "watch a run that records what is missing: every node, its packets, its steps"};
}

std::string share_bar(double share, double letters) {
  std::string bar;
  for (int left = static_cast<int>(std::lround(share * letters)); left > 0; --left) {
    bar += "█";
  }
  return bar;
}

std::string headline_of(const Diagnosis& diagnosis) {
  return fmt::format("{}: {}{}", name_of(diagnosis.verdict.verdict), sentence_of(diagnosis),
                     loss_text(diagnosis));
}

void print_page(std::ostream& out, const cli::Terminal& terminal, const Diagnosis& diagnosis) {
  const std::string name = name_of(diagnosis.verdict.verdict);
  const std::string head = cli::wrapped(cli::printable(headline_of(diagnosis)), terminal.width, 0);
  fmt::print(out, "{}{}", cli::tinted(name, tint_of(diagnosis.verdict.verdict), terminal),
             head.substr(name.size()));
  if (!diagnosis.pause.empty()) {
    print_line(out, terminal, "now", diagnosis.pause);
  }
  print_line(out, terminal, "step", step_text(diagnosis));
  if (diagnosis.rounds) {
    print_line(out, terminal, "exchange", sentence_of(*diagnosis.rounds));
  }
  if (diagnosis.standing) {
    print_line(out, terminal, "before", diagnosis.standing->sentence);
  }
  print_line(out, terminal, "why", why_text(diagnosis));
  if (diagnosis.confirmation) {
    print_line(out, terminal, "tested", diagnosis.confirmation->sentence);
  } else if (!diagnosis.plan.empty()) {
    const std::array confirm{std::string("chokepoint"), std::string("diagnose"), diagnosis.run,
                             std::string("--confirm")};
    print_line(out, terminal, "test", plan_text(diagnosis.plan), record::shell_line(confirm));
  }
  const Advice advice = advice_of(diagnosis);
  print_line(out, terminal, "do", advice.what, advice.command);
  std::vector<std::string> more{"chokepoint", "diagnose"};
  if (diagnosis.nodes.empty() && !diagnosis.given.empty()) {
    more.emplace_back("--with");  // no record: its name is that of the files
  }
  more.insert(more.end(), {diagnosis.run, "--all"});
  print_line(out, terminal, "confidence", confidence_text(diagnosis), record::shell_line(more));
}

std::string part_text(double ms, double whole_ms) {
  constexpr double kTenthsFrom = 10;
  const bool is_long = whole_ms >= kShownInSecondsMs;
  return fmt::format("{:.{}f}", is_long ? ms / kMsPerSecond : ms,
                     is_long || whole_ms < kTenthsFrom ? 2 : 1);
}

std::string whole_text(double whole_ms) {
  return part_text(whole_ms, whole_ms) + (whole_ms >= kShownInSecondsMs ? " s" : " ms");
}

std::string sentence_of(const RoundTimes& rounds) {
  return fmt::format(
      "every {} steps, {} more each time; a step without takes {}; steps take {:.1f} % "
      "of the time, exchanges the rest",
      rounds.every_steps, whole_text(rounds.sync_ms.median), whole_text(rounds.inner_ms),
      rounds.utilisation_percent);
}

std::string sentence_of(const Goodput& goodput) {
  std::string text = fmt::format("steps take {:.1f} % of the run's {:.1f} s; start {:.1f} s",
                                 goodput.percent(), goodput.run_s, goodput.start_s);
  if (goodput.pauses > 0) {
    text += fmt::format(", {} pause{} {:.1f} s", goodput.pauses, goodput.pauses == 1 ? "" : "s",
                        goodput.pauses_s);
  }
  return text + fmt::format(", end {:.1f} s", goodput.end_s);
}

std::string evidence_text(const Evidence& evidence) {
  return evidence.value ? evidence.what + " " + math::quantity_text(*evidence.value, evidence.unit)
                        : evidence.what;
}

std::string evidence_text(const std::vector<Evidence>& evidence, std::size_t most) {
  std::string text;
  const std::size_t count = std::min(most, evidence.size());
  for (std::size_t index = 0; index < count; ++index) {
    const Evidence& each = evidence[index];
    text += (index == 0 ? "" : ", ") + evidence_text(each);
    const bool is_last = index + 1 == count || evidence[index + 1].from != each.from;
    text += is_last && !each.from.empty() ? " (" + each.from + ")" : "";
  }
  return text;
}

std::string advice_text(const Advice& advice) {
  if (advice.command.empty() || advice.what.empty()) {
    return advice.what + advice.command;
  }
  return advice.what + ": " + advice.command;
}

std::string with_command(const std::string& text, const std::string& command, int width,
                         int indent) {
  const std::string line = advice_text({.what = text, .command = command});
  const auto room = static_cast<std::size_t>(std::max(width - indent, 0));
  if (command.empty() || cli::width_of(line) <= room) {
    return cli::wrapped(line, width, indent);
  }
  return (text.empty() ? "" : cli::wrapped(text + ":", width, indent)) +
         std::string(static_cast<std::size_t>(indent), ' ') + command + "\n";
}

cli::Table purposes_table(const std::vector<PurposeVolume>& purposes) {
  cli::Table table({{"bytes between hosts"},
                    {"sent", Align::Right},
                    {"received", Align::Right},
                    {"share", Align::Right},
                    {"connections", Align::Right}});
  for (const PurposeVolume& each : purposes) {
    table.add({std::string(traffic::sentence_of(each.purpose)),
               math::format_bytes(each.volume.sent_bytes.value_or(0)),
               math::format_bytes(each.volume.received_bytes.value_or(0)),
               fmt::format("{:.1f} %", 100 * share_of(each, purposes)),
               fmt::format("{}", each.connections)});
  }
  return table;
}

void print_details(std::ostream& out, const cli::Terminal& terminal, const Diagnosis& diagnosis) {
  if (diagnosis.accounting) {
    print_accounts(out, terminal, diagnosis);
  }
  if (diagnosis.accounting && !diagnosis.what_ifs.empty()) {
    print_what_ifs(out, terminal, diagnosis);
  }
  if (diagnosis.critical_path) {
    print_critical_path(out, terminal, *diagnosis.critical_path, diagnosis.ranks);
  }
  if (!diagnosis.verdict.evidence.empty()) {
    print_evidence(out, terminal, diagnosis.verdict);
  }
  if (!diagnosis.ceilings.empty()) {
    print_ceilings(out, terminal, diagnosis.ceilings);
  }
  if (!diagnosis.given.empty()) {
    print_given(out, terminal, diagnosis.given);
  }
  if (diagnosis.confirmation) {
    print_tests(out, terminal, *diagnosis.confirmation);
  } else {
    std::vector<std::string> commands;
    std::ranges::transform(diagnosis.plan, std::back_inserter(commands), &PlannedTest::command);
    print_list(out, terminal, "tests that --confirm runs", commands);
  }
  if (!diagnosis.verdict.disproof.empty()) {
    print_list(out, terminal, "the verdict is wrong if", {diagnosis.verdict.disproof});
  }
  print_advice(out, terminal, diagnosis.verdict.advice);
  if (!diagnosis.others.empty()) {
    print_others(out, terminal, diagnosis.others);
  }
  if (!diagnosis.ranks.empty()) {
    print_ranks(out, terminal, diagnosis.ranks);
  }
  if (diagnosis.goodput) {
    print_goodput(out, terminal, *diagnosis.goodput);
  }
  if (diagnosis.purposes.size() > 1) {
    print_below(out, terminal, purposes_table(diagnosis.purposes));
  }
  print_list(out, terminal, "missing", diagnosis.missing);
}

}  // namespace chokepoint::analysis
