// A job told in figures rather than measured: how large the model is, how it is spread over ranks,
// and how long it computes. profile_from() turns them into what a prediction needs. Values and a
// pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/predict/buckets.h"
#include "analysis/predict/job_profile.h"
#include "analysis/predict/shape.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// A third of computing is the forward pass: the backward pass makes two gradients for each product.
constexpr double kForwardShare = 1.0 / 3;

struct Figures {
  Parallelism parallelism = Parallelism::Data;
  int zero_stage = 2;
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
};

Result<JobProfile> profile_from(const Figures& figures);

// Bytes of an element: "bf16" is 2.
std::optional<double> element_bytes(const std::string& type);

}  // namespace chokepoint::analysis
