// Names looked up while others go on: by a few threads, however many names there are, since a
// name server that is gone holds each of them for many seconds. What is late when the owner goes is
// thrown away; the threads own what they need. Used by one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "preflight/agents/options.h"
#include "preflight/result/figures.h"

namespace chokepoint::preflight {

class Lookups {
 public:
  struct Answer {
    HostIndex host = 0;
    Result<std::vector<net::Address>> addresses = {};
  };
  static constexpr std::size_t kMostThreads = 32;

  static Result<Lookups> make(CrewOptions::Resolve resolve, std::optional<net::Family> only);
  Lookups(Lookups&&) = default;
  Lookups& operator=(Lookups&&) = default;
  ~Lookups();

  // Readable once answers have come.
  int descriptor() const;
  void ask(HostIndex host, const std::string& name);
  std::vector<Answer> take();

 private:
  struct JudgeContext;
  explicit Lookups(std::shared_ptr<JudgeContext> desk);
  static void work(const std::shared_ptr<JudgeContext>& desk);

  std::shared_ptr<JudgeContext> desk_;
};

}  // namespace chokepoint::preflight
