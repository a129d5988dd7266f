// A comparison in words: numbers with the units of their column, differences as sentences.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/attribution/causes.h"
#include "analysis/commands/compare.h"
#include "analysis/compare/compare.h"
#include "base/cli/text.h"
#include "base/math/statistics.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

struct Step {
  double factor;
  const char* prefix;
};

// The largest unit in which the middle row is 1 or more.
template <std::size_t N>
Scale scale_for(const std::array<Step, N>& steps, double middle, const std::string& unit = {}) {
  Step best = steps.front();
  for (const Step& step : steps) {
    best = std::abs(middle) * step.factor >= 1 ? step : best;
  }
  return {.factor = best.factor, .unit = best.prefix + unit};
}

std::vector<double> means_of(const Comparison& comparison, Figure figure) {
  std::vector<double> means;
  for (const Group& group : comparison.groups) {
    if (group[figure]) {
      means.push_back(group[figure]->mean);
    }
  }
  return means;
}

Scale unit_for(Unit unit, double middle, const std::string& samples) {
  constexpr std::array<Step, 4> kCounts{{{1, ""}, {1e-3, "k"}, {1e-6, "M"}, {1e-9, "G"}}};
  constexpr std::array<Step, 3> kRates{{{1e3, "kb/s"}, {1, "Mb/s"}, {1e-3, "Gb/s"}}};
  constexpr std::array<Step, 5> kBytes{
      {{1, "B"}, {1e-3, "KB"}, {1e-6, "MB"}, {1e-9, "GB"}, {1e-12, "TB"}}};
  constexpr std::array<Step, 2> kTimes{{{1e3, "µs"}, {1, "ms"}}};
  switch (unit) {
    case Unit::PerSecond:
      return scale_for(kCounts, middle, samples + "/s");
    case Unit::Mbps:
      return scale_for(kRates, middle);
    case Unit::Bytes:
      return scale_for(kBytes, middle);
    case Unit::Memory:
      return {.factor = 1.0 / (1 << 20), .unit = "MiB"};
    case Unit::Milliseconds:
      return scale_for(kTimes, middle);
    case Unit::Seconds:
      return {.unit = "s"};
    case Unit::Factor:
    case Unit::Plain:
      break;
  }
  return {};
}

std::string cause_text(const AccountChange& cause, bool is_more) {
  constexpr double kAllPercent = 100.5;  // more than all where another account moved the other way
  const std::string share = cause.share_percent > kAllPercent
                                ? "all of it and more"
                                : fmt::format("{:.0f} % of it", cause.share_percent);
  return fmt::format("{} {} {} ({})", math::format_ms(std::abs(cause.ms_per_step)),
                     is_more ? "more" : "less", words_of(cause.account), share);
}

std::string causes_text(const std::vector<AccountChange>& causes) {
  constexpr std::size_t kMaxCauses = 2;
  std::string text;
  for (std::size_t at = 0; at < std::min(kMaxCauses, causes.size()); ++at) {
    text += (text.empty() ? "" : ", ") + cause_text(causes[at], causes[at].ms_per_step > 0);
  }
  return text;
}

// "+15.9 %"
std::string change_text(double percent) {
  return std::abs(percent) < 1000 ? fmt::format("{:+.1f} %", percent)
                                  : fmt::format("{:+.0f} %", percent);
}

std::string p_text(double p) { return p < 0.001 ? "< 0.001" : fmt::format("{:.2g}", p); }

std::string ground_text(const Difference& difference) {
  std::string text;
  if (difference.percent) {
    text += fmt::format(" ({} to {})", change_text(difference.percent->low),
                        change_text(difference.percent->high));
  }
  if (difference.p_corrected) {
    text += fmt::format(", p {} {}", p_text(*difference.p_corrected), words_of(*difference.test));
  }
  return text;
}

// Follows "+15.9 %".
const char* judgement_of(const Difference& difference) {
  if (!difference.test) return "";
  if (!difference.is_beyond_noise) return " noise";
  if (!difference.is_worse) return " differs";
  return *difference.is_worse ? " worse" : " better";
}

bool shows(const Shown& shown, const std::string& column) {
  return std::ranges::find(shown.columns, column) != shown.columns.end();
}

// Whether a test compares single runs by their steps alone.
bool is_by_steps(const Comparison& comparison) {
  return std::ranges::any_of(comparison.groups, [&](const Group& group) {
    return group.difference && group.difference->test == NoiseTest::BlocksOfSteps;
  });
}

}  // namespace

bool is_known(const Comparison& comparison, Figure figure) {
  return std::ranges::any_of(comparison.groups,
                             [&](const Group& group) { return group[figure].has_value(); });
}

std::vector<Figure> figures_in(const Comparison& comparison) {
  std::vector<Figure> figures;
  for (std::size_t at = 0; at < kFigures; ++at) {
    const Figure figure = figure_at(at);
    if (is_of_runs(figure) ? !comparison.is_of_probes : is_known(comparison, figure)) {
      figures.push_back(figure);
    }
  }
  return figures;
}

Scale scale_of(const Comparison& comparison, Figure figure) {
  const std::vector<double> means = means_of(comparison, figure);
  const double middle = math::median(means).value_or(1);
  const FigureTraits& traits = traits_of(figure);
  Scale scale = traits.unit == Unit::Plain
                    ? Scale{.unit = traits.plain}
                    : unit_for(traits.unit, middle, cli::printable(comparison.unit));
  double most = 0;
  for (const double mean : means) {
    most = std::max(most, std::abs(mean) * scale.factor);
  }
  scale.decimals = most < 1e5 ? 2 : 0;
  return scale;
}

