// The flags of `predict`, and what the models take from them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "analysis/commands/predict.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMaxRanks = 100'000;
constexpr double kMaxMicroBatches = 1024;

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
  const bool is_percentage = text.ends_with('%');
  const std::string_view digits(text.data(), text.size() - (is_percentage ? 1 : 0));
  const double share =
      sys::parse_non_negative<double>(digits).value_or(-1) * (is_percentage ? 0.01 : 1);
  if (share < 0 || share > most) {
    return fail(ErrorKind::Usage, flag, text, "not a share",
                fmt::format("give 0 to {}, or a percentage like 0.1%", most));
  }
  *target = share;
  return {};
}

Result<> read_type(std::string_view flag, const std::string& type, double* bytes) {
  const std::optional<double> found = element_bytes(type);
  if (!found) {
    return fail(ErrorKind::Usage, flag, type, "unknown type",
                "give fp32, bf16, fp16, fp8, int8 or fp64");
  }
  *bytes = *found;
  return {};
}

Result<> read_rtt(const std::string& text, std::optional<double>* rtt_ms) {
  if (text.empty()) return {};
  TRY(const std::chrono::nanoseconds rtt, of_flag("--rtt", math::parse_duration(text)));
  *rtt_ms = static_cast<double>(rtt.count()) / 1e6;
  return {};
}

Result<> read_link(const std::string& text, std::optional<double>* rate_mbps) {
  if (text.empty()) return {};
  TRY(const math::Rate rate, of_flag("--link", parse_link(text)));
  *rate_mbps = rate.bits_per_second / 1e6;
  return {};
}

// nullopt where the flag was not given.
std::optional<double> given_in(double unit_ns, std::chrono::nanoseconds time) {
  if (time.count() <= 0) return std::nullopt;
  return static_cast<double>(time.count()) / unit_ns;
}

void read_parallelism(Figures& figures, const std::string& text) {
  if (text == "tp") figures.parallelism = Parallelism::Tensor;
  if (text == "pp") figures.parallelism = Parallelism::Pipeline;
  if (text.starts_with("zero")) {
    figures.parallelism = Parallelism::Zero;
    figures.zero_stage = text == "zero1" ? 1 : text == "zero3" ? 3 : 2;
  }
}

Result<> read_shape(Shape& shape, const PredictFlags& given) {
  TRY(read_type("--activations", given.activations.empty() ? given.type : given.activations,
                &shape.activation_bytes));
  TRY(read_count("--layers", given.layers, &shape.layers));
  TRY(read_count("--hidden", given.hidden, &shape.hidden));
  TRY(read_count("--batch", given.batch, &shape.batch));
  TRY(read_count("--sequence", given.sequence, &shape.sequence));
  TRY(read_count("--vocabulary", given.vocabulary, &shape.vocabulary));
  return read_count("--micro-batches", given.micro_batches, &shape.micro_batches, 1,
                    kMaxMicroBatches);
}

Result<std::optional<Curve>> curve_of(const std::string& place) {
  if (place.empty()) return std::optional<Curve>();
  std::error_code failed;
  if (std::filesystem::is_directory(place, failed)) {
    return fail(ErrorKind::Usage, "--curve", place, "is a folder",
                "give a file with what 'chokepoint probe collective --json' printed");
  }
  std::ifstream file(place, std::ios::binary);
  if (!file) {
    return fail(ErrorKind::NotFound, "--curve", place, "cannot be read",
                "give a file with what 'chokepoint probe collective --json' printed");
  }
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return parse_curve(text, place);
}

void define_job(cli::Flags& flags, PredictFlags& given) {
  flags.group("The job, from a run")
      .option("from", &given.from, "DIR", "folder of a recorded run, instead of the figures below")
      .group("The job, in figures")
      .option("parameters", &given.parameters, "N", "number of the model's parameters, like 708M")
      .option("type", &given.type, "TYPE", "data type of exchanged gradients: fp32, bf16, fp16 …")
      .option("ranks", &given.ranks, "N", "number of ranks; default: 2")
      .option("nodes", &given.nodes, "N", "number of hosts; default: one for each rank")
      .option("steps", &given.steps, "N", "number of steps that these ranks take")
      .option("single-time", &given.single_time, "TIME",
              "time that all steps take on a single processor")
      .option("compute", &given.compute, "TIME",
              "computing time of one rank in one step, instead of --single-time")
      .option("measured-time", &given.measured_time, "TIME",
              "measured time of all steps on these ranks: the prediction starts from it, and the "
              "link that would explain it is named")
      .choice("parallelism", &given.parallelism,
              {"dp", "tp", "pp", "zero", "zero1", "zero2", "zero3"},
              "how the work is divided among the ranks")
      .choice("backend", &given.backend, {"nccl", "gloo"}, "communication library")
      .option("overlap", &given.overlap, "SHARE",
              "share of the backward pass that can hide communication, from 0 (none) to 1 (all "
              "that DDP's buckets allow); default: 0")
      .option("bucket", &given.bucket, "SIZE", "size of DDP's gradient buckets")
      .group("A transformer, for tp and pp")
      .option("layers", &given.layers, "N", "number of layers")
      .option("hidden", &given.hidden, "N", "hidden size, the width of a layer")
      .option("batch", &given.batch, "N", "samples per step of one copy of the model")
      .option("sequence", &given.sequence, "N", "tokens per sample")
      .option("micro-batches", &given.micro_batches, "N", "micro-batches per step; default: 1")
      .option("vocabulary", &given.vocabulary, "N",
              "pp: size of the vocabulary, if the first and last stage share its embeddings")
      .option("activations", &given.activations, "TYPE",
              "data type of activations; default: as --type");
}

