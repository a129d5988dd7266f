#include "analysis/commands/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "analysis/attribution/profile.h"
#include "analysis/commands/commands.h"
#include "analysis/commands/run_files.h"

namespace chokepoint::analysis {
namespace {

std::string of_network(const JobProfile& profile, const Target& target,
                       const Prediction& prediction) {
  if (target.curve) {
    return "all-reduce takes what --curve says; the other rows are of the links' rates";
  }
  if (prediction.limited_by == "throughput") {
    return "one connection goes on to carry what was measured; the other rows are of the links' "
           "rates";
  }
  const std::string rate = math::format_rate(prediction.rate_mbps * 1e6);
  if (prediction.transport == Transport::Rdma) {
    return fmt::format(
        "{} of payload: 46.5 % of an RDMA link's rate, as NCCL reached between two A100 over HDR "
        "(docs/guide/predict.md, case 1); --curve uses your own measurement",
        rate);
  }
  if (prediction.limited_by == "window" && !target.path.window_bytes) {
    return "at most 3 MB in flight per socket, the default of Linux (--buffer)";
  }
  if (prediction.limited_by == "library") {
    return fmt::format(
        "{} of payload: what {} reached over TCP between two hosts, however fast the link "
        "(docs/guide/predict.md, case 1); --curve uses your own measurement",
        rate, profile.backend == "gloo" ? "Gloo" : "NCCL");
  }
  return "TCP in frames of 1500 bytes: 94 % of the link's rate is payload";
}

// What --curve leaves open of the sizes that the job exchanges.
Result<std::vector<std::string>> judge_curve_of(const JobProfile& profile, const Target& target) {
  if (!target.curve) return std::vector<std::string>();
  const std::int64_t ranks = target.ranks.value_or(profile.ranks);
  const auto exchanges = exchanges_of(profile, static_cast<double>(ranks));
  if (exchanges.empty()) return std::vector<std::string>();
  const auto [least, most] = std::ranges::minmax(exchanges, {}, &PlannedExchange::bytes);
  TRY(std::vector<std::string> lines, judge_curve(*target.curve, least.bytes, most.bytes));
  if (target.curve->ranks > 0 && target.curve->ranks != ranks) {
    lines.push_back(
        fmt::format("--curve was measured by {} ranks: its times are scaled by what a "
                    "ring of {} sends",
                    target.curve->ranks, ranks));
  }
  return lines;
}

// What the prediction assumes because the user did not give it, a line each.
std::vector<std::string> assumptions_of(const JobProfile& profile, const Target& target,
                                        const Prediction& prediction) {
  std::vector<std::string> lines;
  const bool is_of_run = profile.step_ms > 0 && profile.is_library_measured;
  if (!is_of_run) {
    if (profile.calls) {
      if (profile.calls->at_once == 1) {
        lines.emplace_back(
            "the caller computes nothing, and waits for each answer before the next call "
            "(--at-once)");
      }
    } else if (profile.overlap == 0) {
      lines.emplace_back(
          "computing hides no communication; the lower bound assumes that it does (--overlap)");
    }
    lines.push_back(of_network(profile, target, prediction));
    if (!target.path.rtt_ms && !target.curve) {
      lines.emplace_back("the round trip of a quiet local network (--rtt)");
    }
    if (profile.single_total_s) {
      const std::int64_t computing = profile.calls ? profile.ranks - 1 : profile.ranks;
      if (computing > 1) {
        lines.push_back(
            fmt::format("computing takes 1/{} of the time on one processor", computing));
      }
    }
  } else if (target.ranks && *target.ranks != profile.ranks) {
    lines.emplace_back("each rank computes per step as much as in the run");
  }
  if (profile.step_ms > 0 && !profile.path.rate_mbps && !profile.path.payload_mbps) {
    lines.emplace_back(
        "the rate of the run's own link is not in its record: the models alone say what "
        "communication takes");
  }
  return lines;
}

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
  target.path.payload_mbps.reset();
  target.back_mbps.reset();
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

class PredictCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<JobProfile> profile(Target& target) const;
  Result<> choose_link(Predicted& predicted) const;

