// Connects the stages of packet analysis: source → decoder → flow engine, Gloo, RoCE. `capture` and
// `run` both use it.
//
//   one thread:   read ─ decode ─ analyse, a packet at a time
//   two threads:  read ──(batches, bounded)──▶ decode ─ analyse
//   N threads:    read ─ decode ──(batches)──▶ analyse, flows spread over N − 1 analysers by ends
//
// A packet is larger than the frame it is made of: one that two threads pass on costs more than it
// takes to decode it, so the reader decodes only for several.
//
// Batches go back to the reader when they are analysed, so nothing is allocated per batch and a
// reader that is too fast waits. The threads are the observer's own; start(), inspect() and join()
// are called by one other thread, stop() by any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "capture/observer/analyser.h"
#include "capture/observer/gloo.h"
#include "capture/observer/handover.h"
#include "capture/observer/progress.h"
#include "capture/packet/decoder.h"
#include "capture/packet/packet.h"
#include "capture/source/source.h"

namespace chokepoint::capture::observer {

// Which of several analysers a packet belongs to: both directions of a flow to the same one. RoCE
// connections use another UDP port in each direction, so only their hosts count.
std::size_t spread(const packet::Packet& packet, std::size_t analysers);

// What the reading thread hands to the analysers: a batch of frames and, for several analysers, the
// packets decoded from them, in the same order. Packets point into the batch's bytes, so both
// travel and return together. Made once, filled again and again.
struct PacketBatch {
  source::Batch batch = {};
  std::vector<packet::Packet> packets = {};  // as many as frames, or more: never shrunk
  std::vector<std::uint8_t> owners = {};     // the analyser of each

  void decode(packet::Decoder& decoder, std::size_t analysers);
};

struct Settings {
  std::size_t threads = 1;
  flow::Limits limits = {};  // of all analysers together
  packet::Tunnels tunnels = {};
  std::uint64_t most_frames = 0;                    // 0: all
  std::chrono::nanoseconds most_time{0};            // between the first frame and the last; 0: all
  std::vector<packet::Address> own_addresses = {};  // of this node, if its traffic is captured
  GlooLedger::OnCollective on_collective = {};      // see GlooLedger
  GlooLedger::OnCollective on_waiting = {};         // likewise
  GlooLedger::OnPart on_part = {};                  // likewise
  Joining joining = Joining::ByGroup;
  // How to stop the source; empty: it ends with the batch that is being read. Called by any thread.
  std::function<void()> stop_source = {};
};

// Saves the frames. Called on the reading thread; an error ends the observation.
using Keep = std::function<Result<>(const source::Batch& batch,
                                    const std::vector<source::Interface>& interfaces)>;
// Makes one listener per analyser; null for none. The listeners outlive the observer.
using FlowListenerFactory = std::function<FlowListener*(std::size_t analyser)>;

class Observer {
 public:
  static Result<std::unique_ptr<Observer>> make(std::unique_ptr<source::Source> source,
                                                const Settings& settings,
                                                const FlowListenerFactory& listener_factory = {},
                                                Keep keep = {});
  ~Observer();  // stops and joins

  void start();
  // Readable once everything was read and analysed.
  int descriptor() const { return over_.get(); }
  // What was captured before is still analysed.
  void stop();
  // Waits for the end. An error of the source or of `keep`; what came before it is analysed.
  Result<> join();

  // No packet of before is still to come.
  void note_time(std::int64_t now_ns) { gloo_.note_time(now_ns); }

  // Looks at one analyser after the other, between two batches while they run. False if one did not
  // answer in time: the source is silent, or the analyser busy.
  bool inspect(const std::function<void(const Analyser& analyser)>& look,
               std::chrono::milliseconds deadline);
  // After join().
  const std::vector<std::unique_ptr<Analyser>>& analysers() const { return analysers_; }
  std::vector<std::string> remarks() const { return source_->remarks(); }

  const CaptureProgress& progress() const { return progress_; }
  const GlooLedger& gloo() const { return gloo_; }

 private:
  Observer(std::unique_ptr<source::Source> source, const Settings& settings,
           const FlowListenerFactory& listener_factory, Keep keep, sys::Descriptor over);

  void begin(const char* name, std::function<void()> work);
  void read_and_analyse();
  void read_for_others();
  void analyse(std::size_t index);
  void decode_and_analyse(const source::Batch& batch, Analyser& analyser);
  // Of these packets the analyser's own.
  void analyse_own(const PacketBatch& packets, std::size_t index);
  void end_thread();

  // Reads one batch; false after the last.
  bool read(source::Batch& batch);
  bool is_enough(source::Batch& batch);
  bool fail(Error error);

  std::unique_ptr<source::Source> source_;
  Settings settings_;
  Keep keep_;
  packet::Decoder decoder_;
  CaptureProgress progress_;
  GlooLedger gloo_;
  std::vector<std::unique_ptr<Analyser>> analysers_;
  std::unique_ptr<Relay<PacketBatch>> relay_;
  std::vector<std::thread> threads_;
  std::atomic<std::size_t> running_ = 0;
  std::atomic<bool> stop_ = false;
  std::optional<Error> error_;
  std::uint64_t frames_ = 0;
  std::int64_t first_ns_ = 0;
  sys::Descriptor over_;
};

}  // namespace chokepoint::capture::observer
