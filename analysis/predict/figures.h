// A job given in figures rather than measured: how large the model is, how it is spread over ranks,
// and how long it computes. profile_from() turns them into what a prediction needs. Values; pure
// functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/predict/job_profile.h"
#include "base/math/training_pass.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// A transformer's sizes, as far as they decide what its ranks send each other.
struct Shape {
  double layers = 0;
  double hidden = 0;
  double batch = 0;  // samples a step, of one copy of the model
  double sequence = 0;
  double micro_batches = 1;
  double vocabulary = 0;        // of embeddings that the first and last layers share; 0: none
  double heads = 0;             // whose attention keeps its matrix for the backward pass; 0: none
  double activation_bytes = 0;  // of one element

  double activations() const { return batch * sequence * hidden * activation_bytes; }
};

// PyTorch's DistributedDataParallel: gradients leave in buckets while the backward pass goes on.
constexpr double kFirstBucketBytes = 1024 * 1024;
constexpr double kBucketBytes = math::kBucketBytes;

// In the order in which they leave: a small one first, so that the network starts early.
std::vector<double> buckets_of(double bytes, double bucket_bytes = kBucketBytes,
                               double first_bytes = kFirstBucketBytes);

// Of one pass of computing from start to end, in which each bucket takes its share of the time.
std::vector<PlannedExchange> bucket_exchanges(Collective collective,
                                              const std::vector<double>& buckets, double start_ms,
                                              double end_ms);

struct Figures {
  Parallelism parallelism = Parallelism::Data;  // Data or Zero of a grid
  int zero_stage = 2;
  std::optional<Grid> grid = {};
  double parameters = 0;
  double parameter_bytes = 4;  // of one, as gradients are exchanged
  std::string backend = "nccl";
  std::int64_t ranks = 2;
  std::int64_t nodes = 0;  // that they are on; 0: one each
  std::optional<std::int64_t> steps = {};
  std::optional<double> single_time_s = {};    // all steps' work on one processor
  std::optional<double> compute_ms = {};       // or: what a rank computes in a step
  std::optional<double> measured_time_s = {};  // all steps on these ranks, if it was ever run
  double overlap = 0;
  double bucket_bytes = kBucketBytes;
  Shape shape = {};
  CallProfile calls = {};
  std::optional<double> power_w = {};  // of one rank's processor
  // Of data parallelism whose ranks exchange parameters seldom, and not gradients in each step.
  std::optional<OuterSteps> outer = {};
  double outer_bytes = 4;  // of one parameter, as it is then exchanged
};

Result<JobProfile> profile_from(const Figures& figures);

// What a measured job is to be instead; what is empty stays.
struct JobChange {
  std::optional<Parallelism> parallelism = {};
  int zero_stage = 2;
  std::optional<double> bytes_times = {};  // of what is exchanged: another precision
  std::optional<double> batch_times = {};  // of what is computed: another batch
  std::optional<std::string> backend = {};
  std::optional<double> overlap = {};
  std::optional<double> bucket_bytes = {};  // of data parallelism and ZeRO
  std::optional<OuterSteps> outer = {};     // of data parallelism
};

// An Error where what the job would exchange does not follow from what it exchanged: between data
// parallelism and ZeRO it does, and of no other two.
Result<JobProfile> changed(const JobProfile& job, const JobChange& change);

// Bytes of an element: "bf16" is 2.
std::optional<double> element_bytes(const std::string& type);

}  // namespace chokepoint::analysis
