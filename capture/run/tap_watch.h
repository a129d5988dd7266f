// One interface's packets while a job is watched: source, engine and record, on a thread of their
// own. Interfaces come and go; each has its watch, so that one's end is not the others'. Everything
// but the observer's own work is called by one thread.
//
//   open() ─▶ begin() ─▶ narrow()… ─▶ end()
//                └─ the interface goes away: is_over()
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/record/writer.h"
#include "base/sys/root.h"
#include "capture/book/flow_book.h"
#include "capture/observer/collective_recorder.h"
#include "capture/observer/connection_flows.h"
#include "capture/observer/observer.h"
#include "capture/observer/recorder.h"
#include "capture/run/job_rows.h"
#include "capture/run/job_volume.h"
#include "capture/source/live.h"

namespace chokepoint::capture::run {

struct TapOptions {
  std::string interface = {};
  std::uint64_t network = 0;  // as in the book: 0 for the program's own namespace
  std::string netns = {};     // a path, where it is another one
  std::string filter = {};
  std::uint64_t ring_bytes = 0;
  std::vector<packet::Address> own_addresses = {};
  std::vector<std::string> rivals = {};  // see JobFlows
  sys::Root root = {};
};

// Who else wants to know; called on the watch's thread. Times are monotonic.
struct TapListeners {
  std::function<void(const std::vector<observer::Beat>& beats)> on_beats = {};
  std::function<void(const record::Collective& collective)> on_collective = {};
};

class TapWatch final : private observer::FlowListener {
 public:
  // The interface is listened to from here on; what comes before begin() waits in the ring. What is
  // given outlives the watch.
  static Result<std::unique_ptr<TapWatch>> open(const TapOptions& options, book::FlowBook& book,
                                                record::Writer& writer,
                                                const TapListeners& listeners);
  ~TapWatch() override;

  void begin() { observer_->start(); }
  void narrow(const std::string& filter);
  bool is_over() const;
  // What was captured until then is still analysed and kept. An error where the interface went.
  Result<> end();

  const std::string& interface() const { return options_.interface; }
  std::uint64_t network() const { return options_.network; }
  VolumeCounts volume() const { return volume_.counts(); }
  std::uint64_t dropped() const;

 private:
  TapWatch(const TapOptions& options, book::FlowBook& book, record::Writer& writer,
           TapListeners listeners);

  void on_drop(observer::Analyser& analyser, const source::Drop& drop) override;
  void on_fold(observer::Analyser& analyser, std::uint32_t slot,
               const flow::FlowFacts& facts) override;
  void on_gloo(observer::Analyser& analyser, std::uint32_t slot, std::uint32_t connection) override;
  void after_batch(observer::Analyser& analyser) override;
  void hand_on(observer::Analyser& analyser) const;

  TapOptions options_;
  TapListeners listeners_;
  JobRows rows_;
  JobVolume volume_;
  observer::ConnectionFlows connections_;
  observer::Recorder recorder_;
  observer::CollectiveRecorder collectives_;
  source::LiveSource* source_ = nullptr;  // the observer's
  std::unique_ptr<observer::Observer> observer_;
  std::string filter_;
  std::int64_t measured_ns_ = 0;
  bool is_ended_ = false;
};

}  // namespace chokepoint::capture::run
