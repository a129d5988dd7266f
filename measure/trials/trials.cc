#include "measure/trials/trials.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <sstream>

#include "base/cli/output.h"
#include "base/history/place.h"
#include "base/json/codec.h"
#include "base/sys/process.h"
#include "base/sys/signals.h"

namespace chokepoint::trials {
namespace {

constexpr const char* kOwnProgram = "/proc/self/exe";
constexpr std::int64_t kDefaultRounds = 5;
constexpr std::int64_t kMostRoundsUntilSure = 30;
constexpr std::size_t kMostVariants = 16;
constexpr std::size_t kMostFailuresInARow = 3;
constexpr std::size_t kMostDocumentBytes = std::size_t{64} << 20;
constexpr auto kLongestTrial = std::chrono::hours(1);

// "cubic,bbr"; empty where it is no list.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    parts.push_back(word);
  }
  const bool is_list =
      parts.size() > 1 && !text.ends_with(',') && std::ranges::none_of(parts, &std::string::empty);
  return is_list ? parts : std::vector<std::string>();
}

// Takes its variants in another random order in each round.
class TrialRunner {
 public:
  TrialRunner(const cli::Context& context, Trials& trials, const sys::Signals& signals)
      : context_(context), trials_(trials), signals_(signals) {
    trials_.failed.resize(trials_.variants.size());
    trials_.host_facts.resize(trials_.variants.size());
    trials_.values.assign(trials_.variants.size(), std::vector<Values>(trials_.figures.size()));
  }

  Result<> run(std::size_t rounds, bool until_sure) {
    cli::Progress progress(context_, "trials", rounds * trials_.variants.size());
    std::mt19937 random{std::random_device{}()};
    std::vector<std::size_t> order(trials_.variants.size());
    std::ranges::generate(order, [next = std::size_t{0}]() mutable { return next++; });
    trials_.ended_by = End::Rounds;
    trials_.is_looked_at_often = until_sure;
    while (trials_.rounds < rounds) {
      std::ranges::shuffle(order, random);
      for (const std::size_t variant : order) {
        progress.update(done_++, trials_.variants[variant].label);
        TRY(const bool goes_on, run_one(variant));
        if (!goes_on) {
          return {};
        }
      }
      ++trials_.rounds;
      if (until_sure && is_sure()) {
        trials_.ended_by = End::Sure;
        return {};
      }
    }
    return {};
  }

 private:
  // False where it is to end now. An Error where a variant cannot be run at all.
  Result<bool> run_one(std::size_t variant) {
    if (const std::string& setup = trials_.variants[variant].setup; !setup.empty()) {
      const auto done =
          sys::capture_output({.command = {"sh", "-c", setup}}, kLongestTrial, kMostDocumentBytes);
      if (!done || done->status.code != 0) {
        return failed(variant, done ? done->err : describe(done.error()));
      }
    }
    std::vector<std::string> command = trials_.variants[variant].words;
    command.insert(command.begin(), kOwnProgram);
    command.insert(command.end(), {"--json", "--quiet"});
    const auto done =
        sys::capture_output({.command = std::move(command), .environment = environment_of(variant)},
                            kLongestTrial, kMostDocumentBytes, signals_.descriptor());
    if (sys::is_readable(signals_.descriptor())) {
      trials_.ended_by = End::Interrupted;
      return false;
    }
    const bool is_done = done && (done->status.code == 0 ||
                                  done->status.code == static_cast<int>(cli::ExitCode::Found));
    const cli::Json document = is_done ? cli::Json::parse(done->out, nullptr, false) : cli::Json();
    if (document.is_object()) {
      failures_in_a_row_ = 0;
      keep(variant, document);
      return true;
    }
    return failed(variant, done ? done->err : describe(done.error()));
  }

  // A trial of the command as it was given is remembered as any other test; of another variant, or
  // of a host that a setup has changed for a moment, it would be no one's past.
  std::vector<std::pair<std::string, std::string>> environment_of(std::size_t variant) const {
    if (variant == 0 && trials_.variants[variant].setup.empty()) {
      return {sys::tie_to_this_process()};
    }
    return {sys::tie_to_this_process(), history::nothing()};
  }

