// The flags of `predict`, and which of them go together: one that would say nothing is refused.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "analysis/commands/predict.h"

namespace chokepoint::analysis {
namespace {

void define_job(cli::Flags& flags, PredictFlags& given) {
  flags.group("The job, from a run")
      .option("from", &given.from, "DIR",
              "folder of a recorded run, or its name in chokepoint-runs, instead of the figures "
              "below")
      .a_run()
      .group("The job, in figures")
      .option("parameters", &given.parameters, "N", "number of the model's parameters, like 708M")
      .option("type", &given.type, "TYPE",
              "data type of exchanged gradients: float32, bf16, float16 …; default: float32, or "
              "the run's")
      .option("ranks", &given.ranks, "N", "number of ranks; default: 2")
      .option("nodes", &given.nodes, "N", "number of hosts; default: one for each rank")
      .option("steps", &given.steps, "N", "number of steps that these ranks take")
      .option("epochs", &given.epochs, "N", "number of epochs that these steps are")
      .option("single-time", &given.single_time, "TIME",
              "time that all steps take on a single processor")
      .short_time("compute", &given.compute,
                  "computing time of one rank in one step, instead of --single-time")
      .option("measured-time", &given.measured_time, "TIME",
              "measured time of all steps on these ranks: the prediction starts from it, and the "
              "link that would explain it is named")
      .option("parallelism", &given.parallelism, "KIND",
              "how the work is divided among the ranks: dp, tp, pp, zero1, zero2, zero3 (or fsdp), "
              "rpc, or several with the ranks of each, like tp=2,dp=4,pp=2; default: dp, or as in "
              "the run")
      .choice("backend", &given.backend, {"nccl", "gloo"},
              "communication library; default: nccl, or the run's")
      .option("overlap", &given.overlap, "SHARE",
              "share of the backward pass that can hide communication, from 0 (none) to 1 (all "
              "that DDP's buckets allow); default: 0")
      .option("bucket", &given.bucket, "SIZE", "size of DDP's gradient buckets; default: 25 MiB")
      .group("Local SGD and DiLoCo")
      .option("outer-every", &given.outer_every, "N",
              "ranks train alone and exchange their parameters in every Nth step, after it")
      .option("outer-type", &given.outer_type, "TYPE",
              "data type of these parameters: float32, float16, int8, int4 …; default: as --type")
      .option("outer-overlap", &given.outer_overlap, "N",
              "steps that go on beside an exchange; default: 0, all wait for its end")
      .option("utilisation", &given.utilisation, "SHARE",
              "says how many steps must lie between exchanges so that steps take this share of the "
              "time: 90%; without --outer-every this is what is predicted")
      .group("A transformer, for tp and pp")
      .option("layers", &given.layers, "N", "number of layers")
      .option("hidden", &given.hidden, "N", "hidden size, the width of a layer")
      .option("batch", &given.batch, "N", "samples per step of one copy of the model")
      .option("sequence", &given.sequence, "N", "tokens per sample")
      .option("micro-batches", &given.micro_batches, "N", "micro-batches per step; default: 1")
      .option("vocabulary", &given.vocabulary, "N",
              "pp: size of the vocabulary, if the first and last stage share its embeddings")
      .option("activations", &given.activations, "TYPE",
              "data type of activations; default: as --type")
      .option("heads", &given.heads, "N",
              "attention heads, if attention keeps its matrix in memory (not FlashAttention)")
      .group("Memory and energy of a rank")
      .option("gpu-memory", &given.gpu_memory, "SIZE",
              "memory of a GPU: says whether the job fits, and how else it would")
      .choice(
          "optimizer", &given.optimizer, {"adam", "momentum", "sgd"},
          "what the optimizer keeps for each parameter: two moments, one, or none; default: adam")
      .toggle("recompute", &given.is_recomputed,
              "layers keep their input alone and are computed again in the backward pass")
      .option("power", &given.power, "WATTS",
              "mean power of a rank's GPU; default: as the run of --from recorded it")
      .group("Remote calls, for rpc")
      .option("request", &given.request, "SIZE", "what a call sends to each worker: the batch")
      .option("response", &given.answer, "SIZE", "what comes back from each worker")
      .formerly("answer")
      .option("calls", &given.calls, "N", "calls per step to each worker; default: 1")
      .option("outstanding", &given.at_once, "N", "of these, calls under way together; default: 1")
      .formerly("at-once")
      .short_time("call-time", &given.call_time,
                  "measured time of a call without data; default: the round trip")
      .option("call-rate", &given.call_rate, "N",
              "instead: measured calls per second without data, one after another");
}

void define_network(cli::Flags& flags, PredictFlags& given) {
  flags.group("The network")
      .option("link", &given.link, "RATE",
              "rate of the slowest link, in one direction: 10G, 25GbE, 25GB/s")
      .option(
          "intra-link", &given.intra_link, "RATE",
          "rate of a rank's link inside its host, in one direction: NVLink, PCIe, shared memory")
      .option("nics", &given.nics, "N", "NICs of a host, each of --link's rate; default: 1")
      .option("throughput", &given.throughput, "RATE",
              "instead: what 'probe tcp' or another test measured over one connection")
      .option("throughput-back", &given.throughput_back, "RATE",
              "rpc: likewise, from the workers back; default: the same")
      .option("between", &given.between, "A,B=RATE[/RTT]",
              "instead: from site A to site B, and back unless that is given, too. The sites' ring "
              "takes the order whose slowest path is the fastest")
      .option("rtt", &given.rtt, "TIME", "round-trip time of the idle path: 20ms")
      .option("loss", &given.loss, "SHARE", "share of packets lost: 0.001 or 0.1%")
      .option("window", &given.buffer, "SIZE", "smallest of the sockets' buffers and windows")
      .formerly("buffer")
      .choice("congestion", &given.congestion, {"cubic", "reno", "bbr"}, "TCP congestion control")
      .choice("transport", &given.transport, {"auto", "tcp", "rdma"},
              "auto: NCCL above 25 Gb/s uses RDMA, all else TCP")
      .choice("algorithm", &given.algorithm, {"ring", "tree", "hierarchical"},
              "algorithm of NCCL's all-reduce; hierarchical: inside each host first")
      .option("curve", &given.curve, "FILE",
              "measured all-reduce times: the output of 'probe collective --json'")
      .option("late", &given.late, "SHARE",
              "--from: what is left of late ranks' lateness, 0 (none) to 1 (all of it)")
      .option("rank-order", &given.rank_order, "RANKS",
              "--from: the ranks in another order, each by the number of the rank whose place it "
              "takes: 0,2,1,3")
      .group("Cost of an upgrade")
      .option("upgrade", &given.upgrades, "LINK=COST",
              "a link to compare with, and its price: 5GbE=41000, switch:10G=60000, 2x10GbE=9000")
      .option("runs", &given.runs, "N", "number of runs that share the cost; default: 1")
      .option("hour-price", &given.hour_price, "PRICE", "price of one hour of all ranks")
      .group("Predictions compared with runs")
      .toggle("check", &given.is_check,
              "show what was predicted of each RUN beside what was measured: from its own "
              "computing and link by the models alone, from the run of --from, or from figures");
  flags.positional("RUN", &given.checked, "with --check: folders of recorded runs", false).a_run();
}

// The first that is given, or nullptr.
const char* first_figure(const PredictFlags& given) {
  const std::array<std::pair<const char*, bool>, 15> of_figures{
      {{"--parameters", !given.parameters.empty()},
       {"--single-time", given.single_time.count() > 0},
       {"--compute", given.compute.count() > 0},
       {"--measured-time", given.measured_time.count() > 0},
       {"--layers", !given.layers.empty()},
       {"--hidden", !given.hidden.empty()},
       {"--sequence", !given.sequence.empty()},
       {"--micro-batches", !given.micro_batches.empty()},
       {"--vocabulary", !given.vocabulary.empty()},
       {"--activations", !given.activations.empty()},
       {"--request", given.request.count > 0},
       {"--response", given.answer.count > 0},
       {"--calls", !given.calls.empty()},
       {"--outstanding", !given.at_once.empty()},
       {"--call-time, --call-rate", given.call_time.count() > 0 || !given.call_rate.empty()}}};
  const auto* const found =
      std::ranges::find_if(of_figures, [](const auto& figure) { return figure.second; });
  return found == of_figures.end() ? nullptr : found->first;
}

// A flag, and whether it was given.
using Given = std::pair<const char*, bool>;

// One line for the first of them that was given, though nothing would come of it.
Result<> refuse(std::initializer_list<Given> flags, const char* why, const char* next_step) {
  const auto* const found = std::ranges::find_if(flags, &Given::second);
  if (found == flags.end()) return {};
  return fail(ErrorKind::Usage, "", found->first, why, next_step);
}

bool is_kind(const PredictFlags& given, std::initializer_list<const char*> kinds) {
  return std::ranges::find(kinds, given.parallelism) != kinds.end();
}

Result<> refuse_of_calls(const PredictFlags& given) {
  if (is_kind(given, {"rpc"})) {
    return refuse({{"--parameters", !given.parameters.empty()},
                   {"--type", !given.type.empty()},
                   {"--backend", !given.backend.empty()},
                   {"--overlap", !given.overlap.empty()},
                   {"--bucket", !given.bucket.empty()},
                   {"--layers", !given.layers.empty()},
                   {"--hidden", !given.hidden.empty()},
                   {"--batch", !given.batch.empty()},
                   {"--sequence", !given.sequence.empty()},
                   {"--micro-batches", !given.micro_batches.empty()},
                   {"--vocabulary", !given.vocabulary.empty()},
                   {"--activations", !given.activations.empty()},
                   {"--heads", !given.heads.empty()},
                   {"--algorithm", given.algorithm != "ring"},
                   {"--curve", !given.curve.empty()}},
                  "is nothing that remote calls have", "leave it out");
  }
  TRY(refuse({{"--throughput-back", !given.throughput_back.empty()}},
             "is of the answers to remote calls", "give --throughput alone"));
  if (!given.from.empty()) return {};  // that remote calls' flags are of figures is said there
  return refuse({{"--request", given.request.count > 0},
                 {"--response", given.answer.count > 0},
                 {"--calls", !given.calls.empty()},
                 {"--outstanding", !given.at_once.empty()},
                 {"--call-time", given.call_time.count() > 0},
                 {"--call-rate", !given.call_rate.empty()}},
                "is of remote calls", "give --parallelism rpc, or leave it out");
}

Result<> refuse_of_kind(const PredictFlags& given) {
  TRY(refuse_of_calls(given));
  if (!given.from.empty()) return {};
  if (is_kind(given, {"tp"})) {
    TRY(refuse({{"--overlap", !given.overlap.empty()}},
               "each layer waits for what tensor parallelism exchanges", "leave it out"));
  }
  if (is_kind(given, {"tp", "pp"})) {
    TRY(refuse({{"--bucket", !given.bucket.empty()}}, "is of data parallelism and ZeRO",
               "leave it out"));
  }
  if (is_kind(given, {"pp"}) && given.vocabulary.empty()) {
    TRY(refuse({{"--curve", !given.curve.empty()}, {"--algorithm", given.algorithm != "ring"}},
               "a pipeline without shared embeddings has no all-reduce",
               "leave it out, or give --vocabulary"));
  }
  return {};
}

Result<> refuse_of_outer_steps(const PredictFlags& given) {
  if (!has_outer_steps(given)) {
    return refuse({{"--outer-type", !given.outer_type.empty()},
                   {"--outer-overlap", !given.outer_overlap.empty()}},
                  "is of ranks that exchange in some steps only", "give --outer-every N, too");
  }
  if (!given.from.empty()) {
    TRY(refuse({{"--outer-type", !given.outer_type.empty()}}, "a run's parameters are of one type",
               "give --type"));
  }
  return refuse({{"--parallelism", !given.parallelism.empty() && !is_kind(given, {"dp"})},
                 {"--bucket", !given.bucket.empty()},
                 {"--overlap", !given.overlap.empty()},
                 {"--measured-time", given.measured_time.count() > 0},
                 {"--late", !given.late.empty()},
                 {"--rank-order", !given.rank_order.empty()}},
                "is not of ranks that exchange all parameters at once, in some steps only",
                "leave it out, or --outer-every and --utilisation");
}

Result<> refuse_of_sites(const PredictFlags& given) {
  if (given.between.empty()) return {};
  return refuse({{"--link", !given.link.empty()},
                 {"--throughput", !given.throughput.empty()},
                 {"--curve", !given.curve.empty()},
                 {"--algorithm", given.algorithm != "ring"},
                 {"--nics", !given.nics.empty()},
                 {"--rank-order", !given.rank_order.empty()},
                 {"--measured-time", given.measured_time.count() > 0},
                 {"--parallelism", has_grid(given) || is_kind(given, {"tp", "pp", "rpc"})}},
                "is not of sites that pass data on in a ring", "leave it out, or --between");
}

Result<> refuse_of_cost(const PredictFlags& given) {
  if (!given.upgrades.empty()) return {};
  return refuse({{"--runs", !given.runs.empty()}, {"--hour-price", !given.hour_price.empty()}},
                "is of an upgrade", "give --upgrade LINK=COST, too");
}

}  // namespace

bool has_outer_steps(const PredictFlags& given) {
  return !given.outer_every.empty() || !given.utilisation.empty();
}

bool has_figures(const PredictFlags& given) { return first_figure(given) != nullptr; }

Result<> refuse_figures(const PredictFlags& given) {
  if (const char* flag = first_figure(given)) {
    return fail(ErrorKind::Usage, "", flag, "the run of --from has the job's figures already",
                "leave it out, or --from");
  }
  if (given.gpu_memory.count > 0 || !given.heads.empty() || !given.optimizer.empty() ||
      given.is_recomputed) {
    return fail(ErrorKind::Usage, "", "--gpu-memory, --heads, --optimizer, --recompute",
                "a run's record does not say how large its model is",
                "give the job in figures: --parameters, --layers, --hidden, --batch, --sequence");
  }
  return {};
}

bool has_grid(const PredictFlags& given) {
  return given.parallelism.find_first_of("=,") != std::string::npos;
}

Result<> refuse_unused(const PredictFlags& given) {
  if (!given.checked.empty()) {
    return fail(ErrorKind::Usage, "", given.checked.front(), "is not asked for",
                "--from RUN predicts from a run, --check RUN holds a prediction against it");
  }
  TRY(refuse_of_cost(given));
  TRY(refuse_of_outer_steps(given));
  TRY(refuse_of_sites(given));
  return refuse_of_kind(given);
}

Result<> refuse_unchecked(const PredictFlags& given) {
  TRY(refuse_of_kind(given));
  TRY(refuse({{"--upgrade", !given.upgrades.empty()},
              {"--runs", !given.runs.empty()},
              {"--hour-price", !given.hour_price.empty()},
              {"--epochs", !given.epochs.empty()},
              {"--late", !given.late.empty()},
              {"--rank-order", !given.rank_order.empty()},
              {"--between", !given.between.empty()},
              {"--outer-every", !given.outer_every.empty()},
              {"--outer-type", !given.outer_type.empty()},
              {"--outer-overlap", !given.outer_overlap.empty()},
              {"--utilisation", !given.utilisation.empty()},
              {"--gpu-memory", given.gpu_memory.count > 0},
              {"--optimizer", !given.optimizer.empty()},
              {"--recompute", given.is_recomputed},
              {"--measured-time", given.measured_time.count() > 0}},
             "is not compared with runs", "leave it out, or --check"));
  const std::initializer_list<Given> spread{{"--ranks", !given.ranks.empty()},
                                            {"--nodes", !given.nodes.empty()}};
  if (!given.from.empty()) {
    return refuse(spread, "a run of --from is predicted with the ranks of each RUN",
                  "leave it out, or --check");
  }
  if (has_figures(given)) return {};
  TRY(refuse(spread, "each RUN is predicted with its own ranks", "leave it out, or give --from"));
  return refuse({{"--parallelism", !given.parallelism.empty()},
                 {"--type", !given.type.empty()},
                 {"--batch", !given.batch.empty()},
                 {"--heads", !given.heads.empty()},
                 {"--backend", !given.backend.empty()},
                 {"--overlap", !given.overlap.empty()},
                 {"--bucket", !given.bucket.empty()},
                 {"--steps", !given.steps.empty()},
                 {"--power", !given.power.empty()}},
                "each RUN is predicted as the job that it was",
                "leave it out, or give --from or the job's figures");
}

void define(cli::Flags& flags, PredictFlags& given) {
  define_job(flags, given);
  define_network(flags, given);
}

}  // namespace chokepoint::analysis