std::string written(double value, const Scale& scale) {
  const double shown = value * scale.factor;
  const double least = std::pow(10, -scale.decimals) / 2;
  return shown != 0 && std::abs(shown) < least ? fmt::format("{:.1g}", shown)
                                               : fmt::format("{:.{}f}", shown, scale.decimals);
}

std::string written(const Estimate& estimate, const Scale& scale) {
  const std::string mean = written(estimate.mean, scale);
  return estimate.sd
             ? fmt::format("{} ± {:.{}f}", mean, *estimate.sd * scale.factor, scale.decimals)
             : mean;
}

std::string title_of_key(const std::string& key) {
  std::string title = cli::printable(key);
  std::ranges::replace(title, '_', ' ');
  return title.starts_with("gpus") ? "GPUs" + title.substr(4) : title;
}

std::string short_change(const Difference& difference) {
  return difference.change_percent
             ? change_text(*difference.change_percent) + judgement_of(difference)
             : "–";
}

std::string sentence_of(const Comparison& comparison, const Group& group) {
  const Difference& difference = *group.difference;
  const Group& baseline = comparison.groups[difference.baseline];
  const char* title = traits_of(comparison.metric).title;
  const std::string name = cli::printable(group.name);
  if (!difference.before || !difference.after || !difference.change_percent) {
    return fmt::format("{}: {}", name, difference.why_no_test);
  }
  const Scale scale = scale_of(comparison, comparison.metric);
  std::string text = fmt::format(
      "{}: {} {} {} instead of {} ({}), {}{}{}", name, title, written(*difference.after, scale),
      scale.unit, written(*difference.before, scale), cli::printable(baseline.name),
      change_text(*difference.change_percent), judgement_of(difference), ground_text(difference));
  if (!difference.why_no_test.empty()) {
    text += "; not tested: " + difference.why_no_test;
  }
  if (difference.is_beyond_noise && !difference.causes.empty()) {
    text += ": " + causes_text(difference.causes);
  }
  return text;
}

std::vector<std::string> differences_of(const Shown& shown) {
  const Comparison& comparison = shown.comparison;
  if (!shows(shown, kShowChange)) {
    return {};
  }
  std::vector<std::string> worse;
  std::vector<std::string> others;
  std::size_t noise = 0;
  for (const Group& group : comparison.groups) {
    if (!group.difference) {
      continue;
    }
    if (group.difference->is_beyond_noise) {
      const bool is_worse = group.difference->is_worse.value_or(false);
      (is_worse ? worse : others).push_back(sentence_of(comparison, group));
    } else {
      noise += group.difference->test ? 1 : 0;
    }
  }
  worse.insert(worse.end(), others.begin(), others.end());
  if (noise > 0) {
    worse.push_back(fmt::format("{} {} no more than noise", noise,
                                noise == 1 ? "row differs by" : "rows differ by"));
  }
  return worse;
}

std::vector<FactLines> facts_of(const Shown& shown) {
  constexpr std::size_t kMaxLines = 16;
  const Comparison& comparison = shown.comparison;
  std::vector<FactLines> all;
  for (const Group& group : comparison.groups) {
    if (!group.difference || group.difference->facts.empty()) {
      continue;
    }
    FactLines facts{.title = fmt::format("{} against {}", group.name,
                                         comparison.groups[group.difference->baseline].name)};
    const std::vector<FactChange>& changes = group.difference->facts;
    for (std::size_t at = 0; at < std::min(kMaxLines, changes.size()); ++at) {
      facts.lines.push_back(text_of(changes[at]));
    }
    if (changes.size() > kMaxLines) {
      facts.lines.push_back(fmt::format("and {} more; --json has all", changes.size() - kMaxLines));
    }
    const auto same = std::ranges::find(all, facts.lines, &FactLines::lines);
    if (same == all.end()) {
      all.push_back(std::move(facts));
    } else {
      same->title = group.name + ", " + same->title;
    }
  }
  return all;
}

std::vector<std::string> remarks_of(const Shown& shown) {
  const Comparison& comparison = shown.comparison;
  std::vector<std::string> remarks = comparison.remarks;
  if (comparison.is_of_probes) {
    const bool is_untested = std::ranges::any_of(comparison.groups, [](const Group& group) {
      return group.difference && group.difference->change_percent && !group.difference->test;
    });
    if (is_untested && shows(shown, kShowChange)) {
      remarks.emplace_back(
          "rows of one document each are not tested: one measurement does not say how they "
          "scatter; give several files of each, or what --repeat 5 printed");
    }
    return remarks;
  }
  const bool is_wanted = shows(shown, traits_of(Figure::SamplesPerS).key) ||
                         shows(shown, traits_of(Figure::ScalingFactor).key) ||
                         !shown.are_columns_asked;
  if (is_wanted && !is_known(comparison, Figure::SamplesPerS)) {
    remarks.emplace_back(
        "no sample throughput: use 'chokepoint run --samples-per-step N', or give --samples-label "
        "the label with the samples per step");
  } else if (is_wanted && !is_known(comparison, Figure::ScalingFactor)) {
    remarks.emplace_back(
        "no scaling factor: no run on one GPU is like these; --baseline names another row");
  }
  if (shows(shown, kShowChange) && is_by_steps(comparison)) {
    remarks.emplace_back(
        "rows of one run each are compared by their steps alone: variation between runs is not "
        "known; measure it with 'chokepoint run --repeat 5'");
  }
  return remarks;
}

}  // namespace chokepoint::analysis
