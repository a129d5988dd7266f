#include "analysis/evidence/lines.h"

#include <algorithm>

namespace chokepoint::analysis {

LineReader::LineReader(ByteSource& source, std::size_t most_bytes)
    : source_(source), most_bytes_(most_bytes), piece_(std::size_t{256} << 10, '\0') {}

bool LineReader::fill() {
  rest_ = std::string_view(piece_).substr(0, source_.read(piece_));
  return !rest_.empty();
}

void LineReader::keep(std::string_view part) {
  const std::size_t room = most_bytes_ - line_.size();
  was_cut_ = was_cut_ || part.size() > room;
  line_ += part.substr(0, room);
}

std::optional<std::string_view> LineReader::next() {
  line_.clear();
  was_cut_ = false;
  bool has_any = false;
  while (!rest_.empty() || fill()) {
    has_any = true;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    keep(rest_.substr(0, end));
    const bool is_whole = end < rest_.size();
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (is_whole) {
      break;
    }
  }
  if (!has_any) {
    return std::nullopt;
  }
  ++number_;
  if (line_.ends_with('\r')) {
    line_.pop_back();
  }
  return line_;
}

}  // namespace chokepoint::analysis
