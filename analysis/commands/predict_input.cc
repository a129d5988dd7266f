// What the models take from the flags of `predict`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <sstream>
#include <utility>

#include "analysis/commands/predict.h"
#include "analysis/commands/run_files.h"
#include "analysis/predict/grid.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMaxRanks = 100'000;
constexpr double kMaxMicroBatches = 1024;
constexpr double kMaxCalls = 1e9;
constexpr std::size_t kMaxCurveBytes = std::size_t{16} << 20;
constexpr double kMaxWatts = 1e6;

template <class T>
Result<T> of_flag(std::string_view flag, Result<T> value) {
  if (!value) {
    value.error().operation = flag;
  }
  return value;
}

// Each of these reads a flag's text into its target, which empty text leaves as it is. An Error
// names the flag and what to write. A count is a whole number: 1108, 708M.
Result<> read_count(std::string_view flag, const std::string& text, double* target,
                    double least = 1, double most = 1e15) {
  if (text.empty()) return {};
  TRY(const double count, of_flag(flag, math::parse_count(text)));
  if (count < least || count > most || count != std::floor(count)) {
    return fail(ErrorKind::Usage, flag, text,
                fmt::format("must be a whole number from {} to {}", least, most));
  }
  *target = count;
  return {};
}

// A share is 0.001 or 0.1%.
Result<> read_share(std::string_view flag, const std::string& text, double most,
                    std::optional<double>* target) {
  if (text.empty()) return {};
  const Result<double> share = math::parse_share(text);
  if (!share || *share > most) {
    return fail(ErrorKind::Usage, flag, text, "not a share",
                fmt::format("give 0 to {}, or a percentage like 0.1%", most));
  }
  *target = *share;
  return {};
}

Result<> read_type(std::string_view flag, const std::string& type, double* bytes) {
  const std::optional<double> found = element_bytes(type);
  if (!found) {
    return fail(ErrorKind::Usage, flag, type, "unknown type",
                "give float32, bf16, float16, fp8, int8, int4 or float64");
  }
  *bytes = *found;
  return {};
}

Result<> read_rtt(const std::string& text, std::optional<double>* rtt_ms) {
  if (text.empty()) return {};
  TRY(const std::chrono::nanoseconds rtt, of_flag("--rtt", math::parse_short_duration(text)));
  *rtt_ms = static_cast<double>(rtt.count()) / 1e6;
  return {};
}

Result<> read_rate(std::string_view flag, const std::string& text,
                   std::optional<double>* rate_mbps) {
  if (text.empty()) return {};
  TRY(const math::Rate rate, of_flag(flag, parse_link(text)));
  *rate_mbps = rate.bits_per_second / 1e6;
  return {};
}

// "300W", "300".
Result<> read_power(const std::string& text, std::optional<double>* watts) {
  if (text.empty()) return {};
  const std::string_view digits(text.data(), text.size() - (text.ends_with('W') ? 1 : 0));
  const double value = sys::parse_non_negative<double>(digits).value_or(-1);
  if (value < 0 || value > kMaxWatts) {
    return fail(ErrorKind::Usage, "--power", text, "not a power", "give watts, like 300W");
  }
  *watts = value;
  return {};
}

// nullopt where the flag was not given.
std::optional<double> given_in(double unit_ns, std::chrono::nanoseconds time) {
  if (time.count() <= 0) return std::nullopt;
  return static_cast<double>(time.count()) / unit_ns;
}

// A kind by itself, as the whole job's. A grid has its own reader.
Result<> read_kind(const std::string& text, Parallelism* kind) {
  constexpr std::array<std::string_view, 9> kKinds{"dp",    "tp",    "pp",   "zero", "zero1",
                                                   "zero2", "zero3", "fsdp", "rpc"};
  if (text.empty()) return {};
  if (std::ranges::find(kKinds, text) == kKinds.end()) {
    return fail(ErrorKind::Usage, "--parallelism", text, "no kind of parallelism",
                fmt::format("give {}, or several with their ranks, like tp=2,dp=4,pp=2",
                            fmt::join(kKinds, ", ")));
  }
  *kind = parallelism_named(text);
  return {};
}

std::string type_of(const PredictFlags& given) {
  return given.type.empty() ? "float32" : given.type;
}

