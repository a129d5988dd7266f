#include "analysis/predict/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

constexpr std::int64_t kMostOfAKind = 100'000;
constexpr std::string_view kGridExample = "write it like tp=2,dp=4,pp=2, or zero1=4 for dp=4";

Result<> bad_grid(std::string_view text, std::string_view why) {
  return fail(ErrorKind::Usage, "--parallelism", text, why, kGridExample);
}

// Where this kind's number belongs; nullptr of what has no groups.
std::int64_t* place_of(Grid& grid, Parallelism kind) {
  switch (kind) {
    case Parallelism::Tensor:
      return &grid.tensor;
    case Parallelism::Data:
    case Parallelism::Zero:
      return &grid.data;
    case Parallelism::Pipeline:
      return &grid.pipeline;
    default:
      return nullptr;
  }
}

Result<> read_kind(Grid& grid, std::vector<const std::int64_t*>& seen, std::string_view part,
                   std::string_view text) {
  const std::size_t equals = part.find('=');
  const std::string_view name = part.substr(0, equals);
  const Parallelism kind = parallelism_named(name);
  std::int64_t* place = place_of(grid, kind);
  if (equals == std::string_view::npos || place == nullptr) {
    return bad_grid(text, fmt::format("'{}' is no kind of parallelism and its ranks", part));
  }
  if (std::ranges::find(seen, place) != seen.end()) {
    return bad_grid(text, fmt::format("'{}' is given twice, or dp beside ZeRO", name));
  }
  const auto count = sys::parse_number<std::int64_t>(part.substr(equals + 1));
  if (!count || *count < 1 || *count > kMostOfAKind) {
    return bad_grid(text, fmt::format("'{}' is not a number from 1 to {}", part.substr(equals + 1),
                                      kMostOfAKind));
  }
  *place = *count;
  seen.push_back(place);
  if (kind == Parallelism::Zero) grid.zero_stage = zero_stage_named(name);
  return {};
}

// Stands host by host, on each as many as on the others or one more.
double host_of(double rank, double ranks, double hosts) { return std::floor(rank * hosts / ranks); }

// Stages stand host by host, on each as many as on the others or one more.
bool is_between_hosts(const Pipeline& pipeline, double stage) {
  if (!pipeline.is_between.empty()) return pipeline.is_between[static_cast<std::size_t>(stage)];
  if (pipeline.hosts <= 0) return true;
  const auto host = [&](double of) { return std::floor(of * pipeline.hosts / pipeline.stages); };
  return host(stage) != host(stage + 1);
}

double link_wire_ms(const Pipeline& pipeline, double stage) {
  return is_between_hosts(pipeline, stage) ? pipeline.wire_ms : pipeline.inside_wire_ms;
}

double link_latency_ms(const Pipeline& pipeline, double stage) {
  return is_between_hosts(pipeline, stage) ? pipeline.latency_ms : pipeline.inside_latency_ms;
}

// When the last stage ends its last micro-batch, in a pass that starts at 0. `arrival` is when each
// micro-batch reaches a stage.
double pass_ms(const Pipeline& pipeline, double compute_ms) {
  const auto count = static_cast<std::size_t>(pipeline.micro_batches);
  std::vector<double> arrival(count, 0);
  double stage_free = 0;
  for (std::size_t stage = 0; stage < static_cast<std::size_t>(pipeline.stages); ++stage) {
    const double number = static_cast<double>(stage);
    stage_free = 0;
    double link_free = 0;
    for (double& at : arrival) {
      stage_free = std::max(stage_free, at) + compute_ms;
      link_free = std::max(link_free, stage_free) + link_wire_ms(pipeline, number);
      at = link_free + link_latency_ms(pipeline, number);
    }
  }
  return stage_free;
}

}  // namespace

int zero_stage_named(std::string_view name) {
  return name == "zero1" ? 1 : name == "zero3" || name == "fsdp" ? 3 : 2;
}