  void keep(std::size_t variant, const cli::Json& document) {
    const auto facts = json::field_in<documents::HostFacts>(document, "host_facts", "trial");
    trials_.host_facts[variant] = facts ? std::optional(*facts) : std::nullopt;
    for (std::size_t figure = 0; figure < trials_.figures.size(); ++figure) {
      trials_.values[variant][figure].push_back(
          documents::number_at(document, trials_.figures[figure].pointer));
    }
  }

  Result<bool> failed(std::size_t variant, std::string error) {
    constexpr std::string_view kOwnName = "chokepoint: ";
    while (error.ends_with('\n')) {
      error.pop_back();
    }
    error.erase(0, error.starts_with(kOwnName) ? kOwnName.size() : 0);
    if (trials_.rounds == 0) {
      return fail(ErrorKind::Io, "", trials_.variants[variant].label,
                  error.empty() ? "failed without a word" : error);
    }
    ++trials_.failed[variant];
    if (std::ranges::find(trials_.errors, error) == trials_.errors.end()) {
      trials_.errors.push_back(std::move(error));
    }
    if (++failures_in_a_row_ == kMostFailuresInARow) {
      trials_.ended_by = End::Failures;
      return false;
    }
    return true;
  }

  // Of each variant against the first, or of a single one its mean.
  bool is_sure() const {
    const std::optional<std::size_t> figure = deciding_figure(trials_);
    if (!figure || trials_.rounds < kFirstLook) {
      return false;
    }
    const Values& first = trials_.values.front()[*figure];
    if (trials_.variants.size() == 1) {
      const auto mean = estimate(first);
      return mean && mean->interval &&
             (mean->interval->high - mean->interval->low) / 2 <
                 kAlikePercent / 100 * std::abs(mean->mean);
    }
    const double alpha = alpha_of(trials_);
    return std::ranges::all_of(trials_.values.begin() + 1, trials_.values.end(),
                               [&](const std::vector<Values>& values) {
                                 const auto found = judge(first, values[*figure], alpha);
                                 return found && found->judged != Judged::Open;
                               });
  }

  const cli::Context& context_;
  Trials& trials_;
  const sys::Signals& signals_;
  std::uint64_t done_ = 0;
  std::size_t failures_in_a_row_ = 0;
};

class Repeatable final : public cli::Command {
 public:
  Repeatable(std::unique_ptr<cli::Command> command, std::vector<documents::Figure> figures)
      : command_(std::move(command)), figures_(std::move(figures)) {}

  cli::Summary summary() const override {
    cli::Summary summary = command_->summary();
    summary.description +=
        "\n\nWith --repeat it runs several times and shows the interval in which the mean of each "
        "figure lies. A list for one option compares its values, --against compares the command "
        "line with "
        "another one: in each round every variant runs once, in random order.";
    return summary;
  }

  void define(cli::Flags& flags) override {
    command_->define(flags);
    flags.intercept(
        [this](const cli::Flag& flag, const std::string& text) { return take_flag(flag, text); },
        [this](const cli::Positional& positional, const std::string& text) {
          words_.push_back(text);
          return positional.store(text);
        });
    flags.group("Several trials")
        .option("repeat", &rounds_, "N",
                "rounds; where variants are compared 5, with --until-sure at most 30", 1,
                kMostRounds)
        .option("against", &against_, "OPTIONS",
                "a variant with these options added to the command line")
        .option("setup", &setups_, "COMMAND",
                "a variant for which a shell does this before each trial")
        .toggle("until-sure", &until_sure_,
                "end as soon as variants differ or are alike within 2 %; 3 rounds at least");
  }

  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  static constexpr std::int64_t kMostRounds = 1000;

  Result<> take_flag(const cli::Flag& flag, const std::string& text);
  std::vector<Variant> variants() const;

