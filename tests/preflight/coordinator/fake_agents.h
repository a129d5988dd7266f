// Agents that are made up: they answer what a test says, when its clock says so, and hold what they
// were asked. Two tests at once on a host, or a second task before the first has ended, are counted
// as faults. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "preflight/agents/agents.h"
#include "tests/fakes/manual_clock.h"

namespace chokepoint::preflight {

struct Asked {
  HostIndex host = 0;
  Task task = {};
  std::size_t beside = 0;  // tasks that were on at that time
};

class FakeAgents final : public Agents {
 public:
  explicit FakeAgents(std::size_t hosts);

  // Host h is called "h<h>", and stands at 10.0.0.<h + 1>.
  static std::string name(HostIndex host) { return "h" + std::to_string(host); }
  static std::string address(HostIndex host) { return "10.0.0." + std::to_string(host + 1); }
  HostFacts facts(HostIndex host) const;

  fakes::ManualClock clock;

  // What a test makes different.
  std::map<HostIndex, Presence> absent = {};  // Lost: nothing is ever heard of it
  std::function<void(HostFacts&)> change_facts = {};
  std::function<std::optional<Result<control::Json>>(const Asked&)> answer = {};
  std::function<bool(const Asked&)> goes = {};    // instead of an answer
  std::function<bool(const Asked&)> silent = {};  // no answer ever
  std::function<bool(const Asked&)> interrupts = {};
  std::optional<std::size_t> breaks_after = {};  // events

  std::vector<Asked> asked = {};
  std::set<HostIndex> gone = {};
  std::size_t faults = 0;
  std::size_t on() const { return working_.size(); }
  std::size_t count(TaskKind kind) const;

  void ask(HostIndex host, TaskNumber number, const Task& task) override;
  void give_up(HostIndex host, TaskNumber number) override;
  Result<std::optional<Event>> next(const net::Deadline& deadline) override;

 private:
  struct Work {
    TaskNumber number = 0;
    std::optional<HostIndex> peer = {};
  };
  using Time = std::int64_t;

  void plan(Time at, Event event) { events_.emplace(at, std::move(event)); }
  bool is_busy(HostIndex host) const;
  std::optional<HostIndex> peer_of(const Task& task) const;

  std::size_t hosts_;
  bool interrupted_ = false;
  std::size_t told_ = 0;
  std::multimap<Time, Event> events_;
  std::map<HostIndex, Work> working_;
};

// A document such as the task's command prints.
control::Json document_for(const Task& task);

}  // namespace chokepoint::preflight
