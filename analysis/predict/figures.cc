#include "analysis/predict/figures.h"

#include <array>
#include <utility>

#include "analysis/predict/tensor_parallel.h"
#include "analysis/predict/zero.h"

namespace chokepoint::analysis {
namespace {

Result<> missing(std::string_view flag, std::string_view why, std::string_view example) {
  return fail(ErrorKind::Usage, "", flag, why, example);
}

Result<> check_time(const Figures& figures) {
  if (!figures.compute_ms && !figures.single_time_s) {
    return missing("--single-time", "what computing takes is not known",
                   "give --single-time SECONDS and --steps N, or --compute TIME");
  }
  if (!figures.compute_ms && !figures.steps) {
    return missing("--steps", "--single-time is of all steps",
                   "give how many steps the ranks take, like --steps 1108");
  }
  return {};
}

Result<> check_size(const Figures& figures) {
  const Shape& shape = figures.shape;
  const bool by_parameters =
      figures.parallelism == Parallelism::Data || figures.parallelism == Parallelism::Zero;
  if (by_parameters && figures.parameters <= 0) {
    return missing("--parameters", "the model's size is not known", "give it like 708M");
  }
  if (!by_parameters && (shape.hidden <= 0 || shape.batch <= 0 || shape.sequence <= 0)) {
    return missing("--hidden, --batch, --sequence", "the activations' size is not known",
                   "give all three, like --hidden 768 --batch 16 --sequence 1024");
  }
  if (figures.parallelism == Parallelism::Tensor && shape.layers <= 0) {
    return missing("--layers", "tensor parallelism exchanges activations in every layer",
                   "give how many there are");
  }
  return {};
}

double compute_ms_of(const Figures& figures) {
  if (figures.compute_ms) return *figures.compute_ms;
  return *figures.single_time_s * 1000 / static_cast<double>(figures.ranks) /
         static_cast<double>(*figures.steps);
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
  const double forward_ms = profile.compute_ms * kForwardShare;
  switch (figures.parallelism) {
    case Parallelism::Tensor:
      profile.exchanges = tensor_exchanges(figures.shape, profile.compute_ms);
      return;
    case Parallelism::Pipeline:
      add_pipeline(profile, figures);
      return;
    case Parallelism::Zero:
      profile.exchanges = zero_exchanges(figures.zero_stage, bytes, figures.bucket_bytes,
                                         profile.compute_ms, forward_ms);
      return;
    default:
      profile.exchanges =
          bucket_exchanges(Collective::AllReduce, buckets_of(bytes, figures.bucket_bytes),
                           forward_ms, profile.compute_ms);
  }
}

}  // namespace

Result<JobProfile> profile_from(const Figures& figures) {
  for (const Result<>& checked : {check_size(figures), check_time(figures)}) {
    if (!checked) return std::unexpected(checked.error());
  }
  JobProfile profile{.parallelism = figures.parallelism,
                     .backend = figures.backend,
                     .ranks = figures.ranks,
                     .nodes = figures.nodes,
                     .steps = figures.steps,
                     .compute_ms = compute_ms_of(figures),
                     .overlap = figures.overlap,
                     .single_total_s = figures.single_time_s};
  add_exchanges(profile, figures);
  if (figures.measured_time_s && figures.steps) {
    profile.step_ms = *figures.measured_time_s * 1000 / static_cast<double>(*figures.steps);
    profile.exposed_ms = profile.step_ms - profile.compute_ms;
  }
  return profile;
}

std::optional<double> element_bytes(const std::string& type) {
  constexpr std::array<std::pair<std::string_view, double>, 8> kTypes{{{"fp64", 8},
                                                                       {"fp32", 4},
                                                                       {"tf32", 4},
                                                                       {"bf16", 2},
                                                                       {"fp16", 2},
                                                                       {"fp8", 1},
                                                                       {"int8", 1},
                                                                       {"fp4", 0.5}}};
  for (const auto& [name, bytes] : kTypes) {
    if (name == type) return bytes;
  }
  return std::nullopt;
}

}  // namespace chokepoint::analysis