Result<> read_bucket(const PredictFlags& given, std::optional<double>* bytes) {
  if (given.bucket.empty()) return {};
  TRY(const math::Bytes bucket, of_flag("--bucket", math::parse_bytes(given.bucket)));
  if (bucket.count == 0) {
    return fail(ErrorKind::Usage, "", "--bucket", "must be 1 byte or more");
  }
  *bytes = static_cast<double>(bucket.count);
  return {};
}

// Of --utilisation alone it is found later.
Result<std::optional<OuterSteps>> outer_steps_of(const PredictFlags& given) {
  if (!has_outer_steps(given)) return std::optional<OuterSteps>();
  OuterSteps outer;
  TRY(read_count("--outer-every", given.outer_every, &outer.every));
  TRY(read_count("--outer-overlap", given.outer_overlap, &outer.beside_steps, 0));
  if (!given.outer_every.empty() && outer.beside_steps > outer.every) {
    return fail(ErrorKind::Usage, "", "--outer-overlap",
                "an exchange would go on when the next one begins",
                "give at most as many steps as --outer-every");
  }
  return std::optional(outer);
}

using Labels = std::map<std::string, std::string>;

// The first of these labels that the run has; empty without any.
std::string label_of(const Labels& labels, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto found = labels.find(name); found != labels.end()) return found->second;
  }
  return "";
}

// As runs label it, else what PyTorch trains in.
Result<> read_precision(JobChange& change, const PredictFlags& given, const Labels& labels) {
  if (given.type.empty()) return {};
  double now = 0;
  double then = 0;
  const std::string label = label_of(labels, {"type", "precision", "dtype"});
  TRY(read_type("label", label.empty() ? "float32" : label, &now));
  TRY(read_type("--type", given.type, &then));
  change.bytes_times = then / now;
  return {};
}

Result<> read_batch(JobChange& change, const PredictFlags& given, const Labels& labels) {
  if (given.batch.empty()) return {};
  double now = 0;
  double then = 0;
  TRY(read_count("--batch", given.batch, &then));
  const std::string label = label_of(labels, {"batch"});
  if (label.empty()) {
    return fail(ErrorKind::Usage, "", "--batch", "the run does not say which batch it had",
                "leave it out, or label runs: chokepoint run --label batch=16");
  }
  TRY(read_count("label batch", label, &now));
  change.batch_times = then / now;
  return {};
}

Result<> read_shape(Shape& shape, const PredictFlags& given) {
  TRY(read_type("--activations", given.activations.empty() ? type_of(given) : given.activations,
                &shape.activation_bytes));
  TRY(read_count("--layers", given.layers, &shape.layers));
  TRY(read_count("--hidden", given.hidden, &shape.hidden));
  TRY(read_count("--batch", given.batch, &shape.batch));
  TRY(read_count("--sequence", given.sequence, &shape.sequence));
  TRY(read_count("--vocabulary", given.vocabulary, &shape.vocabulary));
  TRY(read_count("--heads", given.heads, &shape.heads));
  return read_count("--micro-batches", given.micro_batches, &shape.micro_batches, 1,
                    kMaxMicroBatches);
}

Result<> read_calls(CallProfile& calls, const PredictFlags& given) {
  double rate = 0;
  calls.request_bytes = static_cast<double>(given.request.count);
  calls.answer_bytes = static_cast<double>(given.answer.count);
  TRY(read_count("--calls", given.calls, &calls.calls, 1, kMaxCalls));
  TRY(read_count("--outstanding", given.at_once, &calls.at_once, 1, kMaxCalls));
  TRY(read_count("--call-rate", given.call_rate, &rate));
  calls.empty_ms = given_in(math::kNsPerMs, given.call_time);
  if (rate > 0 && calls.empty_ms) {
    return fail(ErrorKind::Usage, "", "--call-rate", "says the same as --call-time",
                "give one of them");
  }
  if (rate > 0) calls.empty_ms = 1000 / rate;
  return {};
}

Result<std::optional<Curve>> curve_of(const std::string& place) {
  if (place.empty()) return std::optional<Curve>();
  Result<std::string> text = of_flag("--curve", read_document(place, kMaxCurveBytes));
  if (!text) {
    text.error().next_step = "give a file with what 'chokepoint probe collective --json' printed";
    return fail(text.error());
  }
  return parse_curve(*text, place);
}

