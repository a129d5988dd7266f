#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "analysis/attribution/sentences.h"
#include "analysis/commands/diagnose_views.h"
#include "analysis/commands/diagnose_words.h"
#include "analysis/load/run_summary.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/record/schema.h"

namespace chokepoint::analysis {
namespace {

constexpr int kLabelIndent = 7;  // of what stands behind a line's label
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

// Behind a label, wrapped below itself where the terminal is narrow. The command is never broken:
// it is there to be copied.
void print_line(std::ostream& out, const cli::Terminal& terminal, const char* label,
                const std::string& text, const std::string& command = {}) {
  const std::string block =
      with_command(cli::printable(text), cli::printable(command), terminal.width, kLabelIndent);
  fmt::print(out, "  {}{}", cli::tinted(fmt::format("{:<5}", label), cli::Tint::Faint, terminal),
             block.substr(std::min<std::size_t>(kLabelIndent, block.size())));
}

// What the verdict costs; of a step that computing fills, what all else takes together.
std::string loss_text(const Diagnosis& diagnosis) {
  if (!diagnosis.accounting) {
    return "";
  }
  const double step_ms = diagnosis.accounting->sum();
  if (diagnosis.verdict.verdict == VerdictClass::Compute) {
    const double else_ms = step_ms - (*diagnosis.accounting)[Account::Compute];
    return fmt::format("; all else takes {} of a step's {} ({:.0f} %)", time_text(else_ms),
                       time_text(step_ms), step_ms > 0 ? 100 * else_ms / step_ms : 0);
  }
  if (diagnosis.verdict.lost_ms_per_step <= 0) {
    return "";
  }
  return fmt::format("; {} of a step's {} ({:.0f} %)",
                     time_text(diagnosis.verdict.lost_ms_per_step), time_text(step_ms),
                     diagnosis.verdict.share_percent);
}

std::string steps_text(const StepTimes& steps) {
  return steps.source ? fmt::format("{} steps from {}", steps.count, name_of(*steps.source))
                      : "no steps were found";
}

// "205.0 ms = 143.0 link full + 60.0 computing + 2.0 for the rest": what is too small is summed up.
std::string accounting_text(const Accounting& accounting) {
  constexpr double kSmall = 0.01;
  constexpr double kShown = 0.001;
  const double sum = accounting.sum();
  double rest = 0;
  std::vector<Account> shown;
  for (std::size_t index = 0; index < kAccounts; ++index) {
    if (accounting.ms[index] >= kSmall * sum && accounting.ms[index] > 0) {
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
      rest >= kShown * sum ? fmt::format(" + {} for the rest", part_text(rest, sum)) : "");
}

std::string step_text(const Diagnosis& diagnosis) {
  if (diagnosis.accounting) {
    return fmt::format("{}; {}", accounting_text(*diagnosis.accounting),
                       steps_text(diagnosis.steps));
  }
  return diagnosis.steps.median_ms
             ? fmt::format("{}, half of them within {}; not accounted for",
                           steps_text(diagnosis.steps), time_text(*diagnosis.steps.median_ms))
             : steps_text(diagnosis.steps);
}

// Where there is no evidence, why there is none.
std::string why_text(const Diagnosis& diagnosis) {
  const Verdict& verdict = diagnosis.verdict;
  if (!verdict.evidence.empty()) {
    return evidence_text(verdict.evidence, kEvidenceShown);
  }
  return diagnosis.missing.empty() ? "nothing in the records tells"
                                   : fmt::format("{}", fmt::join(diagnosis.missing, "; "));
}

Advice advice_of(const Diagnosis& diagnosis) {
  if (!diagnosis.verdict.advice.empty()) {
    return diagnosis.verdict.advice.front();
  }
  if (diagnosis.verdict.verdict == VerdictClass::Compute) {
    return {.what = "nothing: no change to the network would make it faster"};
  }
  return {.what = diagnosis.missing.empty()
                      ? "profile a step of the job: what takes the time leaves no trace here"
                      : "watch a run with what is missing: every node, its packets, its steps"};
}

std::string sureness_text(const Diagnosis& diagnosis) {
  std::string text = fmt::format("{:.0f} %", diagnosis.verdict.confidence * 100);
  if (!diagnosis.missing.empty() && !diagnosis.verdict.evidence.empty()) {
    const std::size_t more = diagnosis.missing.size() - 1;
    text +=
        "; " + diagnosis.missing.front() + (more > 0 ? fmt::format(" (and {} more)", more) : "");
  }
  return text + "; all of it";
}

}  // namespace

std::string headline_of(const Diagnosis& diagnosis) {
  return fmt::format("{}: {}{}", name_of(diagnosis.verdict.verdict), sentence_of(diagnosis),
                     loss_text(diagnosis));
}

void print_page(std::ostream& out, const cli::Terminal& terminal, const Diagnosis& diagnosis) {
  const std::string name = name_of(diagnosis.verdict.verdict);
  const std::string head = cli::wrapped(cli::printable(headline_of(diagnosis)), terminal.width, 0);
  fmt::print(out, "{}{}", cli::tinted(name, tint_of(diagnosis.verdict.verdict), terminal),
             head.substr(name.size()));
  print_line(out, terminal, "step", step_text(diagnosis));
  print_line(out, terminal, "why", why_text(diagnosis));
  const Advice advice = advice_of(diagnosis);
  print_line(out, terminal, "do", advice.what, advice.command);
  const std::array more{std::string("chokepoint"), std::string("diagnose"), diagnosis.run,
                        std::string("--all")};
  print_line(out, terminal, "sure", sureness_text(diagnosis), record::shell_line(more));
}

}  // namespace chokepoint::analysis
