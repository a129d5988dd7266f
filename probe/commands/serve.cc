// chokepoint serve: the server that probes on other hosts need, and beside it the servers for stock
// iperf3 and nuttcp clients and for those of QUIC's protocol perf. The command waits in
// serve::Server::run(); every foreign server has a thread of its own, and the log lines of all of
// them are printed one at a time.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/cli/command.h"
#include "base/cli/flags.h"
#include "base/cli/text.h"
#include "base/control/handshake.h"
#include "base/control/key.h"
#include "base/control/limits.h"
#include "base/host/memory.h"
#include "base/net/address.h"
#include "base/net/socket.h"
#include "base/sys/descriptor.h"
#include "base/sys/number.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "base/sys/thread.h"
#include "probe/commands/commands.h"
#include "probe/commands/kinds.h"
#include "probe/iperf3/protocol.h"
#include "probe/iperf3/server.h"
#include "probe/nuttcp/protocol.h"
#include "probe/nuttcp/server.h"
#include "probe/peer/acceptor.h"
#include "probe/quic/connection.h"
#include "probe/quic/perf_client.h"
#include "probe/quic/perf_server.h"
#include "probe/serve/process.h"
#include "probe/serve/server.h"
#include "probe/tcp/parameters.h"

namespace chokepoint::probe {
namespace {

struct ForeignServerFlags {
  bool iperf3 = false;
  bool nuttcp = false;
  bool perf = false;
};

constexpr int kControlBacklog = 1024;
constexpr int kForeignBacklog = 256;
// Of all tests together; but one test may always have all the streams that are granted, each way.
constexpr std::int64_t kMaxThreads = 1024;

// A host without IPv6 still serves IPv4.
bool is_family_missing(const Error& error) {
  return error.kind == ErrorKind::Unsupported || error.kind == ErrorKind::Unreachable;
}

// The servers for other programs' clients, a thread each. Opened before privileges are
// dropped; stopped and joined by the destructor.
class ForeignServers {
 public:
  using Log = std::function<void(const std::string& line)>;

  // Listens on these addresses, each server on its usual port; on others than loopback only with
  // `insecure_open`.
  static Result<ForeignServers> open(const ForeignServerFlags& flags,
                                     const std::vector<net::Address>& addresses, bool insecure_open,
                                     const Log& log);
  ForeignServers(ForeignServers&&) = default;
  ForeignServers& operator=(ForeignServers&&) = delete;
  ~ForeignServers();

  // `log` is called from the servers' threads; it and the test queue outlive them.
  Result<> start(const control::Limits& limits, const sys::Root& root,
                 control::TestQueue& test_queue, const Log& log);

 private:
  template <class Options>
  using Serve = Result<> (*)(std::vector<sys::Descriptor> listeners, const Options& options,
                             int stop);

  explicit ForeignServers(sys::Descriptor stop) : stop_(std::move(stop)) {}
  // A thread, where there are listeners.
  template <class Options>
  Result<> start_one(const char* name, std::vector<sys::Descriptor>& listeners,
                     Serve<Options> serve, const Options& options);