// A grid has as many ranks as its kinds multiply to.
Result<> read_grid(Figures& figures, const PredictFlags& given) {
  TRY(const Grid grid, parse_grid(given.parallelism));
  if (!given.ranks.empty() && grid.ranks() != figures.ranks) {
    return fail(ErrorKind::Usage, "--parallelism", given.parallelism,
                fmt::format("is {} ranks, and not {}", grid.ranks(), figures.ranks),
                fmt::format("give --ranks {}, or leave it out", grid.ranks()));
  }
  figures.grid = grid;
  figures.ranks = grid.ranks();
  figures.parallelism = grid.zero_stage > 0 ? Parallelism::Zero : Parallelism::Data;
  figures.zero_stage = grid.zero_stage;
  return {};
}

// Over how many ranks and nodes the work is spread, and how.
Result<> read_ranks(Figures& figures, const PredictFlags& given) {
  double ranks = 2;
  double nodes = 0;
  TRY(read_count("--ranks", given.ranks, &ranks, 1, kMaxRanks));
  TRY(read_count("--nodes", given.nodes, &nodes, 1, kMaxRanks));
  figures.ranks = static_cast<std::int64_t>(given.ranks.empty() && nodes > 0 ? nodes : ranks);
  figures.nodes = static_cast<std::int64_t>(nodes);
  if (has_grid(given)) {
    TRY(read_grid(figures, given));
  } else {
    TRY(read_kind(given.parallelism, &figures.parallelism));
    figures.zero_stage = zero_stage_named(given.parallelism);
  }
  if (figures.nodes > figures.ranks) {
    return fail(ErrorKind::Usage, "", "--nodes", "more than --ranks",
                "give as many ranks as nodes, or more");
  }
  return {};
}

Result<> spread(Target& target, const PredictFlags& given, const JobProfile& profile) {
  double ranks = 0;
  double nodes = 0;
  TRY(read_count("--ranks", given.ranks, &ranks, 1, kMaxRanks));
  TRY(read_count("--nodes", given.nodes, &nodes, 1, kMaxRanks));
  if (nodes > 0) target.nodes = static_cast<std::int64_t>(nodes);
  if (nodes > 0 && ranks == 0) {
    const double now = static_cast<double>(profile.nodes > 0 ? profile.nodes : profile.ranks);
    ranks = std::round(nodes * static_cast<double>(profile.ranks) / std::max(now, 1.0));
  }
  if (ranks > 0) target.ranks = static_cast<std::int64_t>(ranks);
  if (ranks > 0 && nodes == 0 && profile.nodes > 0) {  // each host has as many as now
    const double each = std::max(
        1.0, std::round(static_cast<double>(profile.ranks) / static_cast<double>(profile.nodes)));
    target.nodes = static_cast<std::int64_t>(std::ceil(ranks / each));
  }
  return {};
}

// Each rank once, from 0 on.
Result<std::vector<std::int64_t>> rank_order_of(const std::string& text) {
  std::vector<std::int64_t> order;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    order.push_back(sys::parse_non_negative<std::int64_t>(part).value_or(-1));
  }
  std::vector<std::int64_t> sorted = order;
  std::ranges::sort(sorted);
  for (std::size_t rank = 0; rank < sorted.size(); ++rank) {
    if (sorted[rank] != static_cast<std::int64_t>(rank)) {
      return fail(ErrorKind::Usage, "--rank-order", text, "does not have each rank once",
                  "give all of them from 0 on, like 0,2,1,3");
    }
  }
  return order;
}

// That replay the run, and say nothing of another job.
struct OfReplay {
  const char* flag;
  bool is_given;
};

// What computing hides of communication.
Result<> read_hiding(Figures& figures, const PredictFlags& given) {
  std::optional<double> overlap;
  std::optional<double> bucket_bytes;
  TRY(read_share("--overlap", given.overlap, 1, &overlap));
  TRY(read_bucket(given, &bucket_bytes));
  figures.overlap = overlap.value_or(0);
  figures.bucket_bytes = bucket_bytes.value_or(kBucketBytes);
  return {};
}

