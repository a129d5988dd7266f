// chokepoint preflight: is any host, link, slot or path of a cluster not what it should be? Starts
// agents where it is asked to, leads them through a plan, has the judgement look at what they
// measured, and shows that. One thread; Crew has its own for names.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"
#include "preflight/commands/hosts.h"
#include "preflight/judge/finding.h"
#include "preflight/judge/limits.h"
#include "preflight/launch/launch.h"
#include "preflight/lead/lead.h"

namespace chokepoint::preflight {

class PreflightCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  // All that can be wrong with what the user said is found before anything is started.
  struct Prepared {
    std::vector<lead::HostWanted> hosts = {};
    plan::Effort effort = {};
    Limits limits = {};
    std::optional<Measured> before = {};
    std::string key = {};  // as a key file holds it; empty without one
  };
  Result<Prepared> prepare(const cli::Context& context) const;
  Result<Limits> limits() const;
  Result<plan::Effort> effort() const;
  Result<std::string> key() const;
  lead::Wanted wanted(const Prepared& prepared, const cli::Context& context) const;

  Result<cli::ExitCode> conduct(const Prepared& prepared, cli::Context& context) const;
  Result<std::unique_ptr<Launch>> launch_agents(const Prepared& prepared, int interrupt,
                                                const cli::Context& context) const;
  Result<cli::ExitCode> show(const Prepared& prepared, const Measured& measured,
                             const cli::Context& context) const;
  Result<> write(const Measured& measured, const Judgement& judgement, const cli::Json& document,
                 const cli::Context& context) const;
  cli::ExitCode exit_code(const Measured& measured, const Judgement& judgement) const;

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
  bool strict_ = false;
  bool drain_list_ = false;
  bool all_ = false;
  std::string output_ = {};
  std::string keep_ = {};
  baseline::Flags record_;
};

}  // namespace chokepoint::preflight
