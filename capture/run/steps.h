// All sources of the job's steps: output, marks, collectives, traffic. take_output() and poll()
// by one thread; collectives and traffic come from the packets' threads and wait for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/record/writer.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "capture/job/job.h"
#include "capture/job/process.h"
#include "capture/observer/flow_timing.h"
#include "capture/run/options.h"
#include "capture/step/collective_cycle.h"
#include "capture/step/marks.h"
#include "capture/step/output_steps.h"
#include "capture/step/step.h"
#include "capture/step/tagged_calls.h"
#include "capture/step/traffic_period.h"

namespace chokepoint::capture::run {

class Steps {
 public:
  // Goes on without marks if these cannot be received: see remark(). Writer and clock outlive it.
  static Result<std::unique_ptr<Steps>> make(const Options& options, const sys::Clock& clock,
                                             record::Writer& writer);

  // Called for each step, too, by the thread of take_output() and poll().
  void set_listener(step::OnStep listener) { listener_ = std::move(listener); }

  void take_output(const job::OutputPiece& piece);
  // False if there were none.
  bool take_marks(const job::JobProcesses& processes);
  // Takes what has come from other threads.
  void poll(std::int64_t now_ns);
  // The job is over: reports what was held back, too.
  void finish(std::int64_t now_ns);

  // Any thread.
  void take(const record::Collective& collective);
  void take(const step::TaggedCall& call);
  void take(const std::vector<observer::TrafficBin>& bins);
  step::Figures figures() const { return ledger_.figures(); }

  // The value of CHOKEPOINT_MARKS for the job; empty if marks cannot be received.
  std::filesystem::path marks_path() const;
  const std::optional<std::string>& remark() const { return remark_; }

 private:
  Steps(const Options& options, record::Writer& writer, std::unique_ptr<step::OutputSteps> output);

  step::Ledger ledger_;
  step::OnStep on_step_;
  step::OnStep listener_;
  std::unique_ptr<step::OutputSteps> output_;
  std::unique_ptr<step::Marks> marks_;
  std::optional<std::string> remark_;
  step::CollectiveCycle cycle_;
  step::TaggedSteps tagged_;
  step::TrafficPeriod traffic_;
  std::int64_t estimated_ns_ = 0;
  std::mutex mutex_;  // collectives_, calls_, bins_
  std::vector<record::Collective> collectives_;
  std::vector<step::TaggedCall> calls_;
  std::vector<observer::TrafficBin> bins_;
};

}  // namespace chokepoint::capture::run
