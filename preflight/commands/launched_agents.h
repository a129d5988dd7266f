// Agents that a launcher started: why one of them is not there the launcher often knows better than
// the connection that was refused, and sooner: a host that it failed on is waited for no longer.
// Owns neither. One thread.
#pragma once

#include <vector>

#include "preflight/agents/agents.h"
#include "preflight/launch/launch.h"

namespace chokepoint::preflight {

class LaunchedAgents final : public Agents {
 public:
  LaunchedAgents(Agents& agents, Launch& launch, std::size_t hosts)
      : agents_(agents), launch_(launch), settled_(hosts, false) {}

  void ask(HostIndex host, TaskNumber number, const Task& task) override {
    agents_.ask(host, number, task);
  }
  void give_up(HostIndex host, TaskNumber number) override { agents_.give_up(host, number); }
  Result<std::optional<Event>> next(const net::Patience& patience) override;

 private:
  std::optional<Event> failed();
  void settle(Event& event);

  Agents& agents_;
  Launch& launch_;
  std::vector<bool> settled_;  // came, or was told to be gone
};

}  // namespace chokepoint::preflight
