// What the two ends say to each other while a run goes on. The same at both ends, but for who
// begins and who reports.
//
//   client                                           server
//     Begin {run, packet_bytes, rate, time, …} ───────►
//     ◄──────────────────────────────── Begin {run}       its receivers listen; its senders send
//     Data ═══════════════════════════════════════════     either way, or both
//     ◄────────────────────────── Report {packets, …}      what came so far, an interval
//     Stop {run, sent […], now} ◄─────────────────────►    by each end whose senders are done;
//                                                          now: the other shall stop sending, too
//     ◄──────────────────────────────── Note {report}      once all its flows have ended
//
// Drives the run's threads from the thread that has the channel. Borrows both.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "base/control/channel.h"
#include "probe/udp/run_threads.h"

namespace chokepoint::probe::udp {

// What either end waits for the other's word.
inline constexpr std::chrono::seconds kAnswer{10};
// Beyond the run's own time: the last packets, and both ends' words about them.
inline constexpr std::chrono::seconds kWindUp{15};

class Dialogue {
 public:
  Dialogue(control::Channel& channel, RunThreads& threads, const RunPlan& plan)
      : channel_(channel), threads_(threads), plan_(plan) {}

  // Listens to the peer for a moment, tells it what there is to tell. Interrupted once the
  // patience's descriptor is readable; the run goes on until it is stopped.
  Result<> step(const net::Patience& patience);
  // Both ends shall stop sending.
  void stop();

  // All flows of this end have ended, and both ends know how much was sent.
  bool complete() const { return told_ && heard_ && threads_.received_all(); }

  // The server's last Report, and its last word.
  const LiveCounts& peer_so_far() const { return peer_so_far_; }
  const std::optional<SideReport>& peer_report() const { return peer_report_; }

 private:
  Result<> tell(const net::Patience& patience);
  Result<> hear(const control::Message& message);
  Result<> hear_stop(const control::Message& message);
  Result<> hear_report(const control::Message& message);

  control::Channel& channel_;
  RunThreads& threads_;
  const RunPlan& plan_;
  bool stopping_ = false;
  bool told_ = false;   // how much this end sent
  bool heard_ = false;  // how much the other sent
  LiveCounts peer_so_far_ = {};
  std::optional<SideReport> peer_report_ = {};
};

control::Message live_report(const LiveCounts& counts);

}  // namespace chokepoint::probe::udp
