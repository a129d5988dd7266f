// Merges by time the frames of several lanes (files, live interfaces), each in its own order. A
// frame is returned when no other lane can still deliver an earlier one. Its bytes are copied into
// the reader's batch, so lanes and reader never share one. A lane that fails ends; the others are
// read to their ends before the error is returned. Used by the thread that calls read().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "capture/source/source.h"

namespace chokepoint::capture::source {

class Lane {
 public:
  virtual ~Lane() = default;
  // Exchanges the used-up batch for the next one. More and no frames: nothing is there yet.
  virtual Result<Progress> refill(Batch& batch) = 0;
  // After the frames of the last refill(), all frames to come are later than this time.
  virtual std::int64_t complete_until() const = 0;
  virtual const std::vector<Interface>& interfaces() const = 0;
};

class Lanes {
 public:
  void add(std::unique_ptr<Lane> lane);

  // Clears the batch and fills it with the frames that can be returned by now.
  Result<Progress> read(Batch& batch);
  const std::vector<Interface>& interfaces() const { return interfaces_; }
  bool any_failed() const { return error_.has_value(); }

 private:
  struct State {
    std::unique_ptr<Lane> lane;
    Batch batch = {};
    std::size_t next = 0;
    bool ended = false;
    std::int64_t complete_until = INT64_MIN;
    std::vector<std::uint32_t> interfaces = {};  // its index → the index among all

    bool is_empty() const { return next == batch.frames.size(); }
    std::int64_t earliest() const;
  };
  struct Turn {
    State* first = nullptr;          // whose frame is next; null: all have ended
    std::int64_t until = INT64_MAX;  // and those after it, up to here
  };

  void refill(State& state, Batch& batch);
  void learn_interfaces(State& state);
  Turn next_turn();
  bool add_frames(const Turn& turn, Batch& batch);
  Result<Progress> end() const;

  std::vector<State> lanes_;
  std::vector<Interface> interfaces_;
  std::optional<Error> error_;
  std::size_t used_ = 0;
};

}  // namespace chokepoint::capture::source
