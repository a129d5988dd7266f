// Steps of each rank from its marks: each mark "step" ends the step before it. Of a mark's own time
// only what is believable is taken. Bounded: so many ranks. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "capture/step/mark.h"
#include "capture/step/step.h"

namespace chokepoint::capture::step {

// When it was sent, as far as that can be: not later than it came, nor long before.
std::int64_t time_of(const Mark& mark, std::int64_t received_ns);

class MarkSteps {
 public:
  // The step that this mark ends; nothing for a rank's first.
  std::optional<Step> take(const Mark& mark, std::optional<int> rank, std::int64_t t_ns);

 private:
  struct Begun {
    std::int64_t t_ns = 0;
    std::int64_t number = 0;
    std::optional<std::int64_t> samples = {};
  };

  std::map<int, Begun> begun_;  // by rank; -1: not known
};

}  // namespace chokepoint::capture::step
