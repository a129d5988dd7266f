#include "capture/source/lanes.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace chokepoint::capture::source {

std::int64_t Lanes::State::earliest() const {
  if (!is_empty()) {
    return batch.frames[next].time_ns;
  }
  return ended ? INT64_MAX : complete_until;
}

void Lanes::add(std::unique_ptr<Lane> lane) {
  lanes_.push_back({.lane = std::move(lane)});
  learn_interfaces(lanes_.back());
}

void Lanes::learn_interfaces(State& state) {
  const std::vector<Interface>& known = state.lane->interfaces();
  while (state.interfaces.size() < known.size()) {
    interfaces_.push_back(known[state.interfaces.size()]);
    state.interfaces.push_back(static_cast<std::uint32_t>(interfaces_.size() - 1));
  }
}

void Lanes::refill(State& state, Batch& batch) {
  state.batch.clear();
  state.next = 0;
  auto progress = state.lane->refill(state.batch);
  state.ended = !progress || *progress == Progress::End;
  state.complete_until = state.lane->complete_until();
  if (!progress && !error_) {
    error_ = std::move(progress.error());
  }
  learn_interfaces(state);
  for (Drop drop : state.batch.drops) {
    drop.interface = state.interfaces[drop.interface];
    batch.drops.push_back(drop);
  }
}

// A lane without frames holds up the others at the time up to which it is complete.
Lanes::Turn Lanes::next_turn() {
  Turn turn;
  for (State& state : lanes_) {
    if (state.is_empty() && state.ended) {
      continue;
    }
    const std::int64_t time = state.earliest();
    const bool earlier =
        turn.first == nullptr || time < turn.first->earliest() ||
        (time == turn.first->earliest() && turn.first->is_empty() && !state.is_empty());
    if (earlier && turn.first != nullptr) {
      turn.until = std::min(turn.until, turn.first->earliest());
    }
    if (earlier) {
      turn.first = &state;
    } else {
      turn.until = std::min(turn.until, time);
    }
  }
  return turn;
}

// False if the batch is full.
bool Lanes::add_frames(const Turn& turn, Batch& batch) {
  State& state = *turn.first;
  while (!state.is_empty() && state.batch.frames[state.next].time_ns <= turn.until) {
    packet::Frame frame = state.batch.frames[state.next];
    if (batch.frames.empty() && frame.captured_bytes > batch.bytes.size()) {
      batch.bytes.resize(frame.captured_bytes);
    }
    const bool fits = frame.captured_bytes <= batch.bytes.size() - used_;
    if (!fits || batch.frames.size() == kBatchFrames) {
      return false;
    }
    std::memcpy(batch.bytes.data() + used_, frame.data, frame.captured_bytes);
    frame.data = batch.bytes.data() + used_;
    frame.interface = state.interfaces[frame.interface];
    batch.frames.push_back(frame);
    used_ += frame.captured_bytes;
    ++state.next;
  }
  return true;
}

Result<Progress> Lanes::read(Batch& batch) {
  batch.clear();
  batch.bytes.resize(kBatchBytes);
  batch.frames.reserve(kBatchFrames);
  used_ = 0;
  for (State& state : lanes_) {
    if (state.is_empty() && !state.ended) {
      refill(state, batch);
    }
  }
  for (;;) {
    const Turn turn = next_turn();
    if (turn.first == nullptr) {
      return batch.frames.empty() ? end() : Progress::More;
    }
    if (turn.first->is_empty()) {
      refill(*turn.first, batch);
      if (turn.first->is_empty() && !turn.first->ended) {
        return Progress::More;
      }
    } else if (!add_frames(turn, batch)) {
      return Progress::More;
    }
  }
}

Result<Progress> Lanes::end() const {
  if (error_) {
    return fail(*error_);
  }
  return Progress::End;
}

}  // namespace chokepoint::capture::source
