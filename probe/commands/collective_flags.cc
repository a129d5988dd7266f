#include "probe/commands/collective_flags.h"

#include <fmt/format.h>

#include "probe/collective/launch/rank_service.h"
#include "probe/collective/order.h"
#include "probe/collective/sizes.h"

namespace chokepoint::probe {
namespace {

using collective::Plan;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kUsualSizes = "4K..64M";

Result<std::vector<std::uint64_t>> sizes_of(const CollectiveFlags& told,
                                            collective::ElementType type) {
  if (told.parameters.empty()) {
    return collective::parse_sizes(told.bytes.empty() ? kUsualSizes : told.bytes, told.factor);
  }
  if (!told.bytes.empty()) {
    return fail(ErrorKind::Usage, "", "--parameters", "--bytes names the size already",
                "leave one of them out");
  }
  const Result<double> count = math::parse_count(told.parameters);
  if (!count || *count < 1 || *count > 1e11) {
    return fail(ErrorKind::Usage, "--parameters", told.parameters, "no number of parameters",
                "give one like 708M");
  }
  return std::vector{static_cast<std::uint64_t>(*count) * collective::bytes_of(type)};
}

Result<> check_times(const CollectiveFlags& told) {
  if (told.time < milliseconds(1)) {
    return fail(ErrorKind::Usage, "", "--time", "must be 1 ms or more");
  }
  if (told.timeout < seconds(1) || told.timeout > seconds(3600)) {
    return fail(ErrorKind::Usage, "", "--timeout", "must be from 1 s to 1 h");
  }
  return {};
}

}  // namespace

void define(cli::Flags& flags, CollectiveFlags& told) {
  flags.group("What to measure")
      .choice("backend", &told.backend, {"gloo", "nccl"}, "the library that moves the data")
      .choice(
          "collective,c", &told.collective,
          {"all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "send-receive"},
          "what the ranks do; send-receive: each to the next one, round the ring")
      .option("bytes,b", &told.bytes, "SIZES",
              "one (64M), some (1K,1M) or a range (8..512M); default 4K..64M")
      .option("parameters", &told.parameters, "N", "the size of a model instead, like 708M")
      .option("factor", &told.factor, "X", "from one size of a range to the next")
      .option("type", &told.type, "TYPE",
              "of an element: float32, float64, float16, bf16, int32, int64, uint8")
      .option("root", &told.root, "RANK", "whose data a broadcast spreads", 0,
              collective::kMostRanks - 1)
      .option("time,t", &told.time, "TIME", "for each size")
      .option("iterations,n", &told.iterations, "N", "for each size, instead of --time; 0: by time",
              0, 1'000'000)
      .option("warm-up", &told.warm_up, "N",
              "iterations that do not count; -1: up to 5 in half a second", -1,
              collective::kMostIterations)
      .toggle("no-check", &told.no_check, "do not hold the data against what they should be")
      .group("Who takes part")
      .option("local", &told.local, "N", "this many ranks on this host, started here", 0,
              collective::kMostRanksPerHost)
      .option("hosts", &told.hosts, "HOSTS",
              "ranks on these hosts, started by the 'chokepoint serve' there: HOST,HOST:PORT")
      .option("ranks-per-host", &told.ranks_per_host, "N", "with --hosts", 1,
              collective::kMostRanksPerHost)
      .option("port,p", &told.port, "PORT", "with --hosts: their control port", 1, 65535)
      .option("key-file", &told.key_file, "FILE",
              "with --hosts the key that the servers were given, else one that all ranks have")
      .option("timeout", &told.timeout, "TIME", "how long ranks wait for each other")
      .group("Which way")
      .option("interface", &told.interface, "IF",
              "the data's, on every host, or an address; the library's choice where not given")
      .option("algorithm", &told.algorithm, "NAME",
              "as the library calls it; its default if not given")
      .option("gpu", &told.gpu, "N", "nccl: this one; -1: by the local rank", -1, 1023)
      .group("What is enough")
      .option("min-busbw", &told.min_busbw, "MBPS",
              "exit with 3 if no size reaches this bus bandwidth");
}

Result<Plan> plan_of(const CollectiveFlags& told, int ranks) {
  const auto type = collective::parse_element_type(told.type);
  if (!type) {
    return fail(ErrorKind::Usage, "", fmt::format("--type {}", told.type), "there is no such type",
                "float32, float64, float16, bf16, int32, int64 or uint8");
  }
  Plan plan{
      .collective =
          collective::parse_collective(told.collective).value_or(collective::Collective::AllReduce),
      .type = *type,
      .root = static_cast<int>(told.root),
      .time = told.time,
      .check = !told.no_check};
  Result<std::vector<std::uint64_t>> sizes = sizes_of(told, *type);
  const Result<> times = check_times(told);
  if (!sizes || !times) {
    return std::unexpected(sizes ? times.error() : sizes.error());
  }
  plan.bytes = std::move(*sizes);
  if (told.iterations > 0) {
    plan.iterations = static_cast<int>(told.iterations);
  }
  if (told.warm_up >= 0) {
    plan.warm_up = static_cast<int>(told.warm_up);
  }
  if (plan.root >= ranks) {
    return fail(ErrorKind::Usage, "", "--root",
                fmt::format("there is no rank {} of {}", plan.root, ranks), "ranks count from 0");
  }
  return plan;
}

Result<collective::RankOptions> rank_options_of(const CollectiveFlags& told) {
  collective::RankOptions options{.backend = told.backend,
                                  .interface = told.interface,
                                  .algorithm = told.algorithm,
                                  .timeout = std::chrono::ceil<seconds>(told.timeout)};
  if (told.gpu >= 0) {
    options.gpu = static_cast<int>(told.gpu);
  }
  // As a server would look at it.
  const auto sound = collective::rank_options_in(body_of(options));
  if (!sound) {
    return fail(ErrorKind::Usage, "", "--interface, --algorithm", "a name with odd characters",
                "give it as the host and the library write it");
  }
  return options;
}

std::vector<std::string> hosts_of(const CollectiveFlags& told) {
  std::vector<std::string> hosts;
  for (std::string_view text : told.hosts) {
    while (!text.empty()) {
      const std::size_t comma = std::min(text.find(','), text.size());
      if (comma > 0) {
        hosts.emplace_back(text.substr(0, comma));
      }
      text.remove_prefix(std::min(comma + 1, text.size()));
    }
  }
  return hosts;
}

}  // namespace chokepoint::probe
