// Puts the pieces together: source → decoder → flow engine, Gloo's followers, RoCE. `capture` and
// `run` both stand on it.
//
//   one thread:   read ─ decode ─ analyse, a packet at a time
//   two threads:  read ─ decode ──(parcels, bounded)──▶ analyse
//   N threads:    as two, flows spread over N − 1 analysers by their ends
//
// Parcels go back to the reader when they are analysed, so nothing is allocated on the way and a
// reader that is too fast waits. The threads are the observer's own; start(), inspect() and join()
// are called by one other thread, stop() by any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "capture/observer/analyser.h"
#include "capture/observer/course.h"
#include "capture/observer/gloo_ledger.h"
#include "capture/observer/parcel.h"
#include "capture/observer/relay.h"
#include "capture/packet/decoder.h"
#include "capture/source/source.h"

namespace chokepoint::capture::observer {

struct Settings {
  std::size_t threads = 1;
  flow::Limits limits = {};  // of all analysers together
  packet::Tunnels tunnels = {};
  std::uint64_t most_frames = 0;                    // 0: all
  std::chrono::nanoseconds most_time{0};            // between the first frame and the last; 0: all
  std::vector<packet::Address> own_addresses = {};  // of this node, where it is the one captured
  GlooLedger::OnCollective on_collective = {};      // see GlooLedger
  // How to stop the source; empty: it ends with the batch that is being read. Called by any thread.
  std::function<void()> stop_source = {};
};

// What is done with the frames besides: keeping them. Called on the reading thread; what it returns
// ends the observation.
using Keep = std::function<Result<>(const source::Batch& batch,
                                    const std::vector<source::Interface>& interfaces)>;
// One an analyser; null for none. The listener outlives the observer.
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
  // What was captured until then is still analysed.
  void stop();
  // Waits for the end. An error of the source or of what is kept; what came before it is there.
  Result<> join();

  // One analyser after the other, between two batches while they run. False where one did not come
  // by in time: the source is silent, or its analyser busy.
  bool inspect(const std::function<void(const Analyser& analyser)>& look,
               std::chrono::milliseconds patience);
  // After join().
  const std::vector<std::unique_ptr<Analyser>>& analysers() const { return analysers_; }
  std::vector<std::string> remarks() const { return source_->remarks(); }

  const CaptureProgress& course() const { return course_; }
  const GlooLedger& gloo() const { return gloo_; }

 private:
  Observer(std::unique_ptr<source::Source> source, const Settings& settings,
           const FlowListenerFactory& listener_factory, Keep keep, sys::Descriptor over);

  void begin(const char* name, std::function<void()> work);
  void read_and_analyse();
  void read_for_others();
  void analyse(std::size_t index);
  void end_thread();

  // Reads one batch; false after the last.
  bool read(source::Batch& batch);
  bool is_enough(source::Batch& batch);
  bool fail(Error error);

  std::unique_ptr<source::Source> source_;
  Settings settings_;
  Keep keep_;
  packet::Decoder decoder_;
  CaptureProgress course_;
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
