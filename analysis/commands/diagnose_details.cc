#include <fmt/format.h>
#include <fmt/ostream.h>

#include "analysis/attribution/sentences.h"
#include "analysis/commands/diagnose_views.h"
#include "analysis/commands/diagnose_words.h"
#include "analysis/commands/share_bar.h"
#include "base/cli/table.h"
#include "base/cli/text.h"

namespace chokepoint::analysis {
namespace {

using cli::Align;

constexpr int kListIndent = 2;
constexpr double kAccountBarLetters = 30;

void print_accounts(std::ostream& out, const cli::Terminal& terminal,
                    const Accounting& accounting) {
  const double sum = accounting.sum();
  cli::Table table({{"a step of " + whole_text(sum)},
                    {whole_text(sum).ends_with("ms") ? "ms" : "s", Align::Right},
                    {"share", Align::Right},
                    {""}});
  for (std::size_t index = 0; index < kAccounts; ++index) {
    const double ms = accounting.ms[index];
    const double share = sum > 0 ? ms / sum : 0;
    const cli::Tint tint = ms > 0 ? cli::Tint::None : cli::Tint::Faint;
    table.add({{words_of(static_cast<Account>(index)), tint},
               {part_text(ms, sum), tint},
               {fmt::format("{:.1f} %", 100 * share), tint},
               share_bar(share, kAccountBarLetters)});
  }
  fmt::print(out, "\n");
  table.print(out, terminal);
}

void print_evidence(std::ostream& out, const cli::Terminal& terminal, const Verdict& verdict) {
  if (verdict.evidence.empty()) {
    return;
  }
  cli::Table table({{"evidence"}, {"value", Align::Right}, {"from"}});
  for (const Evidence& each : verdict.evidence) {
    table.add({each.what, each.value ? quantity_text(*each.value, each.unit) : "", each.from});
  }
  fmt::print(out, "\n");
  table.print(out, terminal);
}

void print_others(std::ostream& out, const cli::Terminal& terminal,
                  const std::vector<Verdict>& others) {
  if (others.empty()) {
    return;
  }
  cli::Table table({{"runner-up"}, {"a step", Align::Right}, {"share", Align::Right}, {"what"}});
  for (const Verdict& each : others) {
    const std::string why = evidence_text(each.evidence, 1);
    table.add({name_of(each.verdict), time_text(each.lost_ms_per_step),
               fmt::format("{:.1f} %", each.share_percent),
               sentence_of(each) + (why.empty() ? "" : "; " + why)});
  }
  fmt::print(out, "\n");
  table.print(out, terminal);
}

void print_ranks(std::ostream& out, const cli::Terminal& terminal,
                 const std::vector<RankFigures>& ranks) {
  if (ranks.empty()) {
    return;
  }
  cli::Table table({{"rank", Align::Right},
                    {"node"},
                    {"computing", Align::Right},
                    {"waiting for others", Align::Right}});
  for (const RankFigures& each : ranks) {
    table.add({fmt::format("{}", each.rank), each.node, time_text(each.computing_ms),
               time_text(each.waiting_ms)});
  }
  fmt::print(out, "\n");
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

void print_details(std::ostream& out, const cli::Terminal& terminal, const Diagnosis& diagnosis) {
  if (diagnosis.accounting) {
    print_accounts(out, terminal, *diagnosis.accounting);
  }
  print_evidence(out, terminal, diagnosis.verdict);
  if (!diagnosis.verdict.disproof.empty()) {
    print_list(out, terminal, "what would show that it is wrong", {diagnosis.verdict.disproof});
  }
  print_advice(out, terminal, diagnosis.verdict.advice);
  print_others(out, terminal, diagnosis.others);
  print_ranks(out, terminal, diagnosis.ranks);
  print_list(out, terminal, "missing", diagnosis.missing);
}

}  // namespace chokepoint::analysis
