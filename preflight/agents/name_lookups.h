// Name lookups by a few threads, however many names there are: a name server that does not answer
// blocks a lookup for many seconds. Answers after the destructor are discarded; the threads own
// what they need. Used by one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/sys/error.h"
#include "preflight/agents/agent_protocol.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight {

class NameLookups {
 public:
  struct Answer {
    HostIndex host = 0;
    Result<std::vector<net::Address>> addresses = {};
  };
  static constexpr std::size_t kMaxThreads = 32;

  static Result<NameLookups> make(AgentPoolOptions::Resolve resolve,
                                  std::optional<net::Family> only);
  NameLookups(NameLookups&&) = default;
  NameLookups& operator=(NameLookups&&) = default;
  ~NameLookups();

  // Readable once answers have come.
  int descriptor() const;
  void ask(HostIndex host, const std::string& name);
  std::vector<Answer> take();

 private:
  struct Queue;  // shared with the threads
  explicit NameLookups(std::shared_ptr<Queue> queue);
  static void work(const std::shared_ptr<Queue>& queue);

  std::shared_ptr<Queue> queue_;
};

}  // namespace chokepoint::preflight
