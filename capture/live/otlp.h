// A watched job's figures and steps to a collector of OpenTelemetry: --otlp URL. Every few seconds
// the figures under their names in Prometheus, and a span of each step that has ended; at the end a
// span of the node, which is the steps' parent. All nodes of a run write one trace.
//
// update() and finish() by one thread, take() by the thread that finds steps; a thread of its own
// sends. A collector that does not reply delays no other thread: what waits is bounded, and the
// oldest is dropped first.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/otlp/otlp.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "capture/live/figures.h"
#include "capture/step/step.h"

namespace chokepoint::capture::live {

class OtlpSender {
 public:
  // An Error of kind Usage for what is no URL; nothing is sent there.
  static Result<> check(const std::string& url);
  // `run`: the folder's name. The clock outlives it.
  static Result<std::unique_ptr<OtlpSender>> open(const std::string& url, const std::string& run,
                                                  const sys::Clock& clock);
  OtlpSender(const OtlpSender&) = delete;
  OtlpSender& operator=(const OtlpSender&) = delete;
  ~OtlpSender();

  void take(const step::Step& step);
  void update(const Figures& figures);
  // Sends what is left, for a second at most: the job has ended, and its record is not closed yet.
  // Nothing is taken any more.
  void finish();
  // What was not taken, and why; empty: nothing.
  std::string remark() const;

 private:
  OtlpSender(otlp::Collector collector, std::string run, const sys::Clock& clock);
  void work();
  void send(const std::vector<step::Step>& steps, const Figures& figures, bool is_last);
  net::Deadline deadline() const;
  // False, and noted why, where the collector did not take it.
  bool send_document(otlp::Signal signal, const std::string& document);
  std::vector<otlp::Span> spans_of(const std::vector<step::Step>& steps, const Figures& figures,
                                   bool is_last) const;
  std::int64_t wall_ns(std::int64_t t_ns) const;

  otlp::Collector collector_;
  std::string run_;
  const sys::Clock& clock_;
  std::int64_t began_ns_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_stopping_ = false;
  bool is_over_ = false;
  sys::Descriptor abort_;  // an eventfd: ends what is being sent
  std::vector<step::Step> steps_;
  Figures figures_;
  std::string loss_reason_;
  std::thread thread_;
};

}  // namespace chokepoint::capture::live