  std::unique_ptr<cli::Command> command_;
  std::vector<documents::Figure> figures_;
  std::int64_t rounds_ = 0;
  std::vector<std::string> against_;
  std::vector<std::string> setups_;
  bool until_sure_ = false;
  std::vector<std::string> words_;         // that give the command line again, without the list
  std::string varied_;                     // the option that has a list, "--streams"
  std::vector<std::string> alternatives_;  // its values
};

// A list is what no value of the option can be; of names, which any text can be, what has a comma.
Result<> Repeatable::take_flag(const cli::Flag& flag, const std::string& text) {
  const std::string name = "--" + flag.name;
  const std::vector<std::string> parts = parts_of(text);
  const bool is_name = flag.name == "congestion" || flag.name == "interface";
  const Result<> stored = flag.store(text);
  if (flag.value.empty() || flag.repeats || parts.empty() || (stored && !is_name)) {
    words_.push_back(flag.value.empty() ? name : name + "=" + text);
    return stored;
  }
  if (!varied_.empty()) {
    return fail(ErrorKind::Usage, "", text, fmt::format("{} has a list already", varied_),
                "one option at a time");
  }
  for (const std::string& part : parts) {
    TRY(flag.store(part));
  }
  varied_ = name;
  alternatives_ = parts;
  return flag.store(parts.front());
}

std::vector<Variant> Repeatable::variants() const {
  std::vector<Variant> variants;
  std::vector<std::string> base;
  std::istringstream name(command_->summary().name);
  for (std::string word; name >> word;) {
    base.push_back(word);
  }
  base.insert(base.end(), words_.begin(), words_.end());
  for (const std::string& value : alternatives_) {
    variants.push_back({value, base});
    variants.back().words.push_back(varied_ + "=" + value);
  }
  for (const std::string& setup : setups_) {
    variants.push_back({.label = setup, .words = base, .setup = setup});
  }
  if (variants.empty()) {
    variants.push_back({"as given", base});
  }
  const Variant first = variants.front();
  for (const std::string& options : against_) {
    variants.push_back({options, first.words});
    std::istringstream words(options);
    for (std::string word; words >> word;) {
      variants.back().words.push_back(word);
    }
  }
  return variants;
}

Result<cli::ExitCode> Repeatable::run(cli::Context& context) {
  const bool is_compared = !alternatives_.empty() || !against_.empty() || !setups_.empty();
  if (!setups_.empty() && (!alternatives_.empty() || !against_.empty())) {
    return fail(ErrorKind::Usage, "", "--setup", "goes with no other variants",
                "give several --setup, one for each variant");
  }
  if (rounds_ == 0 && !is_compared && !until_sure_) {
    return command_->run(context);
  }
  Trials trials{.command = command_->summary().name,
                .varied = !alternatives_.empty() ? varied_ : "",
                .figures = figures_,
                .variants = variants()};
  if (trials.variants.size() > kMostVariants) {
    return fail(ErrorKind::Usage, "", varied_,
                fmt::format("{} variants are more than {}", trials.variants.size(), kMostVariants),
                "give fewer values");
  }
  for (const std::string& word : words_) {
    trials.command += " " + word;
  }
  const std::int64_t rounds = rounds_ > 0   ? rounds_
                              : until_sure_ ? kMostRoundsUntilSure
                                            : kDefaultRounds;
  TRY(const sys::Signals signals, sys::Signals::watch({SIGINT, SIGTERM}));
  TRY(TrialRunner(context, trials, signals).run(static_cast<std::size_t>(rounds), until_sure_));
  if (context.json) {
    cli::Json document = cli::document(context, Fields<documents::Trials>::kSchema);
    document.update(json::to_json(document_of(trials)));
    cli::print(context, document);
  } else {
    print_page(context, trials);
  }
  return trials.ended_by == End::Interrupted ? cli::ExitCode::Interrupted
         : trials.ended_by == End::Failures  ? cli::ExitCode::Failed
                                             : cli::ExitCode::Done;
}

}  // namespace

cli::CommandFactory repeatable(const cli::CommandFactory& command,
                               std::vector<documents::Figure> figures) {
  return [command, figures = std::move(figures)] {
    return std::make_unique<Repeatable>(command(), figures);
  };
}

}  // namespace chokepoint::trials
