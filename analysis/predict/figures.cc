#include "analysis/predict/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "analysis/predict/grid.h"
#include "analysis/predict/memory.h"
#include "analysis/predict/outer_steps.h"
#include "analysis/predict/tiers.h"
#include "analysis/predict/wire.h"
#include "base/math/training_pass.h"

namespace chokepoint::analysis {
namespace {

// More buckets would be such small parts of the whole that fewer, larger ones give the same result.
constexpr double kMaxBuckets = 10'000;

// Tensor parallelism as in Megatron-LM: each rank holds a part of every layer. Two all-reduces of
// b·s·h a layer forward and two backward, each of which the next layer waits for: 8bsh(t−1)/t
// elements a layer, rank and micro-batch.
std::vector<PlannedExchange> tensor_exchanges(const Shape& shape, double compute_ms) {
  constexpr double kEachLayer = 4;
  return {{.collective = Collective::AllReduce,
           .bytes = shape.activations() / shape.micro_batches,
           .ready_ms = compute_ms,
           .times = kEachLayer * shape.layers * shape.micro_batches}};
}

void append(std::vector<PlannedExchange>& to, const std::vector<PlannedExchange>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

// ZeRO: data parallelism whose ranks each keep a part of the optimizer's state (1), of the
// gradients (2), of the parameters (3). Ψ is the parameters' bytes.
//
// Stages 1 and 2: gradients are reduce-scattered in buckets during the backward pass, and the new
// parameters gathered after it: 2Ψ(n−1)/n a rank. Stage 3: parameters are gathered for the forward
// and again for the backward pass, gradients reduce-scattered: 3Ψ(n−1)/n.
std::vector<PlannedExchange> zero_exchanges(int stage, double bytes, double bucket_bytes,
                                            double compute_ms, double forward_ms) {
  const std::vector<double> buckets = buckets_of(bytes, bucket_bytes, bucket_bytes);
  std::vector<PlannedExchange> exchanges;
  if (stage >= 3) {
    append(exchanges, bucket_exchanges(Collective::AllGather, buckets, 0, forward_ms));
    append(exchanges, bucket_exchanges(Collective::AllGather, buckets, forward_ms, compute_ms));
  }
  append(exchanges, bucket_exchanges(Collective::ReduceScatter, buckets, forward_ms, compute_ms));
  // Parameters of the next layers are gathered between the gradients of those before.
  std::ranges::stable_sort(exchanges, {}, &PlannedExchange::ready_ms);
  if (stage < 3) {
    exchanges.push_back(
        {.collective = Collective::AllGather, .bytes = bytes, .ready_ms = compute_ms});
  }
  return exchanges;
}

Result<> missing(std::string_view flag, std::string_view why, std::string_view example) {
  return fail(ErrorKind::Usage, "", flag, why, example);
}

Result<> check_time(const Figures& figures) {
  if (!figures.compute_ms && !figures.single_time_s) {
    return missing(
        "--single-time", "what computing takes is not known",
        "give --single-time SECONDS and --steps N, or --compute TIME as 'diagnose' shows it of a "
        "run");
  }
  if (!figures.compute_ms && !figures.steps) {
    return missing("--steps", "--single-time is of all steps",
                   "give how many steps the ranks take, like --steps 1108");
  }
  return {};
}

Result<> check_activations(const Shape& shape) {
  return shape.hidden > 0 && shape.batch > 0 && shape.sequence > 0
             ? Result<>()
             : missing("--hidden, --batch, --sequence", "the activations' size is not known",
                       "give all three, like --hidden 768 --batch 16 --sequence 1024");
}

Result<> check_layers(const Shape& shape) {
  return shape.layers > 0
             ? Result<>()
             : missing("--layers", "tensor parallelism exchanges activations in every layer",
                       "give how many there are");
}

// What the groups of a grid exchange has to be known.
Result<> check_grid(const Figures& figures) {
  const Grid& grid = *figures.grid;
  if (grid.data > 1 && parameters_of(figures) <= 0) {
    return missing("--parameters", "the model's size is not known",
                   "give it like 708M, or --layers and --hidden");
  }
  if (grid.tensor > 1 || grid.pipeline > 1) TRY(check_activations(figures.shape));
  if (grid.tensor > 1) TRY(check_layers(figures.shape));
  if (grid.pipeline > 1 && grid.zero_stage > 1) {
    return missing("--parallelism",
                   fmt::format("zero{} beside a pipeline: gradients and parameters would be "
                               "exchanged for each micro-batch",
                               grid.zero_stage),
                   "give zero1 or dp, as DeepSpeed and Megatron-LM do");
  }
  return {};
}

Result<> check_size(const Figures& figures) {
  if (figures.grid) return check_grid(figures);
  const Shape& shape = figures.shape;
  const bool by_parameters =
      figures.parallelism == Parallelism::Data || figures.parallelism == Parallelism::Zero;
  if (figures.parallelism == Parallelism::Calls) {
    return figures.calls.request_bytes > 0
               ? Result<>()
               : missing("--request", "what a call sends to a worker is not known",
                         "give its size like 1.5M, and that of the answer by --response");
  }
  if (by_parameters && figures.parameters <= 0) {
    return missing("--parameters", "the model's size is not known", "give it like 708M");
  }
  if (!by_parameters) TRY(check_activations(shape));
  if (figures.parallelism == Parallelism::Tensor) TRY(check_layers(shape));
  return {};
}

double compute_ms_of(const Figures& figures) {
  if (figures.compute_ms) return *figures.compute_ms;
  const bool has_caller = figures.parallelism == Parallelism::Calls;  // which computes nothing
  const auto computing = static_cast<double>(
      std::max<std::int64_t>(has_caller ? figures.ranks - 1 : figures.ranks, 1));
  return *figures.single_time_s * 1000 / computing / static_cast<double>(*figures.steps);
}

void add_pipeline(JobProfile& profile, const Figures& figures) {
  const Shape& shape = figures.shape;
  profile.pipeline =
      PipelineProfile{.micro_batches = shape.micro_batches,
                      .micro_batch_bytes = shape.activations() / shape.micro_batches};
  if (shape.vocabulary > 0) {  // the first and the last stage hold the same embeddings
    profile.exchanges.push_back({.collective = Collective::AllReduce,
                                 .bytes = shape.vocabulary * shape.hidden * figures.parameter_bytes,
                                 .ready_ms = profile.compute_ms,
                                 .ranks = 2});
  }
}

void add_exchanges(JobProfile& profile, const Figures& figures) {
  const double bytes = figures.parameters * figures.parameter_bytes;
  const double forward_ms = profile.compute_ms * math::kForwardShare;
  switch (figures.parallelism) {
    case Parallelism::Tensor:
      profile.exchanges = tensor_exchanges(figures.shape, profile.compute_ms);
      return;
    case Parallelism::Pipeline:
      add_pipeline(profile, figures);
      return;
    case Parallelism::Calls:
      profile.calls = figures.calls;
      profile.backend = kTensorPipe;
      return;
    case Parallelism::Zero:
      profile.exchanges = zero_exchanges(figures.zero_stage, bytes, figures.bucket_bytes,
                                         profile.compute_ms, forward_ms);
      return;
    default:
      if (figures.outer) {
        exchange_seldom(profile, figures.parameters * figures.outer_bytes, *figures.outer);
        return;
      }
      profile.exchanges =
          bucket_exchanges(Collective::AllReduce, buckets_of(bytes, figures.bucket_bytes),
                           forward_ms, profile.compute_ms);
  }
}

void place(std::vector<PlannedExchange>& exchanges, Parallelism of, double count, double stride,
           const Figures& figures) {
  const auto ranks = static_cast<double>(figures.ranks);
  const double hosts = Ranks{.count = ranks, .nodes = static_cast<double>(figures.nodes)}.hosts();
  const Placement placement = placement_of(count, stride, ranks, hosts);
  for (PlannedExchange& exchange : exchanges) {
    exchange.ranks = count;
    exchange.of = of;
    exchange.at = placement;
  }
}

// Gradients are whole in the backward pass of the last micro-batch.
std::vector<PlannedExchange> copies_exchanges(const Figures& figures, double compute_ms) {
  const double bytes = rank_parameters(figures) * figures.parameter_bytes;
  const double backward_ms =
      compute_ms * (1 - math::kForwardShare) / std::max(figures.shape.micro_batches, 1.0);
  if (figures.grid->zero_stage > 0) {
    const double forward_ms =
        compute_ms -
        (figures.grid->zero_stage < 3 ? backward_ms : compute_ms * (1 - math::kForwardShare));
    return zero_exchanges(figures.grid->zero_stage, bytes, figures.bucket_bytes, compute_ms,
                          forward_ms);
  }
  return bucket_exchanges(Collective::AllReduce, buckets_of(bytes, figures.bucket_bytes),
                          compute_ms - backward_ms, compute_ms);
}

// Each group by itself: what tensor-parallel ranks exchange of a stage's layers, what the copies of
// a rank's part of the model do, and what stages pass on.
void add_grid(JobProfile& profile, const Figures& figures) {
  const Grid& grid = *figures.grid;
  const auto tensor = static_cast<double>(grid.tensor);
  const auto data = static_cast<double>(grid.data);
  const auto stages = static_cast<double>(grid.pipeline);
  profile.grid = grid;
  if (grid.tensor > 1) {
    Shape of_stage = figures.shape;
    of_stage.layers /= stages;
    std::vector<PlannedExchange> of_layers = tensor_exchanges(of_stage, profile.compute_ms);
    place(of_layers, Parallelism::Tensor, tensor, 1, figures);
    append(profile.exchanges, of_layers);
  }
  if (grid.data > 1) {
    std::vector<PlannedExchange> of_copies = copies_exchanges(figures, profile.compute_ms);
    place(of_copies, Parallelism::Data, data, tensor, figures);
    append(profile.exchanges, of_copies);
  }
  if (grid.pipeline > 1) {
    JobProfile pipeline{.compute_ms = profile.compute_ms};
    add_pipeline(pipeline, figures);
    // Each rank has its part of the embeddings.
    for (PlannedExchange& exchange : pipeline.exchanges) exchange.bytes /= tensor;
    place(pipeline.exchanges, Parallelism::Pipeline, 2, tensor * data * (stages - 1), figures);
    append(profile.exchanges, pipeline.exchanges);
    profile.pipeline = pipeline.pipeline;
    const double hosts = Ranks{.count = static_cast<double>(figures.ranks),
                               .nodes = static_cast<double>(figures.nodes)}
                             .hosts();
    profile.pipeline->stages = stages_of(grid, hosts);
  }
}

// What data-parallel ranks average in a step; 0 of any other job. FSDP reduces each gradient once,
// and gathers parameters besides.
double gradient_bytes(const JobProfile& job) {
  if (job.parallelism == Parallelism::Data && job.kinds.empty()) {
    return job.collectives * job.bytes_of_collective;
  }
  const Collective reduces =
      job.parallelism == Parallelism::Zero ? Collective::ReduceScatter : Collective::AllReduce;
  double bytes = 0;
  if (job.parallelism != Parallelism::Data && job.parallelism != Parallelism::Zero) return bytes;
  for (const ObservedCollectives& observed : job.kinds) {
    bytes += observed.kind == reduces ? observed.times * observed.bytes : 0;
  }
  return bytes;
}

void spread_gradients(JobProfile& job, double bytes, const JobChange& change) {
  const double bucket_bytes = change.bucket_bytes.value_or(kBucketBytes);
  const double forward_ms = job.compute_ms * math::kForwardShare;
  job.exchanges =
      job.parallelism == Parallelism::Zero
          ? zero_exchanges(change.zero_stage, bytes, bucket_bytes, job.compute_ms, forward_ms)
          : bucket_exchanges(Collective::AllReduce, buckets_of(bytes, bucket_bytes), forward_ms,
                             job.compute_ms);
  job.at_once = 1;
  job.kinds.clear();
}

void multiply_bytes(JobProfile& job, double times) {
  for (PlannedExchange& exchange : job.exchanges) exchange.bytes *= times;
  for (ObservedCollectives& observed : job.kinds) observed.bytes *= times;
  job.bytes_of_collective *= times;
  job.sent_bytes *= times;
  job.received_bytes *= times;
  if (job.pipeline) job.pipeline->micro_batch_bytes *= times;
}

void multiply_computing(JobProfile& job, double times) {
  for (PlannedExchange& exchange : job.exchanges) exchange.ready_ms *= times;
  job.compute_ms *= times;
  job.overlap_ms *= times;
}

}  // namespace

std::vector<double> buckets_of(double bytes, double bucket_bytes, double first_bytes) {
  std::vector<double> buckets;
  const double usual = std::max(bucket_bytes, bytes / kMaxBuckets);
  double left = bytes;
  double next = std::min(first_bytes, usual);
  while (left > 0) {
    buckets.push_back(std::min(next, left));
    left -= buckets.back();
    next = usual;
  }
  return buckets;
}

std::vector<PlannedExchange> bucket_exchanges(Collective collective,
                                              const std::vector<double>& buckets, double start_ms,
                                              double end_ms) {
  const double all = std::accumulate(buckets.begin(), buckets.end(), 0.0);
  std::vector<PlannedExchange> exchanges;
  double made = 0;
  for (const double bytes : buckets) {
    made += bytes;
    exchanges.push_back({.collective = collective,
                         .bytes = bytes,
                         .ready_ms = start_ms + (end_ms - start_ms) * made / all});
  }
  return exchanges;
}

Result<JobProfile> profile_from(const Figures& figures) {
  TRY(check_size(figures));
  TRY(check_time(figures));
  JobProfile profile{.parallelism = figures.grid ? Parallelism::Unknown : figures.parallelism,
                     .backend = figures.backend,
                     .ranks = figures.ranks,
                     .nodes = figures.nodes,
                     .steps = figures.steps,
                     .compute_ms = compute_ms_of(figures),
                     .is_library_measured = false,
                     .overlap = figures.overlap,
                     .single_total_s = figures.single_time_s,
                     .power_w = figures.power_w};
  figures.grid ? add_grid(profile, figures) : add_exchanges(profile, figures);
  if (figures.measured_time_s && figures.steps) {
    profile.step_ms = *figures.measured_time_s * 1000 / static_cast<double>(*figures.steps);
    profile.exposed_ms = profile.step_ms - profile.compute_ms;
  }
  return profile;
}

Result<JobProfile> changed(const JobProfile& job, const JobChange& change) {
  JobProfile then = job;
  const Parallelism wanted = change.parallelism.value_or(job.parallelism);
  const bool spreads_anew =
      wanted != job.parallelism || wanted == Parallelism::Zero || change.bucket_bytes;
  if (((change.parallelism || change.bucket_bytes) && spreads_anew) || change.outer) {
    const double gradients = gradient_bytes(job);
    const bool is_known =
        wanted == Parallelism::Data || (wanted == Parallelism::Zero && !change.outer);
    if (!is_known || gradients <= 0) {
      return fail(ErrorKind::Usage, "", "--from",
                  "what the job would exchange does not follow from what it exchanged",
                  "give the job in figures: --parallelism, --compute and the model's sizes");
    }
    then.parallelism = wanted;
    // Those of a mean step; a job may exchange seldom already.
    const double every = job.outer ? job.outer->every : 1;
    change.outer ? exchange_seldom(then, gradients * every, *change.outer)
                 : spread_gradients(then, gradients, change);
  }
  if (change.bytes_times) multiply_bytes(then, *change.bytes_times);
  if (change.batch_times) multiply_computing(then, *change.batch_times);
  if (change.overlap) then.overlap = *change.overlap;
  if (change.backend && *change.backend != job.backend) {
    then.backend = *change.backend;
    then.is_library_measured = false;
  }
  return then;
}

Parallelism parallelism_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, Parallelism>, 18> kNames{
      {{"data", Parallelism::Data},
       {"dp", Parallelism::Data},
       {"ddp", Parallelism::Data},
       {"data parallel", Parallelism::Data},
       {"zero", Parallelism::Zero},
       {"zero1", Parallelism::Zero},
       {"zero2", Parallelism::Zero},
       {"zero3", Parallelism::Zero},
       {"fsdp", Parallelism::Zero},
       {"sharded", Parallelism::Zero},
       {"tensor", Parallelism::Tensor},
       {"tp", Parallelism::Tensor},
       {"tensor parallel", Parallelism::Tensor},
       {"pipeline", Parallelism::Pipeline},
       {"pp", Parallelism::Pipeline},
       {"pipeline parallel", Parallelism::Pipeline},
       {"rpc", Parallelism::Calls},
       {"remote calls", Parallelism::Calls}}};
  std::string plain(name);
  std::ranges::transform(plain, plain.begin(), [](char letter) {
    return 'A' <= letter && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  std::ranges::replace_if(plain, [](char letter) { return letter == '-' || letter == '_'; }, ' ');
  const auto found = std::ranges::find(kNames, plain, [](const auto& each) { return each.first; });
  return found == kNames.end() ? Parallelism::Unknown : found->second;
}

std::optional<double> element_bytes(const std::string& type) {
  static const std::map<std::string_view, double> types{
      {"float64", 8}, {"fp64", 8},  {"float32", 4}, {"fp32", 4},     {"tf32", 4},
      {"float16", 2}, {"fp16", 2},  {"bf16", 2},    {"bfloat16", 2}, {"fp8", 1},
      {"int8", 1},    {"fp4", 0.5}, {"int4", 0.5}};
  const auto found = types.find(type);
  return found == types.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace chokepoint::analysis
