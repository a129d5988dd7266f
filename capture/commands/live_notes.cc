#include "capture/commands/live_notes.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "capture/live/line.h"

namespace chokepoint::capture {
namespace {

constexpr std::string_view kPrefix = "chokepoint: ";

}  // namespace

LiveNotes::LiveNotes(const cli::Context& context, std::chrono::nanoseconds every)
    : context_(context), every_ns_(every.count()), said_ns_(context.clock.monotonic_ns()) {}

void LiveNotes::note_output(const job::OutputPiece& piece) {
  if (!piece.bytes.empty()) {
    is_line_open_ = piece.bytes.back() != '\n';
  }
}

void LiveNotes::say(const live::Figures& figures, std::int64_t now_ns) {
  if (every_ns_ == 0 || now_ns - said_ns_ < every_ns_) {
    return;
  }
  said_ns_ = now_ns;
  const auto columns = static_cast<std::size_t>(context_.err_terminal.width);
  const bool breaks = is_line_open_ && context_.err_terminal.interactive;
  fmt::print(context_.err, "{}{}{}\n", breaks ? "\n" : "", kPrefix,
             live::line_of(figures, columns > kPrefix.size() ? columns - kPrefix.size() : 0));
  context_.err.flush();
  is_line_open_ = false;
}

}  // namespace chokepoint::capture
