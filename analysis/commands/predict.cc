#include "analysis/commands/predict.h"

#include <array>

#include "analysis/commands/predict_assumptions.h"
#include "analysis/commands/run_profile.h"

namespace chokepoint::analysis {
namespace {

struct UsualLink {
  const char* name;
  double mbps;
};
constexpr std::array kUsualLinks{UsualLink{"1 GbE", 1e3},     UsualLink{"5 GbE", 5e3},
                                 UsualLink{"10 GbE", 10e3},   UsualLink{"25 GbE", 25e3},
                                 UsualLink{"100 GbE", 100e3}, UsualLink{"400 GbE", 400e3}};

Alternative alternative(const Predicted& predicted, std::string name, double mbps) {
  Target target = predicted.target;
  target.path.rate_mbps = mbps;
  target.curve.reset();  // it was measured on another link
  return {
      .name = std::move(name), .link_mbps = mbps, .prediction = predict(predicted.profile, target)};
}

void add_alternatives(Predicted& predicted, const Money& money) {
  for (const UsualLink& link : kUsualLinks) {
    if (link.mbps != predicted.target.path.rate_mbps) {
      predicted.alternatives.push_back(alternative(predicted, link.name, link.mbps));
    }
  }
  for (const Upgrade& upgrade : money.upgrades) {
    Alternative row = alternative(predicted, upgrade.name, upgrade.rate.bits_per_second / 1e6);
    row.upgrade = upgrade;
    if (predicted.prediction.total_s && row.prediction.total_s) {
      row.gain = gain_of(upgrade, *predicted.prediction.total_s, *row.prediction.total_s,
                         money.runs, money.hour_price);
    }
    predicted.alternatives.push_back(std::move(row));
  }
}

bool has_figures(const PredictFlags& told) {
  return !told.parameters.empty() || told.single_time.count() > 0 || told.compute.count() > 0 ||
         told.measured_time.count() > 0 || !told.hidden.empty();
}

}  // namespace

cli::Summary PredictCommand::summary() const {
  return {
      .name = "predict",
      .purpose = "what would a step take on another network?",
      .description =
          "Says what a training step would take over another link, round trip, loss or number "
          "of ranks, from a run that was watched (--from) or from figures alone: how large the "
          "model is, how long it computes, and over what it communicates. It gives a range, "
          "and what it assumed where nobody told it.\n\n"
          "With --upgrade it compares links that cost money: the time that each saves a run, "
          "and what a saved hour costs.",
      .examples = {{"chokepoint predict --parameters 708M --type bf16 --ranks 2 --steps 1108 "
                    "--single-time 498.37 --link 25GB/s",
                    "data parallel over a fast link"},
                   {"chokepoint predict --from runs/a --link 10G --rtt 0.1ms --nodes 4",
                    "a run, on another network and more nodes"},
                   {"chokepoint predict --parallelism pp --hidden 768 --batch 16 --sequence 1024 "
                    "--micro-batches 8 --ranks 2 --compute 277ms --type fp16 --link 1G",
                    "a pipeline over Ethernet"},
                   {"chokepoint predict --parameters 60.2M --ranks 4 --nodes 3 --steps 164 "
                    "--single-time 180.45 --measured-time 547.88 --upgrade 5GbE=41000 --runs 100",
                    "what link explains a measured time, and what a better one is worth"}}};
}

void PredictCommand::define(cli::Flags& flags) { analysis::define(flags, told_); }

Result<JobProfile> PredictCommand::profile(Target& target) const {
  if (!told_.from.empty()) {
    if (has_figures(told_)) {
      return fail(ErrorKind::Usage, "", "--from", "the run tells the job already",
                  "leave out the job's figures, or --from");
    }
    Result<JobProfile> profile = profile_of_run(told_.from);
    if (!profile) return profile;
    TRY(spread(target, told_, *profile));
    return profile;
  }
  const Result<Figures> figures = figures_of(told_);
  if (!figures) return std::unexpected(figures.error());
  Result<JobProfile> profile = profile_from(*figures);
  if (profile && profile->step_ms > 0 && profile->exposed_ms < 0) {
    return fail(ErrorKind::Usage, "", "--measured-time", "is less than computing alone takes",
                "check --single-time, --ranks and --steps");
  }
  return profile;
}

// Where the link is not told, a measured time tells it.
Result<> PredictCommand::choose_link(JobProfile& profile, Predicted& predicted) const {
  std::optional<double>& rate_mbps = predicted.target.path.rate_mbps;
  if (profile.step_ms > 0 && told_.from.empty()) {
    predicted.explaining_mbps = rate_that_explains(profile, predicted.target, profile.step_ms);
    rate_mbps = rate_mbps ? rate_mbps : predicted.explaining_mbps;
    profile.path = predicted.target.path;
  }
  // A measured all-reduce says nothing of what a pipeline sends.
  const bool has_curve = predicted.target.curve && !profile.pipeline;
  if (rate_mbps || profile.path.rate_mbps || has_curve) {
    return {};
  }
  return fail(ErrorKind::Usage, "", "--link", "how fast the network is, is not known",
              "give --link RATE like 10G, or --curve FILE");
}

Result<cli::ExitCode> PredictCommand::run(cli::Context& context) {
  const Result<Money> money = money_of(told_);
  if (!money) return std::unexpected(money.error());
  Result<Target> target = target_of(told_);
  if (!target) return std::unexpected(target.error());
  Result<JobProfile> job = profile(*target);
  if (!job) return std::unexpected(job.error());
  Predicted predicted{.target = std::move(*target)};
  TRY(choose_link(*job, predicted));
  predicted.profile = std::move(*job);
  predicted.prediction = predict(predicted.profile, predicted.target);
  predicted.sent_bytes =
      sent_bytes(predicted.profile, predicted.target.ranks.value_or(predicted.profile.ranks));
  predicted.assumptions = assumptions_of(predicted.profile, predicted.target, predicted.prediction);
  add_alternatives(predicted, *money);
  if (context.json) {
    cli::print(context, document_of(context, told_, predicted));
  } else {
    print_page(context, predicted);
  }
  return cli::ExitCode::Done;
}

}  // namespace chokepoint::analysis
