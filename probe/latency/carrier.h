// A connection of a responsiveness test that carries a load, with small requests and their answers
// between: the same at both ends. A request or an answer waits until all data written before it
// have left, as in HTTP/2 without priorities: in the socket's buffer, and behind the frame that is
// being written.
//
//   ask() ──► mailbox ──┐
//   Get from the peer ──┴─► small frames ─┐ between two frames of Data
//   Data, without end, if it fills ───────┴─► socket
//   socket ──► Data (counted), Object (Answered), Fill (it fills from now on)
//
// run() belongs to the thread that moves the bytes; ask(), stop() and the counters to any thread.
// It owns the socket.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/latency/frames.h"

namespace chokepoint::probe::latency {

// A small object that came back.
struct SelfTime {
  double took_ms = 0;
  // Of it the sending kernel's smoothed round trip of the same connection: the path, without what
  // waits in the sender's buffer. nullopt where it does not say.
  std::optional<double> path_ms = {};
};

using Answered = std::function<void(const SelfTime& time)>;

enum class Fills {
  No,    // until the peer asks for it, which it may with this one alone
  Yes,   // from the beginning
  Peer,  // the peer shall: it is asked to, first of all
};

class Carrier {
 public:
  static Result<std::unique_ptr<Carrier>> make(sys::Descriptor fd, Fills fills, Answered answered);

  // Until the peer closes the connection or stop(): neither is an error.
  Result<> run();
  void stop();
  // Sends a Get. False where too many are unanswered.
  bool ask();

  // Of Data, without the frames' heads.
  std::uint64_t received_bytes() const { return received_bytes_; }
  // Whatever the peer's kernel has taken; nullopt where this one does not say.
  std::optional<std::uint64_t> acknowledged_bytes() const;

 private:
  struct Asked {
    std::uint32_t number = 0;
    std::int64_t at_ns = 0;
  };

  Carrier(sys::Descriptor fd, sys::Descriptor bell, Fills fills, Answered answered);

  Result<> move_bytes();
  bool wants_to_write();
  // False once the peer has closed the connection.
  Result<bool> read_some();
  Result<> take(std::span<const std::byte> bytes);
  void note(const Frame& frame);
  void note_answer(const Frame& object);
  void queue(std::span<const std::byte> frame);
  // As much as the socket takes.
  Result<> write_some();
  Result<std::size_t> write(std::span<const std::byte> bytes);

  sys::Descriptor fd_;
  sys::Descriptor bell_;  // an eventfd
  Answered answered_;
  std::atomic<bool> stopping_ = false;
  const bool may_be_asked_;  // to fill
  std::atomic<bool> fills_;
  std::atomic<std::uint64_t> received_bytes_ = 0;

  // The running thread's alone.
  FrameScanner scanner_ = {};
  std::vector<std::byte> incoming_;      // room for what is read
  std::vector<std::byte> writing_ = {};  // small frames, of which the first bytes may have left
  std::size_t written_ = 0;
  std::size_t batch_at_ = 0;  // in the frames of Data
  bool is_hostile_ = false;   // the peer asks for what it may not, or for more than it takes

  std::mutex mutex_;
  std::vector<std::byte> small_ = {};  // frames that wait to be written
  std::deque<Asked> asked_ = {};       // in the order in which they will be answered
  std::uint32_t next_number_ = 1;
};

}  // namespace chokepoint::probe::latency
