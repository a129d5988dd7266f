// `chokepoint run`: watches a job from its start to its end, or one that runs already, and keeps
// what there is to know in a run record. The job's own output, signals and exit status are its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/cli/command.h"
#include "capture/job/roster.h"
#include "capture/run/options.h"

namespace chokepoint::capture {

class RunCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<> check() const;
  Result<run::Options> options(const cli::Context& context) const;
  Result<cli::ExitCode> start(const run::Options& options, std::chrono::nanoseconds every,
                              cli::Context& context) const;
  Result<cli::ExitCode> repeat(const run::Options& options, std::chrono::nanoseconds every,
                               cli::Context& context) const;
  Result<cli::ExitCode> attend(const run::Options& options, std::chrono::nanoseconds every,
                               cli::Context& context) const;
  bool attaches() const { return pid_ > 0 || !cgroup_.empty(); }

  std::vector<std::string> command_;
  std::string folder_;
  std::string node_;
  std::vector<std::string> labels_;
  std::int64_t repeat_ = 1;
  std::int64_t pid_ = 0;
  std::string cgroup_;
  std::string output_ = "watch";
  std::string step_expression_;
  std::int64_t samples_per_step_ = 0;
  std::string nccl_ = "auto";
  std::string packets_ = "auto";
  std::vector<std::string> interfaces_;
  std::string metrics_;
  std::string live_ = "auto";
};

}  // namespace chokepoint::capture