Result<> read_outer_steps(Figures& figures, const PredictFlags& given) {
  TRY(figures.outer, outer_steps_of(given));
  return read_type("--outer-type", given.outer_type.empty() ? type_of(given) : given.outer_type,
                   &figures.outer_bytes);
}

}  // namespace

Result<std::optional<double>> epochs_of(const PredictFlags& given) {
  std::optional<double> epochs;
  double count = 0;
  TRY(read_count("--epochs", given.epochs, &count));
  if (count > 0) epochs = count;
  if (epochs && given.steps.empty() && given.from.empty()) {
    return fail(ErrorKind::Usage, "", "--epochs", "how many steps they are is not known",
                "give --steps N, too");
  }
  return epochs;
}

Optimizer optimizer_of(const PredictFlags& given) {
  return given.optimizer == "sgd"        ? Optimizer::Plain
         : given.optimizer == "momentum" ? Optimizer::Momentum
                                         : Optimizer::Adam;
}

Result<Figures> figures_of(const PredictFlags& given) {
  Figures figures{.backend = given.backend.empty() ? "nccl" : given.backend,
                  .single_time_s = given_in(math::kNsPerSecond, given.single_time),
                  .compute_ms = given_in(math::kNsPerMs, given.compute),
                  .measured_time_s = given_in(math::kNsPerSecond, given.measured_time)};
  double steps = 0;
  TRY(read_count("--parameters", given.parameters, &figures.parameters));
  TRY(read_type("--type", type_of(given), &figures.parameter_bytes));
  TRY(read_count("--steps", given.steps, &steps));
  TRY(read_hiding(figures, given));
  TRY(read_shape(figures.shape, given));
  TRY(read_calls(figures.calls, given));
  TRY(read_ranks(figures, given));
  TRY(read_power(given.power, &figures.power_w));
  TRY(read_outer_steps(figures, given));
  if (figures.measured_time_s && steps < 1) {
    return fail(ErrorKind::Usage, "", "--measured-time", "is of all steps", "give --steps N, too");
  }
  if (steps > 0) figures.steps = static_cast<std::int64_t>(steps);
  return figures;
}

Result<Target> target_of(const PredictFlags& given) {
  Target target;
  TRY(read_rate("--link", given.link, &target.path.rate_mbps));
  TRY(read_rate("--intra-link", given.intra_link, &target.inside_mbps));
  TRY(read_count("--nics", given.nics, &target.nics, 1, kMostNics));
  TRY(read_rate("--throughput", given.throughput, &target.path.payload_mbps));
  TRY(read_rate("--throughput-back", given.throughput_back, &target.back_mbps));
  if (target.path.payload_mbps && target.path.rate_mbps) {
    return fail(ErrorKind::Usage, "", "--throughput", "replaces --link",
                "give the link's rate, or what was measured over it");
  }
  TRY(read_rtt(given.rtt, &target.path.rtt_ms));
  TRY(read_share("--loss", given.loss, 0.5, &target.path.loss));
  if (given.buffer.count > 0) {
    target.path.window_bytes = static_cast<double>(given.buffer.count);
  }
  target.congestion = given.congestion == "reno"  ? Congestion::Reno
                      : given.congestion == "bbr" ? Congestion::Bbr
                                                  : Congestion::Cubic;
  target.transport = given.transport == "tcp"    ? Transport::Tcp
                     : given.transport == "rdma" ? Transport::Rdma
                                                 : Transport::Unknown;
  target.algorithm = given.algorithm == "tree"           ? Algorithm::Tree
                     : given.algorithm == "hierarchical" ? Algorithm::Hierarchical
                                                         : Algorithm::Ring;
  TRY(target.curve, curve_of(given.curve));
  return target;
}

Result<std::optional<RingChoice>> ring_of(const PredictFlags& given, Target& target) {
  if (given.between.empty()) return std::optional<RingChoice>();
  std::vector<SitePath> paths;
  for (const std::string& text : given.between) {
    TRY(paths.emplace_back(), parse_site_path(text));
  }
  TRY(RingChoice choice, choose_ring(paths));
  target.path.rate_mbps = choice.best.slowest_mbps;
  if (!target.path.rtt_ms && choice.best.rtt_ms > 0) target.path.rtt_ms = choice.best.rtt_ms;
  return std::optional(std::move(choice));
}

