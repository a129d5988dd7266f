#include "probe/commands/collective_options.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>

#include "base/host/memory.h"
#include "base/sys/root.h"
#include "probe/commands/collective_report.h"

namespace chokepoint::probe {
namespace {

using collective::Backend;
using collective::Job;
using collective::LeaderOptions;
using collective::MemberOptions;
using collective::RankPlacement;
using std::chrono::seconds;

control::Identity identity(const cli::Context& context) {
  return {.program = "chokepoint " + context.version, .host = sys::host_name(context.root)};
}

// Of what this host has left, this rank's part; the system keeps some.
std::uint64_t memory_for(int local_ranks, const cli::Context& context) {
  const std::optional<std::int64_t> available = host::memory_room(context.root);
  return available
             ? static_cast<std::uint64_t>(*available) / 10 * 9 / static_cast<unsigned>(local_ranks)
             : 0;
}

void tell(const cli::Context& context, const collective::SizeResult& size) {
  if (context.err_terminal.interactive && !context.quiet) {
    const auto rate = busbw_mbps(size);
    fmt::print(context.err, "{:>10}  {}\n",
               math::format_bytes(static_cast<double>(size.operation.bytes)),
               rate ? math::format_rate(*rate * 1e6) : "-");
    context.err << std::flush;
  }
}

Result<const Backend*> backend_of(const CollectiveFlags& told, std::span<const Backend> backends) {
  const auto found = std::ranges::find(backends, told.backend, &Backend::name);
  if (found == backends.end()) {
    return fail(ErrorKind::Unsupported, "", told.backend, "this build does not have it",
                "see 'chokepoint doctor' for what it was built with");
  }
  return &*found;
}

}  // namespace

Result<Job> job_of(const CollectiveFlags& told, std::span<const Backend> backends,
                   const RankPlacement& seat, const cli::Context& context) {
  const Result<const Backend*> library = backend_of(told, backends);
  const Result<collective::RankOptions> options = rank_options_of(told);
  if (!library || !options) {
    return std::unexpected(library ? options.error() : library.error());
  }
  return Job{.place = seat.place,
             .open = (*library)->open,
             .options = {.interface = options->interface,
                         .timeout = options->timeout,
                         .gpu = options->gpu,
                         .algorithm = options->algorithm},
             .memory_bytes = memory_for(seat.local_ranks, context)};
}

Result<MemberOptions> member_options(const CollectiveFlags& told, const RankPlacement& seat,
                                     int interrupt, const cli::Context& context) {
  MemberOptions options{.meeting = seat.meeting,
                        .ports = seat.ports,
                        .key = seat.secret,
                        .who = {.job = seat.job,
                                .rank = seat.place.rank,
                                .ranks = seat.place.ranks,
                                .host = seat.place.host,
                                .program = identity(context).program},
                        .timeout = std::chrono::ceil<seconds>(told.timeout),
                        .interrupt = interrupt};
  if (!seat.secret && !told.key_file.empty()) {
    TRY(const control::Secret key, control::read_key(told.key_file));
    options.key = key;
  }
  return options;
}

Result<std::vector<control::ClientOptions>> server_options(const CollectiveFlags& told,
                                                           const std::vector<std::string>& hosts,
                                                           const cli::Context& context) {
  control::ClientOptions common;
  common.own = identity(context);
  if (!told.key_file.empty()) {
    TRY(const control::Secret key, control::read_key(told.key_file));
    common.key = key;
  }
  std::vector<control::ClientOptions> servers;
  for (const std::string& text : hosts) {
    TRY(const net::HostPort host,
        net::parse_host_port(text, static_cast<std::uint16_t>(told.port)));
    servers.push_back(common);
    servers.back().peer = host;
  }
  return servers;
}

LeaderOptions leader_options(const CollectiveFlags& told, int ranks, int interrupt,
                             const cli::Context& context) {
  return {.job = {},
          .ranks = ranks,
          .meeting = {.own = identity(context)},
          .timeout = std::chrono::ceil<seconds>(told.timeout),
          .interrupt = interrupt,
          .on_size = [&context](const collective::SizeResult& size) { tell(context, size); }};
}

}  // namespace chokepoint::probe
