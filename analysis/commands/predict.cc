#include "analysis/commands/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "analysis/commands/commands.h"
#include "analysis/commands/predict_document.h"
#include "analysis/predict/grid.h"
#include "analysis/predict/outer_steps.h"
#include "base/json/codec.h"

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
  if (prediction.limited_by == "intra-link") {
    return fmt::format(
        "{} of payload: 80 % of the link inside a host, what NCCL counts on of an NVLink "
        "(docs/guide/predict.md); --curve uses your own measurement",
        rate);
  }
  if (prediction.transport == Transport::Rdma) {
    return fmt::format(
        "{} of payload: 46.5 % of an RDMA link's rate, as NCCL reached between two A100 over HDR "
        "(docs/guide/predict.md, case 1); --curve uses your own measurement",
        rate);
  }
  if (prediction.limited_by == "window" && !target.path.window_bytes) {
    return "at most 3 MB in flight per socket, the default of Linux (--window)";
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

// Of a grid: how its ranks stand, and what would wait for the network without need.
void add_of_grid(std::vector<std::string>& lines, const JobProfile& profile) {
  if (!profile.grid) return;
  const auto layers =
      std::ranges::find(profile.exchanges, Parallelism::Tensor, &PlannedExchange::of);
  if (layers != profile.exchanges.end() && layers->at->hosts > 1) {
    lines.push_back(fmt::format(
        "warning: tp={} crosses the network, since its ranks are on {:g} hosts: four all-reduces a "
        "layer and micro-batch wait for it",
        profile.grid->tensor, layers->at->hosts));
  }
  lines.emplace_back(
      "ranks of a tensor-parallel group are neighbours, then come the copies, then the stages, as "
      "Megatron-LM counts them");
  if (profile.grid->pipeline > 1 && profile.grid->tensor > 1) {
    lines.emplace_back(
        "each rank sends whole activations to the next stage (no sequence parallelism)");
  }
}

// Of what TCP alone does with loss and windows.
void add_of_loss(std::vector<std::string>& lines, const JobProfile& profile, const Target& target,
                 const Prediction& prediction) {
  const bool loses_less = profile.path.loss.value_or(0) > target.path.loss.value_or(1);
  if (loses_less && profile.path.rate_mbps && !target.path.rate_mbps &&
      !profile.path.payload_mbps) {
    lines.push_back(fmt::format(
        "with less loss the path carries up to {}, the card's rate or what was seen of it "
        "(--link)",
        math::format_rate(*profile.path.rate_mbps * 1e6)));
  }
  const bool has_tcp_flags = target.path.loss || target.path.window_bytes;
  if (has_tcp_flags && prediction.transport == Transport::Rdma) {
    lines.emplace_back(
        "--loss and --window are of TCP: RDMA is predicted without them (--transport tcp)");
  } else if (has_tcp_flags && prediction.limited_by == "throughput") {
    lines.emplace_back(
        "what --loss and --window do is in --throughput already; the other rows "
        "are with them");
  }
}

// What the prediction assumes because the user did not give it, a line each.
std::vector<std::string> assumptions_of(const JobProfile& profile, const Target& target,
                                        const Prediction& prediction) {
  std::vector<std::string> lines;
  add_of_grid(lines, profile);
  if (prediction.models_step_ms) {
    lines.push_back(
        fmt::format("the run, replayed with this change alone; the models without it say {}",
                    math::format_ms(*prediction.models_step_ms)));
  }
  add_of_loss(lines, profile, target, prediction);
  const bool is_of_run = profile.step_ms > 0 && profile.is_library_measured;
  if (!is_of_run) {
    if (profile.calls) {
      if (profile.calls->at_once == 1) {
        lines.emplace_back(
            "the caller computes nothing, and waits for each answer before the next call "
            "(--outstanding)");
      }
    } else if (profile.outer) {
      lines.emplace_back("what an outer optimizer computes after an exchange takes no time");
    } else if (profile.overlap == 0) {
      lines.emplace_back(
          "computing hides no communication; the lower bound assumes that it does (--overlap)");
    }
    lines.push_back(of_network(profile, target, prediction));
    const bool has_network = ranks_of(profile, target).hosts() > 1 || !target.inside_mbps;
    if (has_network && !target.path.rtt_ms && !target.curve) {
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

struct MemoryKind {
  const char* name;
  int zero_stage;
};
constexpr std::array kMemoryKinds{MemoryKind{"dp", 0},    MemoryKind{"zero1", 1},
                                  MemoryKind{"zero2", 2}, MemoryKind{"zero3", 3},
                                  MemoryKind{"tp", 0},    MemoryKind{"pp", 0}};

struct UsualLink {
  const char* name;
  double mbps;
};
constexpr std::array kUsualLinks{UsualLink{"1 GbE", 1e3},     UsualLink{"5 GbE", 5e3},
                                 UsualLink{"10 GbE", 10e3},   UsualLink{"25 GbE", 25e3},
                                 UsualLink{"100 GbE", 100e3}, UsualLink{"400 GbE", 400e3}};

// By the replayed run where there is one, else by the models alone.
Prediction predict_on(const Predicted& predicted, const Target& target) {
  Prediction prediction = predict(predicted.profile, target);
  if (!predicted.replay) return prediction;
  ReplayChange change = predicted.change;
  change.path = target.path;
  const std::optional<double> step_ms = predicted.replay->step_ms(change);
  if (!step_ms) return prediction;
  change.late_times = 1;
  return replayed(std::move(prediction), predicted.profile, *step_ms,
                  predicted.replay->step_ms(change).value_or(*step_ms) - *step_ms);
}

Alternative alternative(const Predicted& predicted, std::string name, double mbps,
                        std::optional<double> nics = {}) {
  Target target = predicted.target;
  target.path.rate_mbps = mbps;
  target.nics = nics.value_or(target.nics);
  target.path.payload_mbps.reset();
  target.back_mbps.reset();
  target.curve.reset();  // it was measured on another link
  return {.name = std::move(name), .link_mbps = mbps, .prediction = predict_on(predicted, target)};
}

bool is_inside_one_host(const Predicted& predicted) {
  return predicted.ranks().hosts() <= 1 && predicted.target.inside_mbps;
}

// What --intra-link and --nics need to mean something.
Result<> check_tiers(const Predicted& predicted) {
  const Target& target = predicted.target;
  const Ranks ranks = predicted.ranks();
  const JobProfile& job = predicted.job();
  if (job.backend == "gloo" && target.algorithm != Algorithm::Ring) {
    return fail(ErrorKind::Usage, "", "--algorithm", "is of NCCL: Gloo has a ring",
                "leave it out, or give --backend nccl");
  }
  if (job.backend == "gloo" && target.transport == Transport::Rdma) {
    return fail(ErrorKind::Usage, "", "--transport", "PyTorch's Gloo goes by TCP alone",
                "leave it out, or give --backend nccl");
  }
  if (target.inside_mbps && (ranks.each() <= 1 || job.calls)) {
    return fail(ErrorKind::Usage, "", "--intra-link", "each host has one rank, or calls another",
                "say how many hosts there are, like --ranks 4 --nodes 2");
  }
  if (job.grid && target.curve) {
    return fail(ErrorKind::Usage, "", "--curve",
                "was measured of one group of ranks, and a grid has several kinds",
                "give --link, and --rtt");
  }
  if (job.grid && ranks.each() > 1 && !target.inside_mbps) {
    return fail(ErrorKind::Usage, "", "--intra-link",
                "what ranks of a host pass each other by is not known",
                "give it, like 32GB/s for PCIe 4.0 x16; 'chokepoint probe pcie' measures it");
  }
  if (predicted.ring && ranks.hosts() != static_cast<double>(predicted.ring->sites.size())) {
    return fail(ErrorKind::Usage, "", "--between",
                fmt::format("names {} sites, and the ranks are on {:.0f} hosts",
                            predicted.ring->sites.size(), ranks.hosts()),
                "name as many sites, or give --ranks and --nodes");
  }
  if (target.nics <= 1) return {};
  if (job.backend != "nccl") {
    return fail(ErrorKind::Usage, "", "--nics", "only NCCL spreads a collective over several NICs",
                "leave it out");
  }
  if (ranks.each() > 1 && !target.inside_mbps) {
    return fail(
        ErrorKind::Usage, "", "--nics", "what ranks of a host pass each other by is unknown",
        "give --intra-link RATE, too, like 32GB/s for PCIe 4.0 x16; 'chokepoint probe pcie' "
        "measures it");
  }
  return {};
}

// All ranks in one group of its kind. Micro-batches follow one another in a grid.
Grid grid_of(const Figures& figures) {
  switch (figures.parallelism) {
    case Parallelism::Tensor:
      return {.tensor = figures.ranks};
    case Parallelism::Pipeline:
      return {.pipeline = figures.ranks};
    default:
      return {.data = figures.ranks, .zero_stage = figures.zero_stage};
  }
}

// With a limit: what a rank would keep if the job were spread otherwise.
Result<> add_memory(Predicted& predicted, const PredictFlags& given) {
  if (!given.from.empty()) return {};
  TRY(const Figures figures, figures_of(given));
  MemoryQuestion question{
      .figures = figures, .optimizer = optimizer_of(given), .is_recomputed = given.is_recomputed};
  predicted.memory = memory_of(question);
  if (given.gpu_memory.count == 0) return {};
  if (!predicted.memory) {
    return fail(ErrorKind::Usage, "", "--gpu-memory", "the model's size is not known",
                "give --parameters, or --layers and --hidden");
  }
  predicted.memory_limit_bytes = static_cast<double>(given.gpu_memory.count);
  if (figures.ranks <= 1) return {};
  if (figures.grid) {
    predicted.memory_ways.push_back({.name = name_of(*figures.grid), .memory = *predicted.memory});
  }
  for (const MemoryKind& kind : kMemoryKinds) {
    question.figures.parallelism = parallelism_named(kind.name);
    question.figures.zero_stage = kind.zero_stage;
    if (figures.grid) question.figures.grid = grid_of(question.figures);
    if (const auto memory = memory_of(question)) {
      predicted.memory_ways.push_back({.name = kind.name, .memory = *memory});
    }
  }
  return {};
}

// How seldom ranks must exchange for --utilisation; without --outer-every they are to.
Result<> choose_outer_steps(Predicted& predicted, const PredictFlags& given) {
  TRY(const std::optional<double> utilisation, utilisation_of(given));
  if (!utilisation) return {};
  JobProfile& job = predicted.target.job ? *predicted.target.job : predicted.profile;
  const OuterTimes times = times_of(*job.outer, predict_on(predicted, predicted.target));
  predicted.least_every = least_every(*job.outer, times, *utilisation);
  if (given.outer_every.empty()) {
    exchange_seldom(job, job.exchanges.front().bytes,
                    {.every = *predicted.least_every, .beside_steps = job.outer->beside_steps});
  }
  return {};
}

// And what it assumes.
Result<> add_prediction(Predicted& predicted, const PredictFlags& given) {
  TRY(choose_outer_steps(predicted, given));
  TRY(const std::vector<std::string> of_curve, judge_curve_of(predicted.job(), predicted.target));
  predicted.prediction = predict_on(predicted, predicted.target);
  predicted.sent = load_of(predicted.job(), predicted.target.algorithm, predicted.ranks());
  predicted.assumptions = assumptions_of(predicted.job(), predicted.target, predicted.prediction);
  std::ranges::copy(of_curve, std::back_inserter(predicted.assumptions));
  return {};
}

// What an upgrade is worth needs a network to be upgraded, and a run's length.
Result<> check_upgrades(const Predicted& predicted, const Money& money) {
  if (money.upgrades.empty()) return {};
  if (is_inside_one_host(predicted)) {
    return fail(ErrorKind::Usage, "", "--upgrade", "all ranks are on one host",
                "say on how many they are, like --nodes 2");
  }
  if (!predicted.prediction.total_s) {
    return fail(ErrorKind::Usage, "", "--upgrade", "how many steps a run has is not known",
                "give --steps N, too");
  }
  return {};
}

// What the order of sites is worth.
void add_orders(Predicted& predicted, const PredictFlags& given) {
  if (!predicted.ring) return;
  const Ring& best = predicted.ring->best;
  const auto add = [&](const char* name, const Ring& ring) {
    if (ring.slowest_mbps == best.slowest_mbps && ring.rtt_ms == best.rtt_ms) return;
    Target target = predicted.target;
    target.path.rate_mbps = ring.slowest_mbps;
    if (given.rtt.empty() && ring.rtt_ms > 0) target.path.rtt_ms = ring.rtt_ms;
    predicted.alternatives.push_back({.name = name,
                                      .link_mbps = ring.slowest_mbps,
                                      .prediction = predict_on(predicted, target)});
  };
  if (predicted.ring->given) add("order as named", *predicted.ring->given);
  add("worst order", predicted.ring->worst);
}

// Nothing of a job that no network would make faster.
void add_alternatives(Predicted& predicted, const Money& money, const PredictFlags& given) {
  if (is_inside_one_host(predicted)) return;
  add_orders(predicted, given);
  for (const UsualLink& link : kUsualLinks) {
    if (link.mbps != predicted.target.path.rate_mbps) {
      predicted.alternatives.push_back(alternative(predicted, link.name, link.mbps));
    }
  }
  for (const Upgrade& upgrade : money.upgrades) {
    Alternative row =
        alternative(predicted, upgrade.name, upgrade.rate.bits_per_second / 1e6, upgrade.nics);
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
  Result<> take_network(Predicted& predicted) const;
  Result<> take_run(Predicted& predicted) const;
  Result<> check_rank_order(const Predicted& predicted) const;
  Result<> take_figures(Predicted& predicted) const;
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
          "cost of a saved hour. With --gpu-memory it says whether the job fits into a GPU, and "
          "with --check how accurate predictions of recorded runs are.",
      .examples = {
          {"chokepoint predict --parameters 708M --type bf16 --ranks 2 --steps 1108 "
           "--single-time 498.37 --link 25GB/s",
           "data parallel over a fast link"},
          {"chokepoint predict --from runs/a --link 10G --rtt 0.1ms --nodes 4",
           "a run, on another network and more nodes"},
          {"chokepoint predict --from runs/a --late 0", "the same run, if no rank were late"},
          {"chokepoint predict --from runs/a --rank-order 0,2,1,3",
           "with ranks 1 and 2 in each other's place"},
          {"chokepoint predict --parallelism pp --hidden 768 --batch 16 --sequence 1024 "
           "--micro-batches 8 --ranks 2 --compute 277ms --type float16 --link 1G",
           "a pipeline over Ethernet"},
          {"chokepoint predict --parallelism tp=4,dp=2,pp=2 --nodes 4 --parameters 7B --layers 32 "
           "--hidden 4096 --batch 8 --sequence 4096 --micro-batches 8 --type bf16 --compute 3s "
           "--intra-link 300GB/s --link 200G",
           "several kinds at once, tensor parallelism inside each host"},
          {"chokepoint predict --parallelism rpc --request 1.5M --compute 120ms --throughput "
           "2.7G --rtt 15ms",
           "batches sent to a worker elsewhere, by remote calls"},
          {"chokepoint predict --parameters 60.2M --ranks 4 --nodes 3 --steps 164 "
           "--single-time 180.45 --measured-time 547.88 --upgrade 5GbE=41000 --runs 100",
           "which link explains a measured time, and what a faster one is worth"},
          {"chokepoint predict --parameters 124M --ranks 4 --nodes 2 --compute 554ms --link 1G "
           "--intra-link 32GB/s --nics 2",
           "two hosts of two GPUs on PCIe, with a NIC for each GPU"},
          {"chokepoint predict --parameters 10B --ranks 14 --compute 22.8s --link 200M "
           "--outer-type int8 --utilisation 90%",
           "how seldom sites must exchange parameters"},
          {"chokepoint predict --parameters 1B --outer-every 100 --compute 2s --between a,b=1G "
           "--between b,c=200M/30ms --between a,c=500M/10ms",
           "three sites, in the order in which their ring is fastest"},
          {"chokepoint predict --check runs/a runs/b", "predicted beside measured, of two runs"}}};
}

void PredictCommand::define(cli::Flags& flags) { analysis::define(flags, flags_); }

Result<> PredictCommand::take_network(Predicted& predicted) const {
  TRY(predicted.target, target_of(flags_));
  TRY(predicted.ring, ring_of(flags_, predicted.target));
  return {};
}

Result<> PredictCommand::take_run(Predicted& predicted) const {
  TRY(refuse_figures(flags_));
  TRY(const auto change_of_run, replay_change_of(flags_, predicted.target));
  TRY(RecordedJob job, recorded_job(flags_.from));
  TRY(change(predicted.target, flags_, job.profile, job.labels));
  predicted.profile = std::move(job.profile);
  if (change_of_run) {
    predicted.change = *change_of_run;
    predicted.replay = std::move(job.replay);
  }
  if (!flags_.late.empty() && !predicted.replay) {
    return fail(ErrorKind::NotFound, "--late", flags_.from,
                "the record does not show when each rank came to what it exchanged",
                "record with Gloo's messages or NCCL's plugin: see docs/guide/run.md");
  }
  return check_rank_order(predicted);
}

Result<> PredictCommand::check_rank_order(const Predicted& predicted) const {
  const std::size_t count = predicted.change.rank_order.size();
  if (count == 0) return {};
  if (static_cast<std::int64_t>(count) != predicted.profile.ranks) {
    return fail(ErrorKind::Usage, "--rank-order", flags_.rank_order,
                fmt::format("names {} ranks, the run has {}", count, predicted.profile.ranks),
                "name each once");
  }
  if (!predicted.replay ||
      !predicted.replay->step_ms({.rank_order = predicted.change.rank_order})) {
    return fail(ErrorKind::NotFound, "--rank-order", flags_.from,
                "the record does not show which rank was where, or a group of ranks would leave "
                "the network or come on it",
                "record several ranks on each host, and keep groups that cross hosts");
  }
  return {};
}

Result<> PredictCommand::take_figures(Predicted& predicted) const {
  TRY(replay_change_of(flags_, predicted.target));
  TRY(Figures figures, figures_of(flags_));
  if (predicted.ring && flags_.ranks.empty() && flags_.nodes.empty()) {
    figures.ranks = static_cast<std::int64_t>(predicted.ring->sites.size());
  }
  TRY(predicted.profile, profile_from(figures));
  if (predicted.profile.step_ms > 0 && predicted.profile.exposed_ms < 0) {
    return fail(ErrorKind::Usage, "", "--measured-time", "is less than computing alone takes",
                "check --single-time, --ranks and --steps");
  }
  return {};
}

// Without --link, takes the link that explains the measured time.
Result<> PredictCommand::choose_link(Predicted& predicted) const {
  if (is_inside_one_host(predicted)) return {};
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
  return fail(
      ErrorKind::Usage, "", "--link", "the speed of the network is not known",
      "give --link RATE like 10G, --throughput as 'chokepoint probe tcp HOST' measures it, or "
      "--curve FILE with what 'chokepoint probe collective --json' printed");
}

void print_prediction(cli::Context& context, const PredictFlags& flags,
                      const Predicted& predicted) {
  if (!context.json) {
    print_page(context, flags, predicted);
    return;
  }
  cli::Json document = cli::document(context, Fields<ShownPrediction>::kSchema);
  document.update(json::to_json(document_of(flags, predicted)));
  cli::print(context, document);
}

Result<cli::ExitCode> PredictCommand::run(cli::Context& context) {
  if (flags_.is_check) return check_runs(context, flags_);
  TRY(refuse_unused(flags_));
  TRY(const Money money, money_of(flags_));
  Predicted predicted;
  TRY(take_network(predicted));
  TRY(flags_.from.empty() ? take_figures(predicted) : take_run(predicted));
  TRY(check_tiers(predicted));
  TRY(choose_link(predicted));
  TRY(predicted.epochs, epochs_of(flags_));
  TRY(add_memory(predicted, flags_));
  TRY(add_prediction(predicted, flags_));
  TRY(check_upgrades(predicted, money));
  add_alternatives(predicted, money, flags_);
  print_prediction(context, flags_, predicted);
  return cli::ExitCode::Done;
}

}  // namespace

cli::CommandFactory predict_command() { return cli::command<PredictCommand>(); }

}  // namespace chokepoint::analysis
