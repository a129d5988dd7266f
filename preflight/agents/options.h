// Who is called, and how long anything may take. A value.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/control/handshake.h"
#include "base/net/address.h"
#include "base/net/socket.h"
#include "base/sys/error.h"
#include "preflight/task/task.h"

namespace chokepoint::preflight {

struct CrewOptions {
  using Milliseconds = std::chrono::milliseconds;
  // May block; called from threads of its own, so what it needs must be owned by it.
  using Resolve = std::function<Result<std::vector<net::Address>>(const std::string& name,
                                                                  std::optional<net::Family> only)>;

  std::vector<net::HostPort> hosts = {};
  std::optional<net::Family> family = {};
  std::optional<control::Secret> key = {};
  control::Identity own = {};
  std::string preflight = {};      // by which agents know what belongs together
  net::SocketOptions socket = {};  // source address and interface of every connection
  int interrupt = -1;              // readable once the user wants it to end

  // For so long a host where nothing listens yet is called again: its agent is being started.
  Milliseconds appear{0};
  Milliseconds call_again{500};

  Milliseconds resolving{30'000};  // all names together
  Milliseconds connecting{5'000};  // each address
  Milliseconds handshake{5'000};
  Milliseconds getting_ready{20'000};  // the agent gathers its host's facts
  Milliseconds beyond_task{3'000};     // an answer may be later than the task's longest time
  Milliseconds giving_up{8'000};       // to say something after a task was given up for lateness

  std::size_t most_opening = 512;                            // connections, at once
  std::size_t most_document = std::size_t{4} * 1024 * 1024;  // of an answer, in bytes

  // How else than by the system, and what else than preflight/task says: for tests.
  Resolve resolve = net::resolve;
  std::function<Milliseconds(const Task&)> longest = preflight::longest;
};

}  // namespace chokepoint::preflight
