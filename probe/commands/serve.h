// chokepoint serve: the peer for probes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/cli/command.h"
#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/net/address.h"
#include "base/sys/descriptor.h"
#include "probe/commands/foreign_servers.h"
#include "probe/serve/leash.h"
#include "probe/serve/server.h"

namespace chokepoint::probe {

using ServiceFactory = std::function<std::unique_ptr<control::Service>()>;

class ServeCommand final : public cli::Command {
 public:
  // `others`: kinds of tests that are not the probes' own, offered beside them.
  explicit ServeCommand(std::vector<ServiceFactory> others = {}) : others_(std::move(others)) {}

  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  using Log = ForeignServers::Log;
  // Every port there is to listen on, opened while the privilege for it lasts.
  struct Open {
    std::vector<sys::Descriptor> listeners;
    ForeignServers foreign;
  };

  bool open_to_all() const { return insecure_open_ || leash_ || !key_file_.empty(); }
  Result<> check_flags() const;
  // Empty where clients need none.
  Result<std::string> read_key(int interrupt) const;
  Result<std::vector<net::Endpoint>> endpoints() const;
  Result<std::vector<sys::Descriptor>> listen_all(const cli::Context& context) const;
  control::Limits limits() const;
  Result<ForeignServers> open_foreign(const Log& log) const;
  Result<Open> open(const cli::Context& context, const Log& log) const;
  serve::ServerOptions server_options(const cli::Context& context, const std::string& key) const;
  Result<cli::ExitCode> serve(const std::string& key, int stop, const cli::Context& context) const;

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
  math::Bytes largest_window_{std::uint64_t{512} << 20};
  math::Rate fastest_;
  std::string user_;
  ForeignServerFlags foreign_;
};

}  // namespace chokepoint::probe
