// What an agent and its coordinator say to each other, from Ready to Result. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/control/session.h"
#include "base/net/patience.h"
#include "preflight/agent/job.h"
#include "preflight/agent/names.h"
#include "preflight/result/host_facts.h"
#include "preflight/task/task.h"

namespace chokepoint::preflight {

class Conversation {
 public:
  Conversation(control::Session& session, std::string program, Names::UnderWay lookups)
      : session_(session), program_(std::move(program)), lookups_(std::move(lookups)) {}

  // The body of the Result, once the coordinator says Stop.
  Result<control::Json> hold(const HostFacts& facts);

 private:
  using Number = std::uint32_t;

  // Until there may be news, or it is time to look anyhow.
  Result<> wait() const;
  // Some of what has been said by now. True once the coordinator has said Stop.
  Result<bool> hear();
  Result<> hear(const control::Message& message);
  Result<> begin(const control::Json& body);
  Result<std::unique_ptr<Job>> start(const Task& task) const;
  Result<> look();
  Result<> report(Number number, const Result<control::Json>& result);
  Result<> say(const control::Message& message);

  control::Session& session_;
  std::string program_;
  Names::UnderWay lookups_;
  std::unique_ptr<Job> job_;
  Number number_ = 0;
  net::Patience::Clock::time_point idle_since_ = net::Patience::Clock::now();
};

}  // namespace chokepoint::preflight