Result<> change(Target& target, const PredictFlags& given, const JobProfile& profile,
                const Labels& labels) {
  TRY(spread(target, given, profile));
  if (has_grid(given)) {
    return fail(ErrorKind::Usage, "--parallelism", given.parallelism,
                "a run does not say how large its model is",
                "give the job in figures: --compute and the model's sizes");
  }
  JobChange wanted{.zero_stage = zero_stage_named(given.parallelism)};
  TRY(read_bucket(given, &wanted.bucket_bytes));
  if (!given.parallelism.empty()) {
    TRY(read_kind(given.parallelism, &wanted.parallelism.emplace(Parallelism::Data)));
  }
  if (!given.backend.empty()) wanted.backend = given.backend;
  TRY(read_precision(wanted, given, labels));
  TRY(read_batch(wanted, given, labels));
  TRY(read_share("--overlap", given.overlap, 1, &wanted.overlap));
  TRY(wanted.outer, outer_steps_of(given));
  TRY(target.job, changed(profile, wanted));
  double steps = 0;
  TRY(read_count("--steps", given.steps, &steps));
  if (steps > 0) target.job->steps = static_cast<std::int64_t>(steps);
  return read_power(given.power, &target.job->power_w);
}

Result<std::optional<double>> utilisation_of(const PredictFlags& given) {
  constexpr double kMost = 0.9999;
  std::optional<double> share;
  TRY(read_share("--utilisation", given.utilisation, kMost, &share));
  return share;
}

Result<std::optional<ReplayChange>> replay_change_of(const PredictFlags& given,
                                                     const Target& target) {
  const bool is_other_job = !given.parallelism.empty() || !given.type.empty() ||
                            !given.batch.empty() || !given.backend.empty() ||
                            !given.ranks.empty() || !given.nodes.empty() || has_outer_steps(given);
  const bool is_other_path = target.curve || target.inside_mbps || target.nics > 1 ||
                             target.path.payload_mbps || target.path.window_bytes ||
                             target.transport != Transport::Unknown ||
                             target.algorithm != Algorithm::Ring;
  std::optional<double> late;
  std::optional<double> overlap;
  std::optional<double> bucket_bytes;
  TRY(read_share("--late", given.late, 1, &late));
  TRY(read_share("--overlap", given.overlap, 1, &overlap));
  TRY(read_bucket(given, &bucket_bytes));
  TRY(std::vector<std::int64_t> rank_order, rank_order_of(given.rank_order));
  for (const OfReplay& each :
       {OfReplay{"--late", late.has_value()}, OfReplay{"--rank-order", !rank_order.empty()}}) {
    if (each.is_given && given.from.empty()) {
      return fail(ErrorKind::Usage, "", each.flag, "is of a recorded run", "give --from DIR, too");
    }
    if (each.is_given && (is_other_job || is_other_path)) {
      return fail(ErrorKind::Usage, "", each.flag, "replays the run, on another path at most",
                  "give it with --link, --rtt and --loss alone");
    }
  }
  if (!rank_order.empty() && (bucket_bytes || overlap)) {
    return fail(ErrorKind::Usage, "", "--rank-order", "is replayed with the buckets of the run",
                "leave out --bucket and --overlap");
  }
  if (given.from.empty() || is_other_job || is_other_path) return std::optional<ReplayChange>();
  return ReplayChange{.path = target.path,
                      .congestion = target.congestion,
                      .late_times = late.value_or(1),
                      .bucket_bytes = bucket_bytes,
                      .overlap = overlap,
                      .rank_order = std::move(rank_order)};
}

Result<Money> money_of(const PredictFlags& given) {
  Money money;
  double price = 0;
  TRY(read_count("--runs", given.runs, &money.runs));
  TRY(read_count("--hour-price", given.hour_price, &price, 0));
  if (price > 0) money.hour_price = price;
  for (const std::string& text : given.upgrades) {
    TRY(Upgrade upgrade, parse_upgrade(text));
    money.upgrades.push_back(std::move(upgrade));
  }
  return money;
}

}  // namespace chokepoint::analysis
