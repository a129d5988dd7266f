// An agent of a preflight, as `chokepoint serve` offers it: it tells the facts of its host and does
// one task after the other as a child process that runs this program again, and nothing else
// (preflight/task). agents.h draws what is said.
//
// One coordinator at a time. It takes no turn: what it starts takes those of the hosts that it is
// tested against, even where serve is --exclusive. When the coordinator goes or the server stops,
// what runs is ended. One object for all sessions; serve() runs on a session's thread.
#pragma once

#include <string>

#include "base/control/session.h"
#include "preflight/agent/floor.h"
#include "preflight/agent/names.h"

namespace chokepoint::preflight {

inline constexpr std::string_view kPreflightKind = "preflight";

class PreflightService final : public control::Service {
 public:
  // What is started; tests have another one.
  explicit PreflightService(std::string program = "/proc/self/exe")
      : program_(std::move(program)) {}

  std::string_view kind() const override { return kPreflightKind; }
  Result<control::Weight> check(const control::Json& parameters,
                                const control::Limits& limits) const override;
  Result<control::Json> serve(control::Session& session, const control::Json& parameters) override;

 private:
  std::string program_;
  CoordinatorLock lock_;
  Names::UnderWay lookups_ = std::make_shared<std::atomic<std::size_t>>(0);
};

}  // namespace chokepoint::preflight