void define_network(cli::Flags& flags, PredictFlags& given) {
  flags.group("The network")
      .option("link", &given.link, "RATE", "rate of the slowest link, one way: 10G, 25GbE, 25GB/s")
      .option("rtt", &given.rtt, "TIME", "round-trip time of the idle path")
      .option("loss", &given.loss, "SHARE", "share of packets lost: 0.001 or 0.1%")
      .option("buffer", &given.buffer, "SIZE", "smallest of the sockets' buffers and windows")
      .choice("congestion", &given.congestion, {"cubic", "reno", "bbr"}, "TCP congestion control")
      .choice("transport", &given.transport, {"auto", "tcp", "rdma"},
              "auto: NCCL above 25 Gb/s uses RDMA, all else TCP")
      .choice("algorithm", &given.algorithm, {"ring", "tree"}, "algorithm of NCCL's all-reduce")
      .option("curve", &given.curve, "FILE",
              "measured all-reduce times: the output of 'probe collective --json'")
      .group("Cost of an upgrade")
      .option("upgrade", &given.upgrades, "LINK=COST",
              "a link to compare with, and its price: 5GbE=41000, switch:10G=60000")
      .option("runs", &given.runs, "N", "number of runs that share the cost; default: 1")
      .option("hour-price", &given.hour_price, "PRICE", "price of one hour of all ranks");
}

}  // namespace

Result<Figures> figures_of(const PredictFlags& given) {
  Figures figures{.backend = given.backend,
                  .single_time_s = given_in(math::kNsPerSecond, given.single_time),
                  .compute_ms = given_in(math::kNsPerMs, given.compute),
                  .measured_time_s = given_in(math::kNsPerSecond, given.measured_time),
                  .bucket_bytes = static_cast<double>(given.bucket.count)};
  double ranks = 2;
  double nodes = 0;
  double steps = 0;
  std::optional<double> overlap;
  TRY(read_count("--parameters", given.parameters, &figures.parameters));
  TRY(read_type("--type", given.type, &figures.parameter_bytes));
  TRY(read_count("--ranks", given.ranks, &ranks, 1, kMaxRanks));
  TRY(read_count("--nodes", given.nodes, &nodes, 1, kMaxRanks));
  TRY(read_count("--steps", given.steps, &steps));
  TRY(read_share("--overlap", given.overlap, 1, &overlap));
  TRY(read_shape(figures.shape, given));
  if (given.bucket.count == 0) {
    return fail(ErrorKind::Usage, "", "--bucket", "must be 1 byte or more");
  }
  if (figures.measured_time_s && steps < 1) {
    return fail(ErrorKind::Usage, "", "--measured-time", "is of all steps", "give --steps N, too");
  }
  read_parallelism(figures, given.parallelism);
  figures.ranks = static_cast<std::int64_t>(given.ranks.empty() && nodes > 0 ? nodes : ranks);
  figures.nodes = static_cast<std::int64_t>(nodes);
  if (figures.nodes > figures.ranks) {
    return fail(ErrorKind::Usage, "", "--nodes", "more than --ranks",
                "give as many ranks as nodes, or more");
  }
  if (steps > 0) figures.steps = static_cast<std::int64_t>(steps);
  figures.overlap = overlap.value_or(0);
  return figures;
}

Result<Target> target_of(const PredictFlags& given) {
  Target target;
  TRY(read_link(given.link, &target.path.rate_mbps));
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
  target.algorithm = given.algorithm == "tree" ? Algorithm::Tree : Algorithm::Ring;
  TRY(target.curve, curve_of(given.curve));
  return target;
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
  return {};
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

void define(cli::Flags& flags, PredictFlags& given) {
  define_job(flags, given);
  define_network(flags, given);
}

}  // namespace chokepoint::analysis
