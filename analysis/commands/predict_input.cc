#include "analysis/commands/predict_input.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "analysis/commands/predict_values.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMostRanks = 100'000;
constexpr double kMostMicroBatches = 1024;

std::optional<double> ms_of(std::chrono::nanoseconds time) {
  if (time.count() <= 0) return std::nullopt;
  return static_cast<double>(time.count()) / 1e6;
}

std::optional<double> seconds_of(std::chrono::nanoseconds time) {
  if (time.count() <= 0) return std::nullopt;
  return static_cast<double>(time.count()) / 1e9;
}

void read_parallelism(Figures& figures, const std::string& text) {
  if (text == "tp") figures.parallelism = Parallelism::Tensor;
  if (text == "pp") figures.parallelism = Parallelism::Pipeline;
  if (text.starts_with("zero")) {
    figures.parallelism = Parallelism::Zero;
    figures.zero_stage = text == "zero1" ? 1 : text == "zero3" ? 3 : 2;
  }
}

Result<> read_shape(Shape& shape, const PredictFlags& told) {
  return first_failure(
      read_type("--activations", told.activations.empty() ? told.type : told.activations,
                &shape.activation_bytes),
      read_count("--layers", told.layers, &shape.layers),
      read_count("--hidden", told.hidden, &shape.hidden),
      read_count("--batch", told.batch, &shape.batch),
      read_count("--sequence", told.sequence, &shape.sequence),
      read_count("--vocabulary", told.vocabulary, &shape.vocabulary),
      read_count("--micro-batches", told.micro_batches, &shape.micro_batches, 1,
                 kMostMicroBatches));
}

Result<std::optional<Curve>> curve_of(const std::string& place) {
  if (place.empty()) return std::optional<Curve>();
  std::ifstream file(place, std::ios::binary);
  if (!file) {
    return fail(ErrorKind::NotFound, "--curve", place, "cannot be read",
                "give a file with what 'chokepoint probe collective --json' printed");
  }
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Result<Curve> curve = parse_curve(text, place);
  if (!curve) return std::unexpected(curve.error());
  return std::optional<Curve>(std::move(*curve));
}

}  // namespace

Result<Figures> figures_of(const PredictFlags& told) {
  Figures figures{.backend = told.backend,
                  .single_time_s = seconds_of(told.single_time),
                  .compute_ms = ms_of(told.compute),
                  .measured_time_s = seconds_of(told.measured_time),
                  .bucket_bytes = static_cast<double>(told.bucket.count)};
  double ranks = 2;
  double nodes = 0;
  double steps = 0;
  std::optional<double> overlap;
  const Result<> read = first_failure(
      read_count("--parameters", told.parameters, &figures.parameters),
      read_type("--type", told.type, &figures.parameter_bytes),
      read_count("--ranks", told.ranks, &ranks, 1, kMostRanks),
      read_count("--nodes", told.nodes, &nodes, 1, kMostRanks),
      read_count("--steps", told.steps, &steps), read_share("--overlap", told.overlap, 1, &overlap),
      read_shape(figures.shape, told));
  if (!read) return std::unexpected(read.error());
  if (told.bucket.count == 0) {
    return fail(ErrorKind::Usage, "", "--bucket", "must be 1 byte or more");
  }
  if (figures.measured_time_s && steps < 1) {
    return fail(ErrorKind::Usage, "", "--measured-time", "is of all steps", "give --steps N, too");
  }
  read_parallelism(figures, told.parallelism);
  figures.ranks = static_cast<std::int64_t>(told.ranks.empty() && nodes > 0 ? nodes : ranks);
  figures.nodes = static_cast<std::int64_t>(nodes);
  if (figures.nodes > figures.ranks) {
    return fail(ErrorKind::Usage, "", "--nodes", "more than --ranks",
                "give as many ranks as nodes, or more");
  }
  if (steps > 0) figures.steps = static_cast<std::int64_t>(steps);
  figures.overlap = overlap.value_or(0);
  return figures;
}

Result<Target> target_of(const PredictFlags& told) {
  Target target;
  const Result<> read = first_failure(read_link(told.link, &target.path.rate_mbps),
                                      read_rtt(told.rtt, &target.path.rtt_ms),
                                      read_share("--loss", told.loss, 0.5, &target.path.loss));
  if (!read) return std::unexpected(read.error());
  if (told.buffer.count > 0) {
    target.path.window_bytes = static_cast<double>(told.buffer.count);
  }
  target.congestion = told.congestion == "reno"  ? Congestion::Reno
                      : told.congestion == "bbr" ? Congestion::Bbr
                                                 : Congestion::Cubic;
  target.transport = told.transport == "tcp"    ? Transport::Tcp
                     : told.transport == "rdma" ? Transport::Rdma
                                                : Transport::Unknown;
  target.algorithm = told.algorithm == "tree" ? Algorithm::Tree : Algorithm::Ring;
  Result<std::optional<Curve>> curve = curve_of(told.curve);
  if (!curve) return std::unexpected(curve.error());
  target.curve = std::move(*curve);
  return target;
}

Result<> spread(Target& target, const PredictFlags& told, const JobProfile& profile) {
  double ranks = 0;
  double nodes = 0;
  const Result<> read = first_failure(read_count("--ranks", told.ranks, &ranks, 1, kMostRanks),
                                      read_count("--nodes", told.nodes, &nodes, 1, kMostRanks));
  if (!read) return read;
  if (nodes > 0) target.nodes = static_cast<std::int64_t>(nodes);
  if (nodes > 0 && ranks == 0) {
    const double now = static_cast<double>(profile.nodes > 0 ? profile.nodes : profile.ranks);
    ranks = std::round(nodes * static_cast<double>(profile.ranks) / std::max(now, 1.0));
  }
  if (ranks > 0) target.ranks = static_cast<std::int64_t>(ranks);
  return {};
}

Result<Money> money_of(const PredictFlags& told) {
  Money money;
  double price = 0;
  const Result<> read = first_failure(read_count("--runs", told.runs, &money.runs),
                                      read_count("--hour-price", told.hour_price, &price, 0));
  if (!read) return std::unexpected(read.error());
  if (price > 0) money.hour_price = price;
  for (const std::string& text : told.upgrades) {
    Result<Upgrade> upgrade = parse_upgrade(text);
    if (!upgrade) return std::unexpected(upgrade.error());
    money.upgrades.push_back(std::move(*upgrade));
  }
  return money;
}

}  // namespace chokepoint::analysis
