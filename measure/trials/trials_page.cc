// Trials for people and for programs.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>

#include "base/cli/output.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/math/units.h"
#include "measure/trials/trials.h"

namespace chokepoint::trials {
namespace {

constexpr double kBarLetters = 24;

std::string number_text(double value) { return math::three_digits(value); }

std::string interval_text(const std::optional<math::Interval>& interval) {
  return interval ? fmt::format("{} … {}", number_text(interval->low), number_text(interval->high))
                  : "";
}

std::string p_text(double p) { return p < 0.001 ? "<0.001" : fmt::format("{:.2g}", p); }

std::string signed_text(double percent) { return fmt::format("{:+.1f} %", percent); }

std::string title_of(const documents::Figure& figure) {
  return figure.unit.empty() ? figure.name : figure.name + " " + figure.unit;
}

bool has_any(const Trials& trials, std::size_t figure) {
  return std::ranges::any_of(trials.values, [&](const std::vector<Values>& variant) {
    return estimate(variant[figure]).has_value();
  });
}

std::string bar(double share) {
  std::string text;
  for (auto left = std::lround(share * kBarLetters); left > 0; --left) {
    text += "█";
  }
  return text;
}

// The deciding figure of each variant: where its mean lies, and what changes against the first.
void print_deciding(const cli::Context& context, const Trials& trials, std::size_t figure) {
  using cli::Align;
  std::vector<cli::Column> columns{{trials.varied.empty() ? "variant" : trials.varied},
                                   {"trials", Align::Right},
                                   {title_of(trials.figures[figure]), Align::Right},
                                   {"mean lies in (95 %)", Align::Right}};
  const bool is_compared = trials.variants.size() > 1;
  if (is_compared) {
    columns.insert(columns.end(), {{"against the first", Align::Right}, {"p", Align::Right}, {""}});
  }
  double most = 0;
  for (const std::vector<Values>& values : trials.values) {
    const auto found = estimate(values[figure]);
    most = std::max(most, found ? found->mean : 0);
  }
  cli::Table table(columns);
  for (std::size_t variant = 0; variant < trials.variants.size(); ++variant) {
    const auto found = estimate(trials.values[variant][figure]);
    std::vector<cli::Cell> row{
        cli::printable(trials.variants[variant].label), fmt::format("{}", found ? found->count : 0),
        found ? number_text(found->mean) : "", found ? interval_text(found->interval) : ""};
    if (is_compared) {
      const auto against = variant == 0 ? std::nullopt
                                        : judge(trials.values.front()[figure],
                                                trials.values[variant][figure], alpha_of(trials));
      row.insert(row.end(),
                 {against ? signed_text(against->percent) : "", against ? p_text(against->p) : "",
                  found && most > 0 ? bar(found->mean / most) : ""});
    }
    table.add(std::move(row));
  }
  table.print(context.out, context.out_terminal);
}

// The others' medians: what one looks at beside.
void print_others(const cli::Context& context, const Trials& trials, std::size_t deciding) {
  std::vector<cli::Column> columns{{trials.varied.empty() ? "variant" : trials.varied}};
  std::vector<std::size_t> shown;
  for (std::size_t figure = 0; figure < trials.figures.size(); ++figure) {
    if (figure != deciding && has_any(trials, figure)) {
      shown.push_back(figure);
      columns.push_back({title_of(trials.figures[figure]), cli::Align::Right});
    }
  }
  if (shown.empty()) {
    return;
  }
  cli::Table table(columns);
  for (std::size_t variant = 0; variant < trials.variants.size(); ++variant) {
    std::vector<cli::Cell> row{cli::printable(trials.variants[variant].label)};
    for (const std::size_t figure : shown) {
      const auto found = estimate(trials.values[variant][figure]);
      row.emplace_back(found ? number_text(found->median) : "");
    }
    table.add(std::move(row));
  }
  fmt::print(context.out, "\nmedians of the rest\n");
  table.print(context.out, context.out_terminal);
}

std::string how_it_ended(const Trials& trials) {
  std::size_t failed = 0;
  for (const std::size_t each : trials.failed) {
    failed += each;
  }
  std::string text = fmt::format("{} round{}", trials.rounds, trials.rounds == 1 ? "" : "s");
  text += trials.ended_by == End::Sure          ? ": enough to be sure"
          : trials.ended_by == End::Interrupted ? ", then interrupted"
          : trials.ended_by == End::Failures    ? ", then it failed three times in a row"
                                                : "";
  return text + (failed > 0 ? fmt::format("; {} trials failed", failed) : "");
}

std::string single_sentence(const Trials& trials, std::size_t figure) {
  const auto found = estimate(trials.values.front()[figure]);
  const documents::Figure& what = trials.figures[figure];
  return found->interval
             ? fmt::format("{}: the mean of {} trials is {} {}, between {} and {} (95 %)",
                           what.name, found->count, number_text(found->mean), what.unit,
                           number_text(found->interval->low), number_text(found->interval->high))
             : fmt::format("{}: {} {} in one trial; its scatter takes two", what.name,
                           number_text(found->mean), what.unit);
}

std::string difference_text(const Trials& trials, std::size_t variant, std::size_t figure) {
  const Variant& base = trials.variants.front();
  const std::string first = trials.varied.empty() && base.setup.empty() ? "without it" : base.label;
  const std::string& label = trials.variants[variant].label;
  const std::string& what = trials.figures[figure].name;
  const auto found =
      judge(trials.values.front()[figure], trials.values[variant][figure], alpha_of(trials));
  if (!found) {
    return fmt::format("{}: too few trials for a comparison", label);
  }
  const std::string range =
      fmt::format("{} to {}", signed_text(found->interval.low), signed_text(found->interval.high));
  if (found->judged == Judged::Differs) {
    return fmt::format("{}: {} {:.1f} % {} than {} ({}), p {}", label, what,
                       std::abs(found->percent), found->percent > 0 ? "higher" : "lower", first,
                       range, p_text(found->p));
  }
  return found->judged == Judged::Alike
             ? fmt::format("{}: the same {} as {} within {:.0f} % ({})", label, what, first,
                           kAlikePercent, range)
             : fmt::format("{}: no difference from {} is proven in {} ({}), p {}; more rounds may",
                           label, first, what, range, p_text(found->p));
}

documents::TrialsFigure described(const Trials& trials, std::size_t variant, std::size_t figure) {
  const documents::Figure& what = trials.figures[figure];
  const Values& values = trials.values[variant][figure];
  documents::TrialsFigure described{
      .name = what.name, .unit = what.unit, .field = what.pointer, .values = values};
  if (const auto found = estimate(values)) {
    described.mean = found->mean;
    described.median = found->median;
    described.mean_interval = found->interval;
  }
  const auto against =
      variant == 0 ? std::nullopt : judge(trials.values.front()[figure], values, alpha_of(trials));
  if (against) {
    described.against_first = {.percent = against->percent,
                               .interval_percent = against->interval,
                               .p = against->p,
                               .differs = against->judged == Judged::Differs,
                               .alike = against->judged == Judged::Alike};
  }
  return described;
}

}  // namespace

std::vector<std::string> sentences(const Trials& trials) {
  const std::optional<std::size_t> figure = deciding_figure(trials);
  if (!figure) {
    return {"no figure was measured in all variants"};
  }
  if (trials.variants.size() == 1) {
    return {single_sentence(trials, *figure)};
  }
  std::vector<std::string> lines;
  for (std::size_t variant = 1; variant < trials.variants.size(); ++variant) {
    lines.push_back(difference_text(trials, variant, *figure));
  }
  return lines;
}

void print_page(const cli::Context& context, const Trials& trials) {
  if (const std::optional<std::size_t> deciding = deciding_figure(trials)) {
    print_deciding(context, trials, *deciding);
    print_others(context, trials, *deciding);
    fmt::print(context.out, "\n");
  }
  for (const std::string& line : sentences(trials)) {
    fmt::print(context.out, "{}",
               cli::wrapped(cli::printable(line), context.out_terminal.width, 0));
  }
  fmt::print(context.out, "{}\n", how_it_ended(trials));
  for (const std::string& error : trials.errors) {
    fmt::print(context.err, "chokepoint: {}\n", cli::printable(error));
  }
}

documents::Trials document_of(const Trials& trials) {
  const auto deciding = deciding_figure(trials);
  documents::Trials document{.command = trials.command,
                             .varied = trials.varied,
                             .rounds = trials.rounds,
                             .ended_by = trials.ended_by,
                             .deciding = deciding ? trials.figures[*deciding].name : "",
                             .summary = sentences(trials),
                             .errors = trials.errors};
  for (std::size_t variant = 0; variant < trials.variants.size(); ++variant) {
    documents::TrialsVariant described{.name = trials.variants[variant].label,
                                       .words = trials.variants[variant].words,
                                       .setup = trials.variants[variant].setup,
                                       .failed = trials.failed[variant],
                                       .host_facts = trials.host_facts[variant]};
    for (std::size_t figure = 0; figure < trials.figures.size(); ++figure) {
      if (has_any(trials, figure)) {
        described.figures.push_back(trials::described(trials, variant, figure));
      }
    }
    document.variants.push_back(std::move(described));
  }
  return document;
}

}  // namespace chokepoint::trials
