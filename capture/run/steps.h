// All that tells of the job's steps, put together: output, marks, collectives, traffic.
// take_output() and attend() by one thread; collectives and beats come from the packets' threads
// and wait for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/record/writer.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "capture/job/job.h"
#include "capture/job/process.h"
#include "capture/observer/pulse.h"
#include "capture/run/options.h"
#include "capture/step/collective_cycle.h"
#include "capture/step/ledger.h"
#include "capture/step/marks.h"
#include "capture/step/output_steps.h"
#include "capture/step/traffic_period.h"

namespace chokepoint::capture::run {

class Steps {
 public:
  // Where no marks can be had it goes on without: see remarks(). Writer and clock outlive it.
  static Result<std::unique_ptr<Steps>> make(const Options& options, const sys::Clock& clock,
                                             record::Writer& writer);

  void take_output(const job::OutputPiece& piece);
  void take_marks(const job::JobProcesses& processes);
  // What has come from other threads meanwhile.
  void attend(std::int64_t now_ns);
  // The job is over: what was held back until it is sure is told, too.
  void finish(std::int64_t now_ns);

  // Any thread.
  void take(const record::Collective& collective);
  void take(const std::vector<observer::Beat>& beats);
  step::Figures figures() const { return ledger_.figures(); }

  int marks_descriptor() const { return marks_ ? marks_->descriptor() : -1; }
  // What the job finds in CHOKEPOINT_MARKS; empty where there are no marks.
  std::filesystem::path marks_path() const;
  const std::optional<std::string>& remark() const { return remark_; }

 private:
  Steps(const Options& options, record::Writer& writer, std::unique_ptr<step::OutputSteps> output);

  step::Ledger ledger_;
  step::OnStep on_step_;
  std::unique_ptr<step::OutputSteps> output_;
  std::unique_ptr<step::Marks> marks_;
  std::optional<std::string> remark_;
  step::CollectiveCycle cycle_;
  step::TrafficPeriod traffic_;
  std::int64_t estimated_ns_ = 0;
  std::mutex mutex_;  // what waits
  std::vector<record::Collective> collectives_;
  std::vector<observer::Beat> beats_;
};

}  // namespace chokepoint::capture::run
