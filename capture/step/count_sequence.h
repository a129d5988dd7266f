// A number in the job's output that counts its steps, followed from line to line.
//
//   rises by k     k steps, over in the time since the line before
//   stays          the same step, told again: by another rank, or a bar that is redrawn
//   falls, soon    a rank that is late with its line
//   falls, later   a new epoch, once the number rises from there; between epochs there is no step
//
// Lines of one piece of output have one time, so their steps become one that is merged. What a line
// says of the steps' own duration is taken only where they are merged: then they may not fill the
// time since the line before. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "capture/step/step.h"

namespace chokepoint::capture::step {

class CountSequence {
 public:
  struct Line {
    std::int64_t number = 0;
    std::optional<std::int64_t> samples = {};
    std::optional<double> mean_seconds = {};
  };

  void take(std::int64_t t_ns, const Line& line);
  // After the last line of a piece.
  std::optional<Step> end_piece(std::int64_t t_ns);

 private:
  struct Place {
    std::int64_t t_ns = 0;
    std::int64_t number = 0;
  };

  void begin_at(const Place& place);
  void rise(const Place& from, const Line& line);
  void fall(std::int64_t t_ns, const Line& line);
  void keep_gap(std::int64_t gap_ns);
  std::int64_t usual_gap_ns() const;
  std::optional<std::int64_t> told_busy_ns(std::int64_t gap_ns) const;

  std::optional<Place> last_;     // the highest number, and when it was first seen
  std::optional<Place> restart_;  // it fell, and has not risen again yet
  std::int64_t base_ns_ = 0;      // the next step begins
  std::int64_t risen_ = 0;        // in this piece
  std::int64_t samples_ = 0;
  double told_seconds_ = 0;  // of the risen; negative: not all lines say it
  std::array<std::int64_t, 9> gaps_ns_ = {};
  std::size_t gaps_ = 0;
};

}  // namespace chokepoint::capture::step
