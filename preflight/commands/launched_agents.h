// Agents that a launcher started: why one of them is not there the launcher often knows better than
// the connection that was refused. Owns neither. One thread.
#pragma once

#include "preflight/agents/agents.h"
#include "preflight/launch/launch.h"

namespace chokepoint::preflight {

class LaunchedAgents final : public Agents {
 public:
  LaunchedAgents(Agents& agents, Launch& launch) : agents_(agents), launch_(launch) {}

  void ask(HostIndex host, TaskNumber number, const Task& task) override {
    agents_.ask(host, number, task);
  }
  void give_up(HostIndex host, TaskNumber number) override { agents_.give_up(host, number); }
  Result<std::optional<Event>> next(const net::Patience& patience) override {
    Result<std::optional<Event>> event = agents_.next(patience);
    if (event && *event) {
      if (Went* went = std::get_if<Went>(&**event)) {
        went->error = launch_.trouble(went->host).value_or(std::move(went->error));
      }
    }
    return event;
  }

 private:
  Agents& agents_;
  Launch& launch_;
};

}  // namespace chokepoint::preflight