  sys::Descriptor stop_;
  std::vector<sys::Descriptor> iperf3_;
  std::vector<sys::Descriptor> nuttcp_;
  std::vector<sys::Descriptor> perf_;
  std::vector<std::thread> threads_;
};

using Listen = Result<sys::Descriptor>(const net::Endpoint& local);

Result<sys::Descriptor> listen_tcp(const net::Endpoint& local) {
  return net::listen(local, kForeignBacklog, {});
}

Result<std::vector<sys::Descriptor>> listen_on(const std::vector<net::Address>& addresses,
                                               std::uint16_t port, bool insecure_open,
                                               const std::string& flag, Listen* listen,
                                               const ForeignServers::Log& log) {
  std::vector<sys::Descriptor> listeners;
  Error problem{.kind = ErrorKind::Usage,
                .operation = "",
                .subject = flag,
                .reason = "there is no address to listen on"};
  for (const net::Address& address : addresses) {
    const net::Endpoint local{address, port};
    TRY(peer::check_openness(local, insecure_open, flag));
    Result<sys::Descriptor> listener = listen(local);
    if (listener) {
      listeners.push_back(std::move(*listener));
      log("listening on " + local.text() + " for " + flag.substr(2));
    } else if (is_family_missing(listener.error())) {
      problem = listener.error();
    } else {
      return std::unexpected(listener.error());
    }
  }
  if (listeners.empty()) {
    return fail(std::move(problem));
  }
  return listeners;
}

Result<ForeignServers> ForeignServers::open(const ForeignServerFlags& flags,
                                            const std::vector<net::Address>& addresses,
                                            bool insecure_open, const Log& log) {
  ForeignServers servers(sys::Descriptor(eventfd(0, EFD_CLOEXEC)));
  if (!servers.stop_) {
    return fail(from_errno(errno, "prepare", "servers"));
  }
  if (flags.iperf3) {
    TRY(servers.iperf3_,
        listen_on(addresses, iperf3::kDefaultPort, insecure_open, "--iperf3", listen_tcp, log));
  }
  if (flags.nuttcp) {
    TRY(servers.nuttcp_,
        listen_on(addresses, nuttcp::kControlPort, insecure_open, "--nuttcp", listen_tcp, log));
  }
  if (flags.perf) {
    TRY(quic::can_quic());
    TRY(servers.perf_,
        listen_on(addresses, quic::kPerfPort, insecure_open, "--perf", quic::listen_perf, log));
  }
  return servers;
}

template <class Options>
Result<> ForeignServers::start_one(const char* name, std::vector<sys::Descriptor>& listeners,
                                   Serve<Options> serve, const Options& options) {
  if (listeners.empty()) {
    return {};
  }
  TRY(std::thread thread, sys::start_thread(name, [stop = stop_.get(), serve, options,
                                                   taken = std::move(listeners)]() mutable {
        if (const Result<> served = serve(std::move(taken), options, stop); !served) {
          options.log(describe(served.error()));
        }
      }));
  threads_.push_back(std::move(thread));
  return {};
}

Result<> ForeignServers::start(const control::Limits& limits, const sys::Root& root,
                               control::TestQueue& test_queue, const Log& log) {
  TRY(start_one<iperf3::ServerOptions>(
      "iperf3", iperf3_, iperf3::serve,
      {.test_queue = test_queue, .limits = limits, .root = root, .log = log}));
  TRY(start_one<nuttcp::ServerOptions>(
      "nuttcp", nuttcp_, nuttcp::serve,
      {.test_queue = test_queue, .limits = limits, .root = root, .log = log}));
  return start_one<quic::PerfServerOptions>(
      "perf acceptor", perf_, quic::serve_perf,
      {.test_queue = test_queue, .limits = limits, .root = root, .log = log});
}

ForeignServers::~ForeignServers() {
  const std::uint64_t one = 1;
  if (stop_) {
    static_cast<void>(write(stop_.get(), &one, sizeof(one)));
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

enum class Admitted { Local, WithTheKey, WithItsHostsKey, Everyone };

struct Keys {
  control::KeyRing ring = {};
  std::optional<control::KeyFolder> folder = {};
  std::string text = {};  // of the key that all share, for what a service starts in its turn
};

class ServeCommand final : public cli::Command {
 public:
  explicit ServeCommand(std::vector<ServiceFactory> others) : others_(std::move(others)) {}

  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  using Log = ForeignServers::Log;
  // Every listening port, opened before privileges are dropped.
  struct Open {
    std::vector<sys::Descriptor> listeners;
    ForeignServers foreign;
  };

  control::Services all_services(const ServiceContext& context) const;
  bool open_to_all() const { return insecure_open_ || leash_ || !key_file_.empty(); }
  Result<> check_flags() const;
  // Empty where clients need none.
  Result<Keys> read_key_files() const;
  Admitted admitted_by(const Keys& keys) const;
  Result<std::vector<net::Endpoint>> endpoints() const;
  Result<std::vector<sys::Descriptor>> listen_all(const cli::Context& context) const;
  control::Limits limits(const cli::Context& context) const;
  Result<ForeignServers> open_foreign(const Log& log) const;
  Result<Open> open(const cli::Context& context, const Log& log) const;
  control::Capacity capacity(const cli::Context& context) const;
  serve::ServerOptions server_options(const cli::Context& context, const Keys& keys) const;
  Result<cli::ExitCode> serve(const Keys& keys, int stop, const cli::Context& context) const;

  std::vector<ServiceFactory> others_;
  std::int64_t port_ = control::kPort;
  std::vector<std::string> bind_;
  std::string key_file_;
  bool insecure_open_ = false;
  bool leash_ = false;
  bool exclusive_ = false;
  std::int64_t most_clients_ = 32;
  std::int64_t most_streams_ = 128;
  std::chrono::nanoseconds longest_ = std::chrono::hours(1);
  math::Bytes most_memory_{0};
  math::Bytes largest_window_{std::uint64_t{512} << 20};
  math::Rate fastest_;
  std::string user_;
  std::string offer_;
  ForeignServerFlags foreign_;
};

// Where everybody is admitted, or a host has a key of its own, no worker calls another server.
bool may_call_others(Admitted admitted) {
  return admitted == Admitted::Local || admitted == Admitted::WithTheKey;
}

std::vector<std::string> kinds_of(const control::Services& services) {
  std::vector<std::string> kinds;
  std::ranges::transform(services, std::back_inserter(kinds),
                         [](const auto& service) { return std::string(service->kind()); });
  return kinds;
}

struct Withheld {
  std::string_view reason;
  std::string_view next_step;
};

// Whether `kind` is not offered, and why. Everyone could start programs here, and have them connect
// to whom they like; what a preflight starts has to show one key to every other host.
std::optional<Withheld> withheld(std::string_view kind, Admitted admitted) {
  const bool starts_programs = kind == "collective" || kind == "preflight";
  if (admitted == Admitted::Everyone && starts_programs) {
    return Withheld{"with --insecure-open every client could start programs here",
                    "give --key-file FILE instead"};
  }
  if (admitted == Admitted::WithItsHostsKey && kind == "preflight") {
    return Withheld{"what it starts here needs one key for all hosts",
                    "give --key-file one file, the same on all hosts"};
  }
  return std::nullopt;
}

// `offer`: kinds of tests, with commas between them; empty: all of them that are allowed.
Result<control::Services> chosen(control::Services services, const std::string& offer,
                                 Admitted admitted) {
  std::set<std::string> wanted;
  for (const auto part : std::views::split(offer, ',')) {
    wanted.emplace(part.begin(), part.end());
  }
  wanted.erase("");
  if (!quic::can_quic()) {
    std::erase_if(services, [](const auto& service) { return service->kind() == "quic"; });
  }
  const std::vector<std::string> kinds = kinds_of(services);
  control::Services result;
  for (auto& service : services) {
    const std::string kind(service->kind());
    const std::optional<Withheld> why_not = withheld(kind, admitted);
    if (why_not && wanted.contains(kind)) {
      return fail(ErrorKind::Usage, "", "--offer " + kind, why_not->reason,
                  std::string(why_not->next_step));
    }
    if (offer.empty() ? !why_not : wanted.erase(kind) == 1) {
      result.push_back(std::move(service));
    }
  }
  if (!wanted.empty()) {
    return fail(ErrorKind::Usage, "", "--offer " + *wanted.begin(), "there is no such test",
                fmt::format("one or more of {}", fmt::join(kinds, ",")));
  }
  return result;
}

// The wildcard (or loopback) address of both families.
std::vector<net::Endpoint> everywhere(std::uint16_t port, bool loopback) {
  return {{net::Address::parse(loopback ? "127.0.0.1" : "0.0.0.0").value(), port},
          {net::Address::parse(loopback ? "::1" : "::").value(), port}};
}

control::Services ServeCommand::all_services(const ServiceContext& context) const {
  control::Services services = kind_services(context);
  std::ranges::transform(others_, std::back_inserter(services),
                         [](const ServiceFactory& make) { return make(); });
  return services;
}

cli::Summary ServeCommand::summary() const {
  return {
      .name = "serve",
      .purpose = "the peer for probes",
      .description =
          "Answers 'chokepoint probe', 'chokepoint rdma' and 'chokepoint preflight' from other "
          "hosts, many of them at once, until Ctrl-C or SIGTERM end it, with exit code 0. Tests "
          "that fill the path wait in a queue and run one after the other.\n\n"
          "With --key-file only clients with the same key may test. Without a key it listens on "
          "loopback only, unless --insecure-open admits every client that reaches the port. With "
          "--leash the key is read from standard input, and the server ends when standard input is "
          "closed: 'chokepoint preflight' uses this to start it on other hosts for its own "
          "duration.",
      .examples = {{"chokepoint serve --key-file /etc/chokepoint.key", "for clients with the key"},
                   {"chokepoint serve --insecure-open", "on a private network"},
                   {"head -c 32 /dev/urandom | base64 > chokepoint.key; chmod 600 "
                    "chokepoint.key",
                    "makes a key"}},
      .json = false};
}

void ServeCommand::define(cli::Flags& flags) {
  flags.group("Listening and access")
      .option("port,p", &port_, "PORT", "control and data port, TCP", 1, 65535)
      .option("bind", &bind_, "ADDRESS", "listen on this address only; may be repeated")
      .option("key-file", &key_file_, "FILE",
              "the key that clients must have, or a folder with a key named as each host")
      .toggle("insecure-open", &insecure_open_, "admit every client, without a key")
      .toggle("leash", &leash_,
              "the key is standard input's first line, and the server ends with that input")
      .option("user", &user_, "NAME", "switch to this user after opening the port")
      .group("What to grant")
      .toggle("exclusive", &exclusive_,
              "one client at a time: refuse other clients instead of queueing them")
      .option("offer", &offer_, "KINDS",
              fmt::format("tests to offer, with commas: {}; responsiveness is latency under load, "
                          "facts is how this host is set up; default: all of them, with "
                          "--insecure-open without collective and preflight, which start programs "
                          "here",
                          fmt::join(kinds_of(all_services({})), ", ")))
      .option("max-clients", &most_clients_, "N", "clients at once", 1, 10000)
      .option("max-streams", &most_streams_, "N", "connections of one test", 1, 1024)
      .option(
          "max-memory", &most_memory_, "SIZE",
          "memory of all tests together; default: a quarter of what is free, or 4 MiB for each of "
          "--max-streams, whichever is more")
      .option("max-window", &largest_window_, "SIZE", "the largest socket buffer of a connection")
      .option("max-time", &longest_, "TIME", "the longest test")
      .option("max-rate", &fastest_, "RATE", "the fastest test; 0 for no limit");
  flags.group("Clients of other programs")
      .toggle("iperf3", &foreign_.iperf3, "answer iperf3 clients, too, on port 5201")
      .toggle("nuttcp", &foreign_.nuttcp, "answer nuttcp clients, too, on port 5000")
      .toggle("perf", &foreign_.perf,
              "answer clients of QUIC's protocol perf, too, on UDP port 4433");
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
      return fail(ErrorKind::Usage, "", "--bind " + text, "this would admit every client",
                  "give --key-file FILE, or --insecure-open on a private network");
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
    if (!bind_.empty() || !is_family_missing(listener.error())) {
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

// --key-file does not open these ports to others: stock clients have no key.
Result<ForeignServers> ServeCommand::open_foreign(const ForeignServers::Log& log) const {
  TRY(const std::vector<net::Endpoint> wanted, endpoints());
  std::vector<net::Address> addresses;
  std::ranges::transform(wanted, std::back_inserter(addresses), &net::Endpoint::address);
  return ForeignServers::open(foreign_, addresses, insecure_open_, log);
}

control::Limits ServeCommand::limits(const cli::Context& context) const {
  control::Limits limits{.longest_test = longest_, .streams = most_streams_};
  if (fastest_.bits_per_second > 0) {
    limits.rate_bits_per_s = fastest_.bits_per_second;
  }
  limits.buffer_bytes =
      static_cast<std::int64_t>(std::min<std::uint64_t>(largest_window_.count, INT64_MAX));
  const auto granted = [&](const char* path) {
    return sys::parse_number<std::int64_t>(context.root.text(path).value_or(""));
  };
  const auto receive = granted("/proc/sys/net/core/rmem_max");
  const auto send = granted("/proc/sys/net/core/wmem_max");
  if (receive && send) {
    limits.kernel_buffer_bytes = std::max(*receive, *send);
  }
  return limits;
}

Result<> ServeCommand::check_flags() const {
  if (leash_ && (insecure_open_ || !key_file_.empty())) {
    return fail(ErrorKind::Usage, "", insecure_open_ ? "--insecure-open" : "--key-file",
                "with --leash the key comes by standard input", "leave one of them out");
  }
  return {};
}

Admitted ServeCommand::admitted_by(const Keys& keys) const {
  if (keys.ring.is_empty()) {
    return insecure_open_ ? Admitted::Everyone : Admitted::Local;
  }
  return keys.text.empty() ? Admitted::WithItsHostsKey : Admitted::WithTheKey;
}

Result<Keys> ServeCommand::read_key_files() const {
  if (key_file_.empty()) {
    return Keys{};
  }
  if (control::is_folder(key_file_)) {
    control::KeyFolder folder(key_file_);
    TRY(control::KeyRing ring, control::read_keys_of_hosts(key_file_));
    return Keys{.ring = std::move(ring), .folder = std::move(folder)};
  }
  TRY(const std::string text, control::read_key_text(key_file_));
  return Keys{.ring = control::secret_of(text), .text = text};
}

control::Capacity ServeCommand::capacity(const cli::Context& context) const {
  control::Capacity capacity{.threads = std::max(kMaxThreads, 2 * most_streams_)};
  if (most_memory_.count > 0) {
    capacity.bytes =
        static_cast<std::int64_t>(std::min<std::uint64_t>(most_memory_.count, INT64_MAX));
  } else if (const std::optional<std::int64_t> room = host::memory_room(context.root)) {
    capacity.bytes =
        std::max(*room / 4, most_streams_ * static_cast<std::int64_t>(tcp::kReceiveBytes));
  }
  return capacity;
}

serve::ServerOptions ServeCommand::server_options(const cli::Context& context,
                                                  const Keys& keys) const {
  return {.own = {.program = "chokepoint " + context.version, .host = sys::host_name(context.root)},
          .keys = keys.ring,
          .key_folder = keys.folder,
          .most_clients = static_cast<std::size_t>(most_clients_),
          .exclusive = exclusive_,
          .capacity = capacity(context)};
}

Result<ServeCommand::Open> ServeCommand::open(const cli::Context& context, const Log& log) const {
  TRY(std::vector<sys::Descriptor> listeners, listen_all(context));
  TRY(ForeignServers foreign, open_foreign(log));
  TRY(serve::become(user_));
  return Open{std::move(listeners), std::move(foreign)};
}

Result<cli::ExitCode> ServeCommand::run(cli::Context& context) {
  TRY(check_flags());
  if (!leash_) {
    // Before signals are held: a key file may be a pipe, and waiting for its writer can be ended.
    TRY(const Keys keys, read_key_files());
    TRY(const sys::Signals signals, sys::Signals::watch({SIGINT, SIGTERM}));
    return serve(keys, signals.descriptor(), context);
  }
  // SIGHUP, too, must end the server in order: nothing may stay behind.
  TRY(const sys::Signals signals, sys::Signals::watch_for_end());
  TRY(const std::string text, serve::read_key(STDIN_FILENO, signals.descriptor()));
  const Keys keys{.ring = control::secret_of(text), .text = text};
  TRY(const std::unique_ptr<serve::StdinLifetime> leash,
      serve::StdinLifetime::hold(STDIN_FILENO, signals.descriptor()));
  return serve(keys, leash->over(), context);
}

Result<cli::ExitCode> ServeCommand::serve(const Keys& keys, int stop,
                                          const cli::Context& context) const {
  std::mutex one_line_at_a_time;
  const Log log = [&](const std::string& line) {
    const std::lock_guard lock(one_line_at_a_time);
    if (!context.quiet) {
      fmt::print(context.err, "{}\n", cli::printable(line));  // peers' names and words stand in it
    }
  };
  const Admitted admitted = admitted_by(keys);
  TRY(const control::Services services,
      chosen(all_services({.program = "chokepoint " + context.version,
                           .may_call_others = may_call_others(admitted)}),
             offer_, admitted));
  TRY(Open opened, open(context, log));
  sys::raise_descriptor_limit();  // one per stream
  const control::ServerContext shared{.clock = context.clock,
                                      .root = context.root,
                                      .limits = limits(context),
                                      .stop = stop,
                                      .key = keys.text};
  serve::Server server(server_options(context, keys), shared, services, log);
  ForeignServers foreign = std::move(opened.foreign);  // ends before the server's test queue does
  TRY(foreign.start(shared.limits, shared.root, server.test_queue(), log));
  serve::notify_ready(context.environment("NOTIFY_SOCKET"));
  TRY(server.run(std::move(opened.listeners)));
  return cli::ExitCode::Done;
}

}  // namespace

cli::CommandFactory serve_command(std::vector<ServiceFactory> others) {
  return cli::command<ServeCommand>(std::move(others));
}

}  // namespace chokepoint::probe
