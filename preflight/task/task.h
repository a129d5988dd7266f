// What an agent is asked to do: one test, by names and numbers that are checked here. An agent
// makes a command line of its own program from it; nothing a coordinator says reaches a shell, and
// no other program is started. Values; pure functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/control/message.h"
#include "base/sys/error.h"

namespace chokepoint::preflight {

enum class TaskKind : std::uint8_t {
  Doctor,   // chokepoint.doctor/1 of its own host
  Names,    // what its resolver says of `hosts`
  Latency,  // probe latency, idle only
  Loss,     // probe udp at a low rate, both ways at once: loss, and what the clocks say
  Path,     // probe path: routers, the largest packet, both families
  Tcp,      // probe tcp, one way or both
  RdmaBandwidth,
  RdmaLatency,
  Collective,  // probe collective over `hosts`, which this agent leads
};

inline constexpr std::size_t kMostHostsInTask = 512;  // a task has to fit into a client's message

struct Task {
  TaskKind kind = TaskKind::Doctor;
  std::string peer = {};  // an address; empty where there is no other
  std::uint16_t port = control::kPort;
  std::chrono::milliseconds time{1000};
  bool sends = true;  // to the peer; with `receives` both ways at once
  bool receives = false;
  int streams = 1;
  double rate_bits_per_s = 0;           // Loss
  std::int64_t bytes = 0;               // Collective
  std::vector<std::string> hosts = {};  // Names, Collective

  bool operator==(const Task&) const = default;
};

std::string_view name_of(TaskKind kind);  // "tcp" …

control::Json body_of(const Task& task);
// Usage errors name the field that is wrong.
Result<Task> task_in(const control::Json& body);

// The longest it may take, whatever happens: the agent ends it then.
std::chrono::milliseconds longest(const Task& task);

// "probe tcp", as error lines begin; empty for Names, which is no command.
std::string_view command_name(TaskKind kind);

// Where a key is wanted it is read from standard input.
std::vector<std::string> command_of(const Task& task, const std::string& program, bool with_key);

inline constexpr std::size_t kLongestHost = 255;

// Whether a host's name or address from elsewhere may be an argument of a command line: no flag, no
// list, no control characters, no longer than names may be.
bool is_host_text(std::string_view text);

}  // namespace chokepoint::preflight
