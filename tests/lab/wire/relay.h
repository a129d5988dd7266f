// The wire between two TAP devices, and its master's voice on standard input:
//
//     host a            ┌──────────── relay ────────────┐            host b
//   kernel ─▶ TAP a ─read─▶ there: shaper, frames ─write─▶ TAP b ─▶ kernel
//   kernel ◀─ TAP a ◀write─ back:  shaper, frames ◀─read── TAP b ◀─ kernel
//                       └───────────────▲───────────────┘
//                            commands, one a line; each is answered by one line
//
//   there PROPERTY…  back PROPERTY…   changes a direction: there rate=100M loss=0.01
//   cut  mend                         frames vanish somewhere on the path; the devices stay up
//   unplug  plug                      both devices lose their carrier, and frames on the way with
//   it counters                          the answer has them; every other answer is {} or an error
//
// Ends when its input does, so a wire never outlives who made it. One thread, which owns
// everything.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/sys/clock.h"
#include "tests/lab/wire/direction.h"

namespace chokepoint::lab {

struct WireSettings {
  DirectionSettings there;
  DirectionSettings back;
  std::uint64_t seed = 1;
};

class Relay {
 public:
  Relay(Tap a, Tap b, const WireSettings& settings, const sys::Clock& clock);
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Both devices as the settings want them; run() does not return before the input ends.
  Result<> prepare();
  Result<> run(int commands, int answers);

  // The answer to a command.
  std::string obey(std::string_view line);

 private:
  bool wait(int commands, bool& commanded);
  void relay();
  bool hear(int commands, int answers);
  Result<std::string> carry_out(std::string_view line);
  Result<> change(Direction& direction, std::string_view words);
  Result<> plug(bool in);
  void cut(bool is_cut);
  std::string counters() const;

  Tap a_;
  Tap b_;
  const sys::Clock& clock_;
  std::array<Direction, 2> directions_;  // there, back
  std::string heard_;
};

}  // namespace chokepoint::lab
