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
    number_ += begins_line_ ? 1 : 0;
    begins_line_ = false;
    has_any = true;
    const std::size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
    keep(rest_.substr(0, end));
    const bool is_whole = end < rest_.size();
    begins_line_ = is_whole && rest_[end] == '\n';
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    // The end of a line that a return has ended is none of its own.
    const bool is_rest = begins_line_ && after_return_ && line_.empty();
    after_return_ = is_whole && !begins_line_;
    if (is_rest) {
      has_any = false;
      continue;
    }
    if (is_whole) {
      break;
    }
  }
  return has_any ? std::optional<std::string_view>(line_) : std::nullopt;
}

}  // namespace chokepoint::analysis
