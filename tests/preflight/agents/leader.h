// Leads made-up rounds through a pool, as simply as can be: every host that comes is asked so many
// times, one task after the other, and what happens is kept.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "preflight/agents/agent_pool.h"

namespace chokepoint::preflight {

// All of these answer at once, if their machine lets them.
inline AgentPoolOptions patient(std::vector<net::HostPort> hosts) {
  AgentPoolOptions options{.hosts = std::move(hosts)};
  options.handshake = std::chrono::seconds(60);
  options.getting_ready = std::chrono::seconds(60);
  options.own = {.program = "chokepoint 0.1.0", .host = "coordinator"};
  return options;
}

inline Task latency(const std::string& peer) {
  return {.kind = TaskKind::Latency, .peer = peer, .time = std::chrono::milliseconds(10)};
}

struct Story {
  std::map<HostIndex, AgentJoined> came = {};
  std::map<HostIndex, AgentLeft> went = {};
  std::map<HostIndex, std::vector<Result<control::Json>>> answers = {};

  std::set<HostIndex> all_answered(std::size_t times) const {
    std::set<HostIndex> hosts;
    for (const auto& [host, list] : answers) {
      const bool good = std::ranges::all_of(list, [](const auto& each) { return bool(each); });
      if (good && list.size() == times) {
        hosts.insert(host);
      }
    }
    return hosts;
  }
};

class Leader {
 public:
  Leader(AgentPool& pool, std::size_t hosts, int times)
      : crew_(pool), open_(hosts), times_(times) {}

  // Until every host has answered all or is gone.
  Story lead(std::chrono::seconds most) {
    const net::Deadline deadline = net::Deadline::of(most);
    while (open_ > 0) {
      const Result<std::optional<Event>> event = crew_.next(deadline);
      if (!event || !*event) {
        break;
      }
      std::visit([&](const auto& each) { happened(each); }, **event);
    }
    return std::move(story_);
  }

 private:
  void ask(HostIndex host) { crew_.ask(host, next_++, latency("127.1.0.1")); }

  void happened(const AgentJoined& came) {
    story_.came[came.host] = came;
    ask(came.host);
  }
  void happened(const AgentLeft& went) {
    story_.went[went.host] = went;
    const auto answers = story_.answers.find(went.host);
    const bool was_done = answers != story_.answers.end() &&
                          answers->second.size() >= static_cast<std::size_t>(times_);
    open_ -= was_done ? 0 : 1;
  }
  void happened(const Answered& answered) {
    auto& answers = story_.answers[answered.host];
    answers.push_back(answered.document);
    if (answers.size() < static_cast<std::size_t>(times_)) {
      ask(answered.host);
    } else if (answers.size() == static_cast<std::size_t>(times_)) {
      --open_;
    }
  }

  AgentPool& crew_;
  std::size_t open_;
  int times_;
  TaskNumber next_ = 1;
  Story story_;
};

inline Story lead(AgentPoolOptions options, int times, std::chrono::seconds most) {
  const std::size_t hosts = options.hosts.size();
  Result<std::unique_ptr<AgentPool>> pool = AgentPool::make(std::move(options));
  return pool ? Leader(**pool, hosts, times).lead(most) : Story{};
}

}  // namespace chokepoint::preflight
