// Lines of a source of any size, one at a time. A line that is longer than a bound is cut there. A
// carriage return ends one, too, as a progress bar has many of; what follows it has the same
// number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/evidence/source.h"

namespace chokepoint::analysis {

class LineReader {
 public:
  LineReader(ByteSource& source, std::size_t most_bytes);

  // Without what ends it, good until the next call; nullopt at the source's end.
  std::optional<std::string_view> next();
  bool was_cut() const { return was_cut_; }         // the last one
  std::uint64_t number() const { return number_; }  // of the last one, from 1

 private:
  bool fill();
  void keep(std::string_view part);

  ByteSource& source_;
  std::size_t most_bytes_;
  std::string piece_;
  std::string_view rest_;
  std::string line_;
  bool was_cut_ = false;
  bool begins_line_ = true;
  bool after_return_ = false;
  std::uint64_t number_ = 0;
};

}  // namespace chokepoint::analysis
