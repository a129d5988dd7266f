// A probe server in this process, on a port of loopback that the kernel chose, and clients for it.
#pragma once

#include <sys/eventfd.h>

#include <optional>
#include <thread>
#include <utility>

#include "base/control/client.h"
#include "base/net/socket.h"
#include "base/sys/clock.h"
#include "probe/serve/server.h"

namespace chokepoint::fakes {

class ProbeServer {
 public:
  explicit ProbeServer(control::Services services,
                       probe::serve::ServerOptions options = {.own = {"chokepoint test", "hubble"}},
                       control::Limits limits = {}, sys::Root root = sys::Root("/"))
      : services_(std::move(services)),
        stop_(eventfd(0, EFD_CLOEXEC)),
        server_(std::move(options),
                {.clock = clock_, .root = std::move(root), .limits = limits, .stop = stop_.get()},
                services_, [](const std::string&) {}) {
    const net::Endpoint any{net::Address::parse("127.0.0.1").value(), 0};
    std::vector<sys::Descriptor> listeners;
    listeners.push_back(std::move(net::listen(any, 1024, {}).value()));
    endpoint_ = net::local_endpoint(listeners.front().get()).value();
    thread_ = std::thread([this, listeners = std::move(listeners)]() mutable {
      std::ignore = server_.run(std::move(listeners));
    });
  }
  ProbeServer(const ProbeServer&) = delete;
  ProbeServer& operator=(const ProbeServer&) = delete;
  ~ProbeServer() { stop(); }

  void stop() {
    if (thread_.joinable()) {
      const std::uint64_t one = 1;
      std::ignore = write(stop_.get(), &one, sizeof(one));
      thread_.join();
    }
  }

  const net::Endpoint& endpoint() const { return endpoint_; }

  Result<control::Client> client(std::optional<control::Secret> key = std::nullopt,
                                 const std::string& host = "voyager") const {
    return control::Client::connect(
        {.peer = {"127.0.0.1", endpoint_.port}, .key = key, .own = {"chokepoint test", host}},
        net::Deadline::of(std::chrono::seconds(10)));
  }

 private:
  sys::SystemClock clock_;
  control::Services services_;
  sys::Descriptor stop_;
  probe::serve::Server server_;
  net::Endpoint endpoint_;
  std::thread thread_;
};

}  // namespace chokepoint::fakes
