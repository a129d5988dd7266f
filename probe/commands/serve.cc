#include "probe/commands/serve.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <iterator>
#include <mutex>

#include "base/control/handshake.h"
#include "base/net/socket.h"
#include "base/sys/descriptor.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "probe/collective/launch/rank_service.h"
#include "probe/latency/service.h"
#include "probe/path/service.h"
#include "probe/serve/leash.h"
#include "probe/serve/privileges.h"
#include "probe/serve/ready.h"
#include "probe/serve/server.h"
#include "probe/tcp/service.h"
#include "probe/udp/service.h"

namespace chokepoint::probe {
namespace {

constexpr int kControlBacklog = 1024;

control::Services own_services() {
  control::Services services;
  services.push_back(std::make_unique<tcp::TcpService>());
  services.push_back(std::make_unique<path::PathService>());
  services.push_back(std::make_unique<udp::UdpService>());
  services.push_back(std::make_unique<latency::LatencyService>());
  services.push_back(std::make_unique<collective::RankService>());
  return services;
}

// Both families of any address; a host may have only one of them.
std::vector<net::Endpoint> everywhere(std::uint16_t port, bool loopback) {
  return {{net::Address::parse(loopback ? "127.0.0.1" : "0.0.0.0").value(), port},
          {net::Address::parse(loopback ? "::1" : "::").value(), port}};
}

}  // namespace

cli::Summary ServeCommand::summary() const {
  return {
      .name = "serve",
      .purpose = "the peer for probes",
      .description =
          "Answers 'chokepoint probe', 'chokepoint rdma' and 'chokepoint preflight' from other "
          "hosts, many of them at once, until it is interrupted. Tests that fill the path queue, "
          "one after the other.\n\n"
          "With --key-file only who has the same key may test. Without a key it listens on "
          "loopback alone, unless --insecure-open lets everybody in who reaches the port. With "
          "--leash the key comes by standard input, and the end of that is the server's: so "
          "'chokepoint preflight' starts it on other hosts for as long as it lasts.",
      .examples = {{"chokepoint serve --key-file /etc/chokepoint.key", "for whoever has the key"},
                   {"chokepoint serve --insecure-open", "on a network of one's own"},
                   {"head -c 32 /dev/urandom | base64 > chokepoint.key; chmod 600 "
                    "chokepoint.key",
                    "makes a key"}},
      .json = false};
}

void ServeCommand::define(cli::Flags& flags) {
  flags.group("Where to listen, and to whom")
      .option("port,p", &port_, "PORT", "control and data port, TCP", 1, 65535)
      .option("bind", &bind_, "ADDRESS", "listen on this address only; may be given again")
      .option("key-file", &key_file_, "FILE", "the key that clients must have")
      .toggle("insecure-open", &insecure_open_, "let everybody in, without a key")
      .toggle("leash", &leash_,
              "the key is standard input's first line, and the server ends with that input")
      .option("user", &user_, "NAME", "become this user once the port is open")
      .group("What to grant")
      .toggle(
          "exclusive", &exclusive_,
          "one client's tests at a time: refuse who comes meanwhile instead of letting it queue")
      .option("max-clients", &most_clients_, "N", "clients at once", 1, 10000)
      .option("max-streams", &most_streams_, "N", "connections of one test", 1, 1024)
      .option("max-window", &largest_window_, "SIZE", "the largest socket buffer of a connection")
      .option("max-time", &longest_, "TIME", "the longest test")
      .option("max-rate", &fastest_, "RATE", "the fastest test; 0 for no limit");
  probe::define(flags, foreign_);
}

Result<std::vector<net::Endpoint>> ServeCommand::endpoints() const {
  const auto port = static_cast<std::uint16_t>(port_);
  if (bind_.empty()) {
    return everywhere(port, !open_to_all());
  }
  std::vector<net::Endpoint> endpoints;
  for (const std::string& text : bind_) {
    TRY(const net::Address address, net::Address::parse(text));
    if (!address.is_loopback() && !open_to_all()) {
      return fail(ErrorKind::Usage, "", "--bind " + text, "this would let everybody in",
                  "give --key-file FILE, or --insecure-open where the network is your own");
    }
    endpoints.push_back({address, port});
  }
  return endpoints;
}

Result<std::vector<sys::Descriptor>> ServeCommand::listen_all(const cli::Context& context) const {
  TRY(const std::vector<net::Endpoint> wanted, endpoints());
  std::vector<sys::Descriptor> listeners;
  std::optional<Error> problem;
  for (const net::Endpoint& endpoint : wanted) {
    Result<sys::Descriptor> listener = net::listen(endpoint, kControlBacklog, {});
    if (listener) {
      listeners.push_back(std::move(*listener));
      if (!context.quiet) {
        fmt::print(context.err, "listening on {}\n", endpoint.text());
      }
      continue;
    }
    // A host without IPv6 serves IPv4 all the same, unless it was asked for by name.
    const bool absent = listener.error().kind == ErrorKind::Unsupported ||
                        listener.error().kind == ErrorKind::Unreachable;
    if (!bind_.empty() || !absent) {
      Error error = listener.error();
      error.next_step = error.kind == ErrorKind::Busy
                            ? "is it running already? --port gives this one another port"
                            : error.next_step;
      return fail(std::move(error));
    }
    problem = listener.error();
  }
  if (listeners.empty()) {
    return fail(*problem);
  }
  return listeners;
}

// A key does not help there: these clients have none.
Result<ForeignServers> ServeCommand::open_foreign(const ForeignServers::Log& log) const {
  std::vector<net::Address> addresses;
  if (const Result<std::vector<net::Endpoint>> wanted = endpoints()) {
    std::ranges::transform(*wanted, std::back_inserter(addresses), &net::Endpoint::address);
  }
  return ForeignServers::open(foreign_, addresses, insecure_open_, log);
}

control::Limits ServeCommand::limits() const {
  control::Limits limits{.longest_test = longest_, .streams = most_streams_};
  if (fastest_.bits_per_second > 0) {
    limits.rate_bits_per_s = fastest_.bits_per_second;
  }
  limits.buffer_bytes =
      static_cast<std::int64_t>(std::min<std::uint64_t>(largest_window_.count, INT64_MAX));
  return limits;
}

Result<> ServeCommand::check_flags() const {
  if (leash_ && (insecure_open_ || !key_file_.empty())) {
    return fail(ErrorKind::Usage, "", insecure_open_ ? "--insecure-open" : "--key-file",
                "with --leash the key comes by standard input", "leave one of them out");
  }
  return {};
}

Result<std::string> ServeCommand::read_key(int interrupt) const {
  if (leash_) {
    return serve::read_leash(STDIN_FILENO, interrupt);
  }
  return key_file_.empty() ? Result<std::string>("") : control::read_key_text(key_file_);
}

serve::ServerOptions ServeCommand::server_options(const cli::Context& context,
                                                  const std::string& key) const {
  serve::ServerOptions options{
      .own = {.program = "chokepoint " + context.version, .host = sys::host_name(context.root)},
      .most_clients = static_cast<std::size_t>(most_clients_),
      .exclusive = exclusive_};
  if (!key.empty()) {
    options.key = control::secret_of(key);
  }
  return options;
}

Result<ServeCommand::Open> ServeCommand::open(const cli::Context& context, const Log& log) const {
  TRY(std::vector<sys::Descriptor> listeners, listen_all(context));
  TRY(ForeignServers foreign, open_foreign(log));
  TRY(serve::become(user_));
  return Open{std::move(listeners), std::move(foreign)};
}

Result<cli::ExitCode> ServeCommand::run(cli::Context& context) {
  TRY(check_flags());
  // On a leash a terminal that goes is no reason to leave anything behind.
  const Result<sys::Signals> signals = leash_ ? sys::Signals::watch({SIGINT, SIGTERM, SIGHUP})
                                              : sys::Signals::watch({SIGINT, SIGTERM});
  if (!signals) {
    return std::unexpected(signals.error());
  }
  TRY(const std::string key, read_key(signals->descriptor()));
  if (!leash_) {
    return serve(key, signals->descriptor(), context);
  }
  const Result<std::unique_ptr<serve::StdinLifetime>> leash =
      serve::StdinLifetime::hold(STDIN_FILENO, signals->descriptor());
  return leash ? serve(key, (*leash)->over(), context) : std::unexpected(leash.error());
}

Result<cli::ExitCode> ServeCommand::serve(const std::string& key, int stop,
                                          const cli::Context& context) const {
  std::mutex one_line_at_a_time;
  const Log log = [&](const std::string& line) {
    const std::lock_guard lock(one_line_at_a_time);
    if (!context.quiet) {
      fmt::print(context.err, "{}\n", line);
    }
  };
  TRY(Open opened, open(context, log));
  sys::raise_descriptor_limit();  // every stream is one
  const control::Surroundings surroundings{
      .clock = context.clock, .root = context.root, .limits = limits(), .stop = stop, .key = key};
  control::Services services = own_services();
  for (const ServiceFactory& make : others_) {
    services.push_back(make());
  }
  serve::Server server(server_options(context, key), surroundings, services, log);
  opened.foreign.start(surroundings.limits, context.root, log);
  serve::tell_ready(context.environment("NOTIFY_SOCKET"));
  const Result<> ran = server.run(std::move(opened.listeners));
  return ran ? Result<cli::ExitCode>(cli::ExitCode::Done) : std::unexpected(ran.error());
}

}  // namespace chokepoint::probe