Result<Grid> parse_grid(std::string_view text) {
  Grid grid;
  std::vector<const std::int64_t*> seen;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    TRY(read_kind(grid, seen, rest.substr(0, comma), text));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (static_cast<double>(grid.tensor) * static_cast<double>(grid.data) *
          static_cast<double>(grid.pipeline) >
      static_cast<double>(kMostOfAKind)) {
    TRY(bad_grid(text, fmt::format("more than {} ranks in all", kMostOfAKind)));
  }
  return grid;
}

std::string name_of(const Grid& grid) {
  const std::string data =
      grid.zero_stage > 0 ? fmt::format("zero{}", grid.zero_stage) : std::string("dp");
  return fmt::format("tp={},{}={},pp={}", grid.tensor, data, grid.data, grid.pipeline);
}

Placement placement_of(double count, double stride, double ranks, double hosts) {
  Placement placement;
  std::vector<double> served(static_cast<std::size_t>(hosts), 0);  // groups, by each host
  for (double first = 0; first + (count - 1) * stride < ranks; ++first) {
    if (std::fmod(std::floor(first / stride), count) != 0) continue;  // of a group further in front
    std::vector<double> on;
    for (double member = 0; member < count; ++member) {
      const double host = host_of(first + member * stride, ranks, hosts);
      if (on.empty() || on.back() != host) on.push_back(host);
    }
    placement.hosts = std::max(placement.hosts, static_cast<double>(on.size()));
    if (on.size() < 2) continue;
    placement.crossings += static_cast<double>(on.size());
    for (const double host : on) ++served[static_cast<std::size_t>(host)];
  }
  placement.at_once = *std::ranges::max_element(served);
  return placement;
}

PipelineProfile::Stages stages_of(const Grid& grid, double hosts) {
  const auto ranks = static_cast<double>(grid.ranks());
  const auto each = static_cast<double>(grid.tensor * grid.data);
  PipelineProfile::Stages stages{.count = static_cast<double>(grid.pipeline)};
  stages.is_between.resize(static_cast<std::size_t>(grid.pipeline) - 1, false);
  std::vector<double> forward(static_cast<std::size_t>(hosts), 0);
  std::vector<double> both(static_cast<std::size_t>(hosts), 0);
  for (double rank = 0; rank + each < ranks; ++rank) {
    const double host = host_of(rank, ranks, hosts);
    const double next = host_of(rank + each, ranks, hosts);
    if (host == next) {
      stages.has_inside = true;
      continue;
    }
    stages.is_between[static_cast<std::size_t>(rank / each)] = true;
    ++forward[static_cast<std::size_t>(host)];
    ++both[static_cast<std::size_t>(host)];
    ++both[static_cast<std::size_t>(next)];
    stages.sent += 2;
  }
  stages.at_once = *std::ranges::max_element(forward);
  stages.most_sent = *std::ranges::max_element(both);
  return stages;
}

double bubble_ms(const Pipeline& pipeline) {
  return (pipeline.forward_ms + pipeline.backward_ms) * (pipeline.stages - 1) /
         pipeline.micro_batches;
}

double blocking_pipeline_ms(const Pipeline& pipeline) {
  const double passes = pipeline.backward_ms > 0 ? 2 : 1;
  double first_ms = 0;    // until the last stage has its first micro-batch
  double slowest_ms = 0;  // of the links, for each other one
  for (double stage = 0; stage + 1 < pipeline.stages; ++stage) {
    const double link_ms = link_wire_ms(pipeline, stage) + link_latency_ms(pipeline, stage);
    first_ms += link_ms;
    slowest_ms = std::max(slowest_ms, link_ms);
  }
  return pipeline.forward_ms + pipeline.backward_ms + bubble_ms(pipeline) +
         passes * (first_ms + (pipeline.micro_batches - 1) * slowest_ms);
}

double overlapped_pipeline_ms(const Pipeline& pipeline) {
  const double forward_ms = pass_ms(pipeline, pipeline.forward_ms / pipeline.micro_batches);
  return pipeline.backward_ms > 0
             ? forward_ms + pass_ms(pipeline, pipeline.backward_ms / pipeline.micro_batches)
             : forward_ms;
}

}  // namespace chokepoint::analysis
