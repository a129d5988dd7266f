// The agents on all hosts, as the coordinator of a preflight uses them: tasks go out, and events
// come back in the order in which they happen. Behind it are connections (agent_pool.h), or made-up
// hosts. One thread.
//
//   coordinator                                        agent: the `preflight` service of serve
//     Request {kind preflight, parameters {…}} ─────────►
//     ◄──────────────────────── Ready {facts, settings}       or Failed: another preflight is on
//     Begin {task, kind, …} ────────────────────────────►     one at a time
//     ◄─────────────────────── Report {task, document}        or Report {task, error {…}}
//     Note {task} ──────────────────────────────────────►     give this task up; a Report says that
//                                                             it has, where it had not answered
//     Stop {} ──────────────────────────────────────────►
//     ◄─────────────────────────────────────── Result {}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/control/message.h"
#include "base/host/settings.h"
#include "base/net/deadline.h"
#include "base/sys/error.h"
#include "preflight/task/host_facts.h"
#include "preflight/task/measured.h"
#include "preflight/task/task.h"

namespace chokepoint::preflight {

using TaskNumber = std::uint32_t;

// The agent has let the coordinator in.
struct AgentJoined {
  HostIndex host = 0;
  std::string address = {};
  std::string program = {};
  HostFacts facts = {};
  host::Settings settings = {};  // empty of an agent that sends none
};

// It has not, or the connection has ended. Nothing more comes from this host.
struct AgentLeft {
  HostIndex host = 0;
  Presence presence = Presence::Lost;
  Error error = {};
};

struct Answered {
  HostIndex host = 0;
  TaskNumber task = 0;
  Result<control::Json> document = {};
};

using Event = std::variant<AgentJoined, AgentLeft, Answered>;

class Agents {
 public:
  virtual ~Agents() = default;

  // The agent works on one task at a time; a host that went is answered for by Went alone.
  virtual void ask(HostIndex host, TaskNumber number, const Task& task) = 0;
  // The answer is no longer wanted; none comes.
  virtual void give_up(HostIndex host, TaskNumber number) = 0;
  // What happens next; nothing where the deadline is over before. Interrupted where the user wants
  // it to end.
  virtual Result<std::optional<Event>> next(const net::Deadline& deadline) = 0;
};

}  // namespace chokepoint::preflight
