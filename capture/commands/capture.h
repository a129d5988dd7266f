// chokepoint capture: what travels over this host's interfaces, or stands in a file, flow by flow.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/cli/command.h"
#include "base/cli/output.h"
#include "capture/commands/recording.h"
#include "capture/commands/source_flags.h"
#include "capture/commands/write_flags.h"
#include "capture/observer/observer.h"

namespace chokepoint::capture {

class CaptureCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  // What is open while a capture goes on.
  struct Work {
    std::unique_ptr<source::CaptureWriter> writer = {};
    std::unique_ptr<Recording> recording = {};
    std::unique_ptr<observer::Observer> observer = {};  // stops before what it writes to goes
  };

  Result<> check(const cli::Context& context) const;
  Result<observer::Settings> settings() const;
  // Opens everything, and gives up the rights that took.
  Result<Work> prepare(observer::Settings settings, const cli::Context& context) const;
  Result<observer::FlowListenerFactory> begin_record(Work& work, observer::Settings& settings,
                                                     const cli::Context& context) const;
  // What was seen; whether it could be kept.
  void show(const Work& work, bool is_interrupted, const cli::Json& head,
            const cli::Context& context) const;
  Result<> close(Work& work, const cli::Context& context) const;

  SourceFlags source_;
  WriteFlags write_;
  RecordFlags record_;
  std::vector<std::string> tunnels_;
  std::string sort_ = "rate";
  std::int64_t threads_ = 0;
  std::int64_t flows_ = 65'536;
  std::int64_t count_ = 0;
  std::int64_t top_ = 20;
  std::chrono::nanoseconds duration_{0};
  bool series_ = false;
};

}  // namespace chokepoint::capture
