#include "probe/commands/collective_flags.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>

#include "base/host/launcher.h"
#include "base/host/memory.h"
#include "base/host/settings.h"
#include "base/sys/root.h"
#include "probe/collective/launch/rank_service.h"
#include "probe/collective/operation.h"
#include "probe/collective/order.h"
#include "probe/commands/flag_checks.h"

namespace chokepoint::probe {
namespace {

using collective::Plan;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kUsualSizes = "4K..64M";

Result<std::vector<std::uint64_t>> sizes_of(const CollectiveFlags& given,
                                            collective::ElementType type) {
  if (given.parameters.empty()) {
    return collective::parse_sizes(given.bytes.empty() ? kUsualSizes : given.bytes, given.factor);
  }
  if (!given.bytes.empty()) {
    return fail(ErrorKind::Usage, "", "--parameters", "--bytes names the size already",
                "leave one of them out");
  }
  const Result<double> count = math::parse_count(given.parameters);
  if (!count || *count < 1 || *count > 1e11) {
    return fail(ErrorKind::Usage, "--parameters", given.parameters, "no number of parameters",
                "give one like 708M");
  }
  return std::vector{static_cast<std::uint64_t>(*count) * collective::bytes_of(type)};
}

Result<> check_times(const CollectiveFlags& given) {
  TRY(check_at_least("--time", given.time, milliseconds(1)));
  return check_local_time("--timeout", given.timeout, seconds(1));
}

using collective::Backend;
using collective::Job;
using collective::LeaderOptions;
using collective::MemberOptions;
using collective::RankPlacement;

control::Identity identity(const cli::Context& context) {
  return {.program = "chokepoint " + context.version, .host = sys::host_name(context.root)};
}

// This rank's share of nine tenths of the memory that this host has left.
std::uint64_t memory_for(int local_ranks, const cli::Context& context) {
  const std::optional<std::int64_t> available = host::memory_room(context.root);
  return available
             ? static_cast<std::uint64_t>(*available) / 10 * 9 / static_cast<unsigned>(local_ranks)
             : 0;
}

void print_progress(const cli::Context& context, const collective::SizeResult& size) {
  if (context.err_terminal.interactive && !context.quiet) {
    const auto rate = document_of(size).busbw_mbps;
    fmt::print(context.err, "{:>10}  {}\n",
               math::format_bytes(static_cast<double>(size.operation.bytes)),
               rate ? math::format_rate(*rate * 1e6) : "-");
    context.err << std::flush;
  }
}

Result<const Backend*> backend_of(const CollectiveFlags& given, std::span<const Backend> backends) {
  const auto found = std::ranges::find(backends, given.backend, &Backend::name);
  if (found == backends.end()) {
    return fail(ErrorKind::Unsupported, "", given.backend, "this build does not have it",
                "see 'chokepoint doctor' for what it was built with");
  }
  return &*found;
}

}  // namespace

void define(cli::Flags& flags, CollectiveFlags& given) {
  flags.group("What to measure")
      .choice("backend", &given.backend, {"gloo", "nccl"}, "the library that moves the data")
      .choice(
          "collective,c", &given.collective,
          {"all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "send-receive"},
          "what the ranks do; send-receive: each rank sends to the next one in a ring")
      .option("bytes,b", &given.bytes, "SIZES",
              "one size (64M), a list (1K,1M) or a range (8..512M); default 4K..64M")
      .option("parameters", &given.parameters, "N",
              "instead of --bytes: the number of a model's parameters, like 708M")
      .option("factor", &given.factor, "X", "ratio of a range's neighbouring sizes")
      .option("type", &given.type, "TYPE",
              "element type: float32, float64, float16, bf16, int32, int64, uint8")
      .option("root", &given.root, "RANK", "the rank whose data a broadcast sends", 0,
              collective::kMaxRanks - 1)
      .option("time,t", &given.time, "TIME", "how long each size is measured")
      .option("iterations,n", &given.iterations, "N",
              "iterations of each size, instead of --time; 0: by time", 0, 1'000'000)
      .option("warm-up", &given.warm_up, "N",
              "warm-up iterations, not counted; -1: up to 5 in half a second", -1,
              collective::kMaxIterations)
      .toggle("no-check", &given.no_check, "do not verify the received data")
      .group("Ranks")
      .option("local", &given.local, "N", "start this many ranks on this host", 0,
              collective::kMaxRanksPerHost)
      .option("hosts", &given.hosts, "HOSTS",
              "start ranks on these hosts by the 'chokepoint serve' there: HOST,HOST:PORT or "
              "gpu[1-2]")
      .option("ranks-per-host", &given.ranks_per_host, "N", "with --hosts: ranks on each", 1,
              collective::kMaxRanksPerHost)
      .option("port,p", &given.port, "PORT", "with --hosts: the servers' control port", 1, 65535)
      .option("key-file", &given.key_file, "FILE",
              "with --hosts: the servers' key; else a key that all ranks are given")
      .option("timeout", &given.timeout, "TIME", "how long ranks wait for each other")
      .group("Path")
      .option("interface", &given.interface, "IF",
              "interface of every host that carries the data, or an address; default: the "
              "library's choice")
      .option("algorithm", &given.algorithm, "NAME",
              "an algorithm by the library's name; default: the library's choice")
      .option("gpu", &given.gpu, "N", "nccl: index of the GPU; -1: by the local rank", -1, 1023)
      .group("Requirements")
      .option("min-busbw", &given.min_busbw, "MBPS",
              "exit with 3 if no size reaches this bus bandwidth");
}

Result<Plan> plan_of(const CollectiveFlags& given, int ranks) {
  const auto type = collective::type_named(given.type);
  if (!type) {
    return fail(ErrorKind::Usage, "", fmt::format("--type {}", given.type), "there is no such type",
                "float32, float64, float16, bf16, int32, int64 or uint8");
  }
  Plan plan{.collective = named<collective::Collective>(given.collective)
                              .value_or(collective::Collective::AllReduce),
            .type = *type,
            .root = static_cast<int>(given.root),
            .time = given.time,
            .check = !given.no_check};
  TRY(plan.bytes, sizes_of(given, *type));
  TRY(check_times(given));
  if (given.iterations > 0) {
    plan.iterations = static_cast<int>(given.iterations);
  }
  if (given.warm_up >= 0) {
    plan.warm_up = static_cast<int>(given.warm_up);
  }
  if (plan.root >= ranks) {
    return fail(ErrorKind::Usage, "", "--root",
                fmt::format("there is no rank {} of {}", plan.root, ranks), "ranks count from 0");
  }
  return plan;
}

Result<collective::RankOptions> rank_options_of(const CollectiveFlags& given) {
  collective::RankOptions options{.backend = given.backend,
                                  .interface = given.interface,
                                  .algorithm = given.algorithm,
                                  .timeout = std::chrono::ceil<seconds>(given.timeout)};
  if (given.gpu >= 0) {
    options.gpu = static_cast<int>(given.gpu);
  }
  TRY(check(options));
  return options;
}

std::vector<std::string> hosts_of(const CollectiveFlags& given) {
  std::vector<std::string> hosts;
  for (std::string_view text : given.hosts) {
    // Brackets are of a list, or of addresses: "gpu[1-2]:5210", "[::1]:5210,[::2]".
    if (const auto listed = host::hosts_of(text)) {
      hosts.insert(hosts.end(), listed->begin(), listed->end());
      continue;
    }
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

Result<Job> job_of(const CollectiveFlags& given, std::span<const Backend> backends,
                   const RankPlacement& placement, const cli::Context& context) {
  TRY(const Backend* const library, backend_of(given, backends));
  TRY(const collective::RankOptions options, rank_options_of(given));
  Job job{.position = placement.position,
          .open = library->open,
          .options = {.interface = options.interface,
                      .timeout = options.timeout,
                      .gpu = options.gpu,
                      .algorithm = options.algorithm},
          .memory_bytes = memory_for(placement.local_ranks, context)};
  if (placement.position.local_rank == 0) {
    job.settings = [root = context.root] { return host::read_settings(root); };
  }
  return job;
}

Result<MemberOptions> member_options(const CollectiveFlags& given, const RankPlacement& placement,
                                     int interrupt, const cli::Context& context) {
  MemberOptions options{.meeting = placement.meeting,
                        .ports = placement.ports,
                        .key = placement.secret,
                        .who = {.job = placement.job,
                                .rank = placement.position.rank,
                                .ranks = placement.position.ranks,
                                .host = placement.position.host,
                                .program = identity(context).program},
                        .timeout = std::chrono::ceil<seconds>(given.timeout),
                        .interrupt = interrupt};
  if (!placement.secret && !given.key_file.empty()) {
    TRY(const control::Secret key, control::read_key_for(given.key_file, placement.meeting.host));
    options.key = key;
  }
  return options;
}

Result<std::vector<control::ClientOptions>> server_options(const CollectiveFlags& given,
                                                           const std::vector<std::string>& hosts,
                                                           const cli::Context& context) {
  control::ClientOptions common;
  common.own = identity(context);
  std::vector<control::ClientOptions> servers;
  for (const std::string& text : hosts) {
    TRY(const net::HostPort host,
        net::parse_host_port(text, static_cast<std::uint16_t>(given.port)));
    servers.push_back(common);
    servers.back().peer = host;
    if (!given.key_file.empty()) {
      TRY(const control::Secret key, control::read_key_for(given.key_file, host.host));
      servers.back().key = key;
    }
  }
  return servers;
}

LeaderOptions leader_options(const CollectiveFlags& given, int ranks, int interrupt,
                             const cli::Context& context) {
  return {
      .job = {},
      .ranks = ranks,
      .meeting = {.own = identity(context)},
      .timeout = std::chrono::ceil<seconds>(given.timeout),
      .interrupt = interrupt,
      .on_size = [&context](const collective::SizeResult& size) { print_progress(context, size); }};
}

}  // namespace chokepoint::probe
