// What the sources of `chokepoint preflight` and `chokepoint ask` share: preflight.cc reads the
// flags, hosts.cc finds the hosts, conduct.cc runs the tests, show.cc judges and prints the result.
// One thread; AgentPool has its own for names.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/cli/command.h"
#include "base/cli/context.h"
#include "base/net/address.h"
#include "base/sys/error.h"
#include "measure/baseline/baseline.h"
#include "preflight/agents/agents.h"
#include "preflight/coordinator/coordinator.h"
#include "preflight/judge/limits.h"
#include "preflight/launch/launch.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight {

// Which hosts are tested: named on the command line, in a file, or by the Slurm job that this runs
// in.
struct HostFlags {
  std::vector<std::string> hosts = {};  // HOST, HOST:PORT, USER@HOST, gpu[01-16], a,b
  std::string file = {};
  std::int64_t port = control::kPort;
};

// At least two, none of them twice; mistakes are of kind Usage.
Result<std::vector<coordinator::HostWanted>> wanted_hosts(const HostFlags& flags,
                                                          const cli::Environment& environment);

// One of those words.
Result<std::vector<coordinator::HostWanted>> hosts_in(const std::string& word, std::uint16_t port);

struct Conduct {
  coordinator::Wanted wanted = {};
  Limits limits = {};    // these decide meanwhile which ways are tested again
  std::string key = {};  // as a key file holds it; empty without one
  std::optional<net::Family> family = {};
  Launcher launcher = Launcher::None;
  std::uint16_t port = control::kPort;  // of agents that are started
  std::string program = {};
  std::string copy = {};
  std::chrono::milliseconds appear{0};  // for so long an agent may not be there yet
};

struct AgentPoolOptions;
// How the agents of its hosts are called.
AgentPoolOptions pool_options(const Conduct& conduct, int interrupt, const cli::Context& context);

// Starts agents if wanted, connects to them and runs the plan; owns them until it returns. Returns
// what was measured, also if it was interrupted or the connections failed.
Result<Measured> conduct(const Conduct& conduct, const cli::Context& context);

// Agents that a launcher started. The launcher often knows sooner and better than the refused
// connection why an agent is missing: its error is reported instead, and the host not waited for.
// Owns neither.
class LaunchedAgents final : public Agents {
 public:
  LaunchedAgents(Agents& agents, Launch& launch, std::size_t hosts)
      : agents_(agents), launch_(launch), settled_(hosts, false) {}

  void ask(HostIndex host, TaskNumber number, const Task& task) override {
    agents_.ask(host, number, task);
  }
  void give_up(HostIndex host, TaskNumber number) override { agents_.give_up(host, number); }
  Result<std::optional<Event>> next(const net::Deadline& deadline) override;

 private:
  std::optional<Event> failed();
  void settle(Event& event);

  Agents& agents_;
  Launch& launch_;
  std::vector<bool> settled_;  // came, or was reported as gone
};

// The addresses of a host's name; may block. Malformed if another host's name resolves only to
// loopback: this host would be tested in its place. `own` is this host's name.
Result<std::vector<net::Address>> resolve_here(const std::string& name,
                                               std::optional<net::Family> only,
                                               const std::string& own);

// Loopback is right for the own name, with or without a domain, and for localhost.
bool may_be_loopback(const std::string& name, const std::string& own);

// Where and how the result is shown.
struct Showing {
  Limits limits = {};
  std::optional<Measured> before = {};
  bool strict = false;
  bool drain_list = false;
  bool all = false;
  std::string output = {};  // the page; empty: none
  std::string keep = {};    // the document; empty: none
  baseline::Flags record = {};
};

// Before anything is measured: whether what is asked for can be written at all. Leaves nothing.
Result<> can_show(const Showing& showing);

// Unreachable where no two hosts could be tested.
Result<cli::ExitCode> show(const Showing& showing, const Measured& measured,
                           const cli::Context& context);

}  // namespace chokepoint::preflight
