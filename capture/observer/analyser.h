// The analysis of packets: flows, Gloo's messages inside them, RoCE, and a count of the rest. Each
// analyser has a thread; analysers share only the Gloo ledger and the progress.
#pragma once

#include <cstdint>

#include "base/traffic/content.h"
#include "capture/flow/engine.h"
#include "capture/observer/content_watch.h"
#include "capture/observer/flow_timing.h"
#include "capture/observer/gloo.h"
#include "capture/observer/handover.h"
#include "capture/observer/progress.h"
#include "capture/packet/packet.h"
#include "capture/roce/tracker.h"
#include "capture/source/source.h"

namespace chokepoint::capture::observer {

class Analyser;

// Is informed during the analysis, to keep a record. Called on the analyser's thread.
class FlowListener {
 public:
  virtual ~FlowListener() = default;
  // Only the first analyser's listener is called.
  virtual void on_drop(Analyser& analyser, const source::Drop& drop) = 0;
  // A flow is about to make room for another.
  virtual void on_fold(Analyser& analyser, std::uint32_t slot, const flow::FlowFacts& facts) = 0;
  // The flow carries Gloo, and has this number in the ledger.
  virtual void on_gloo(Analyser& analyser, std::uint32_t slot,
                       const GlooLedger::Connection& connection) = 0;
  // The first bytes of one of the flow's directions show it; its handshake was seen.
  virtual void on_content(Analyser& analyser, std::uint32_t slot, traffic::Content content) = 0;
  // Between two batches.
  virtual void after_batch(Analyser& analyser) = 0;
};

class Analyser {
 public:
  // The listener may be null. What is given outlives the analyser.
  Analyser(const flow::Limits& limits, const CaptureProgress& progress, GlooLedger& ledger,
           FlowListener* listener);
  Analyser(const Analyser&) = delete;
  Analyser& operator=(const Analyser&) = delete;

  void take(const packet::Packet& packet) {
    time_ns_ = packet.time_ns;
    const flow::Seen& seen = engine_.take(packet);
    if (packet.kind == packet::Kind::Roce) {
      take_roce(packet);
    } else if (!seen.is_flow) {
      others_.add(packet);
    } else {
      traffic_bins_.take(seen.slot, packet.time_ns, packet.frame_bytes);
      if (packet.kind == packet::Kind::Tcp && packet.payload_bytes > 0) {
        if (listener_ != nullptr) {
          marks_.take(packet, seen);
          contents_.take(packet, seen);
        }
        if (packet.payload_bytes > seen.new_from) {
          gloo_.take(packet, seen);
        }
      }
    }
  }

  void take(const source::Drop& drop);
  void end_batch();
  // Nothing more will come.
  void finish() { gloo_.finish(); }

  flow::Engine& engine() { return engine_; }
  const flow::Engine& engine() const { return engine_; }
  const roce::Tracker& roce() const { return roce_; }
  const Others& others() const { return others_; }
  const CaptureProgress& progress() const { return progress_; }
  TrafficBins& traffic_bins() { return traffic_bins_; }
  FlowMarks& marks() { return marks_; }              // none without a listener
  std::int64_t time_ns() const { return time_ns_; }  // of the newest packet; 0 before the first
  ThreadTasks& tasks() { return tasks_; }

 private:
  void take_roce(const packet::Packet& packet) {
    const roce::Signs signs = roce_.take(packet);
    if (signs.is_again || signs.is_filling || signs.reports_missing) {
      engine_.note(packet, {.is_again = signs.is_again,
                            .is_out_of_order = signs.is_filling,
                            .reports_missing = signs.reports_missing});
    }
  }

  flow::Engine engine_;
  GlooWatch gloo_;
  roce::Tracker roce_;
  Others others_;
  TrafficBins traffic_bins_;
  FlowMarks marks_;
  ContentWatch contents_;
  ThreadTasks tasks_;
  const CaptureProgress& progress_;
  FlowListener* listener_;
  std::int64_t time_ns_ = 0;
};

}  // namespace chokepoint::capture::observer
