// chokepoint preflight: is any host, link, slot or path of a cluster not what it should be? Starts
// agents where it is asked to, leads them through a plan, has the judgement look at what they
// measured, and shows that. One thread; Crew has its own for names.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/cli/command.h"
#include "preflight/commands/conduct.h"
#include "preflight/commands/hosts.h"
#include "preflight/commands/show.h"

namespace chokepoint::preflight {

class PreflightCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  // All that can be wrong with what the user said is found before anything is started.
  std::chrono::milliseconds own_limit(const Conduct& made) const;
  Result<Conduct> prepare(const cli::Context& context);
  Result<> check_times() const;
  Result<Limits> limits() const;
  Result<plan::Effort> effort() const;
  Result<std::string> key() const;

  HostFlags hosts_;
  bool quick_ = false;
  bool thorough_ = false;
  std::chrono::nanoseconds time_limit_{0};
  std::chrono::nanoseconds wait_{0};
  std::int64_t seed_ = 0;
  std::string launcher_ = "none";
  std::string program_ = {};
  std::string tarball_ = {};
  std::string key_file_ = {};
  bool ipv4_ = false;
  bool ipv6_ = false;
  std::string limits_file_ = {};
  bool print_limits_ = false;
  std::string baseline_file_ = {};
  Showing showing_;
};

}  // namespace chokepoint::preflight
