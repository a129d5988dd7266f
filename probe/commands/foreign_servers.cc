#include "probe/commands/foreign_servers.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "base/net/socket.h"
#include "probe/iperf3/protocol.h"
#include "probe/iperf3/server.h"
#include "probe/nuttcp/protocol.h"
#include "probe/nuttcp/server.h"
#include "probe/peer/door.h"

namespace chokepoint::probe {
namespace {

constexpr int kForeignBacklog = 256;

Result<std::vector<sys::Descriptor>> listen_on(const std::vector<net::Address>& addresses,
                                               std::uint16_t port, bool insecure_open,
                                               const std::string& flag,
                                               const ForeignServers::Log& log) {
  std::vector<sys::Descriptor> listeners;
  Error problem{.kind = ErrorKind::Usage,
                .operation = "",
                .subject = flag,
                .reason = "there is no address to listen on"};
  for (const net::Address& address : addresses) {
    const net::Endpoint local{address, port};
    TRY(peer::check_openness(local, insecure_open, flag));
    Result<sys::Descriptor> listener = net::listen(local, kForeignBacklog, {});
    if (listener) {
      listeners.push_back(std::move(*listener));
      log("listening on " + local.text() + " for " + flag.substr(2));
    } else if (listener.error().kind == ErrorKind::Unsupported ||
               listener.error().kind == ErrorKind::Unreachable) {
      // A host without IPv6 serves IPv4 all the same.
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

}  // namespace

void define(cli::Flags& flags, ForeignServerFlags& foreign) {
  flags.group("Clients of other programs")
      .toggle("iperf3", &foreign.iperf3, "answer iperf3 clients, too, on port 5201")
      .toggle("nuttcp", &foreign.nuttcp, "answer nuttcp clients, too, on port 5000");
}

Result<ForeignServers> ForeignServers::open(const ForeignServerFlags& flags,
                                            const std::vector<net::Address>& addresses,
                                            bool insecure_open, const Log& log) {
  ForeignServers servers(sys::Descriptor(eventfd(0, EFD_CLOEXEC)));
  if (!servers.stop_) {
    return fail(from_errno(errno, "prepare", "servers"));
  }
  const auto take = [&](bool wanted, std::uint16_t port, const std::string& flag,
                        std::vector<sys::Descriptor>& into) -> Result<> {
    if (!wanted) {
      return {};
    }
    TRY(std::vector<sys::Descriptor> listeners,
        listen_on(addresses, port, insecure_open, flag, log));
    into = std::move(listeners);
    return {};
  };
  Result<> done = take(flags.iperf3, iperf3::kDefaultPort, "--iperf3", servers.iperf3_);
  done = done ? take(flags.nuttcp, nuttcp::kControlPort, "--nuttcp", servers.nuttcp_) : done;
  if (!done) {
    return std::unexpected(done.error());
  }
  return servers;
}

void ForeignServers::start(const control::Limits& limits, const sys::Root& root, const Log& log) {
  const int stop = stop_.get();
  const auto note = [&log](const Result<>& done) {
    if (!done) {
      log(describe(done.error()));
    }
  };
  if (!iperf3_.empty()) {
    threads_.emplace_back([=, &log, listeners = std::move(iperf3_)]() mutable {
      note(iperf3::serve(std::move(listeners), {.limits = limits, .root = root, .log = log}, stop));
    });
  }
  if (!nuttcp_.empty()) {
    threads_.emplace_back([=, &log, listeners = std::move(nuttcp_)]() mutable {
      note(nuttcp::serve(std::move(listeners), {.limits = limits, .root = root, .log = log}, stop));
    });
  }
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

}  // namespace chokepoint::probe