  PredictFlags flags_;
};

cli::Summary PredictCommand::summary() const {
  return {
      .name = "predict",
      .purpose = "predicts the step time on another network",
      .description =
          "Predicts how long a training step takes with another link, round trip, loss or number "
          "of ranks, from a recorded run (--from) or from figures alone: the model's size, its "
          "computing time, and the network. It gives a range, and lists its assumptions about "
          "everything that was not given.\n\n"
          "With --upgrade it compares links by price: the time that each saves per run, and the "
          "cost of a saved hour.",
      .examples = {
          {"chokepoint predict --parameters 708M --type bf16 --ranks 2 --steps 1108 "
           "--single-time 498.37 --link 25GB/s",
           "data parallel over a fast link"},
          {"chokepoint predict --from runs/a --link 10G --rtt 0.1ms --nodes 4",
           "a run, on another network and more nodes"},
          {"chokepoint predict --parallelism pp --hidden 768 --batch 16 --sequence 1024 "
           "--micro-batches 8 --ranks 2 --compute 277ms --type fp16 --link 1G",
           "a pipeline over Ethernet"},
          {"chokepoint predict --parallelism rpc --request 1.5M --compute 120ms --throughput "
           "2.7G --rtt 15ms",
           "batches sent to a worker elsewhere, by remote calls"},
          {"chokepoint predict --parameters 60.2M --ranks 4 --nodes 3 --steps 164 "
           "--single-time 180.45 --measured-time 547.88 --upgrade 5GbE=41000 --runs 100",
           "which link explains a measured time, and what a faster one is worth"}}};
}

void PredictCommand::define(cli::Flags& flags) { analysis::define(flags, flags_); }

Result<JobProfile> PredictCommand::profile(Target& target) const {
  if (!flags_.from.empty()) {
    TRY(refuse_figures(flags_));
    TRY(record::Run run, records_of(flags_.from));
    const RunData data = load_run(run);
    Result<JobProfile> profile = profile_of(data);
    if (profile) {
      TRY(change(target, flags_, *profile, data.nodes.front().labels));
    }
    return profile;
  }
  TRY(const Figures figures, figures_of(flags_));
  Result<JobProfile> profile = profile_from(figures);
  if (profile && profile->step_ms > 0 && profile->exposed_ms < 0) {
    return fail(ErrorKind::Usage, "", "--measured-time", "is less than computing alone takes",
                "check --single-time, --ranks and --steps");
  }
  return profile;
}

// Without --link, takes the link that explains the measured time.
Result<> PredictCommand::choose_link(Predicted& predicted) const {
  JobProfile& profile = predicted.profile;
  std::optional<double>& rate_mbps = predicted.target.path.rate_mbps;
  if (profile.step_ms > 0 && flags_.from.empty()) {
    predicted.explaining_mbps = rate_that_explains(profile, predicted.target, profile.step_ms);
    rate_mbps = rate_mbps ? rate_mbps : predicted.explaining_mbps;
    profile.path = predicted.target.path;
  }
  // A measured all-reduce says nothing of what a pipeline sends.
  const bool has_curve = predicted.target.curve && !profile.pipeline && !profile.calls;
  if (rate_mbps || predicted.target.path.payload_mbps || profile.path.rate_mbps || has_curve) {
    return {};
  }
  return fail(ErrorKind::Usage, "", "--link", "the speed of the network is not known",
              "give --link RATE like 10G, or --curve FILE");
}

Result<cli::ExitCode> PredictCommand::run(cli::Context& context) {
  TRY(const Money money, money_of(flags_));
  Predicted predicted;
  TRY(predicted.target, target_of(flags_));
  TRY(predicted.profile, profile(predicted.target));
  TRY(choose_link(predicted));
  TRY(const std::vector<std::string> of_curve, judge_curve_of(predicted.job(), predicted.target));
  predicted.prediction = predict(predicted.profile, predicted.target);
  predicted.sent_bytes =
      sent_bytes(predicted.job(), predicted.target.ranks.value_or(predicted.profile.ranks));
  predicted.assumptions = assumptions_of(predicted.job(), predicted.target, predicted.prediction);
  std::ranges::copy(of_curve, std::back_inserter(predicted.assumptions));
  add_alternatives(predicted, money);
  if (context.json) {
    cli::print(context, document_of(context, flags_, predicted));
  } else {
    print_page(context, predicted);
  }
  return cli::ExitCode::Done;
}

}  // namespace

cli::CommandFactory predict_command() { return cli::command<PredictCommand>(); }

}  // namespace chokepoint::analysis
