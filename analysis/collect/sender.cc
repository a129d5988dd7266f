#include "analysis/collect/sender.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <tuple>
#include <utility>

#include "base/cli/text.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

// From the end of its output to its own; ssh takes some round trips.
constexpr std::chrono::seconds kMaxEnd{10};

}  // namespace

Result<Sender> Sender::start(std::vector<std::string> command, const SenderDeadline& deadline) {
  sys::Spawn spawn{.command = std::move(command)};
  // Another program would hand the tie on to a chokepoint that is not this one's child.
  if (spawn.command.front() == kOwnProgram) {
    spawn.environment = {sys::tie_to_this_process()};
  }
  TRY(sys::ChildOutput child, sys::start_child(std::move(spawn), "collect"));
  return Sender(std::move(child), deadline);
}

Sender::~Sender() { end(); }

void Sender::end() {
  if (child_.process.descriptor() < 0 || has_ended_) {
    return;  // moved from, or gone
  }
  has_ended_ = true;
  std::ignore = child_.process.signal(SIGKILL);
  std::ignore = child_.process.wait();
}

Result<> Sender::wait(std::span<pollfd> watched, Moment until) const {
  const auto left = until - std::chrono::steady_clock::now();
  const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  const int ready =
      poll(watched.data(), watched.size(),
           static_cast<int>(std::clamp<std::int64_t>(left_ms, 0, std::numeric_limits<int>::max())));
  if (ready < 0 && errno != EINTR) {
    return fail(from_errno(errno, "collect", "read"));
  }
  if (watched.back().revents != 0) {
    return fail(ErrorKind::Interrupted, "", "", "interrupted");
  }
  if (ready == 0) {
    return fail(ErrorKind::Timeout, "", "",
                fmt::format("nothing came for {}", math::format_duration(deadline_.silence)),
                "see whether ssh to it and the disk there answer, and collect again: what came is "
                "kept; --timeout waits longer");
  }
  return {};
}

Result<std::size_t> Sender::read(std::span<char> into) {
  const Moment until = std::chrono::steady_clock::now() + deadline_.silence;
  for (;;) {
    std::array<pollfd, 3> watched{pollfd{child_.out.descriptor(), POLLIN, 0},
                                  pollfd{child_.err.descriptor(), POLLIN, 0},
                                  pollfd{deadline_.interrupt, POLLIN, 0}};
    TRY(wait(watched, until));
    child_.err.take_last(message_);
    if (watched[0].revents == 0) {
      continue;
    }
    if (const std::optional<std::size_t> count = child_.out.read(into)) {
      return *count;
    }
  }
}

std::string Sender::message() {
  child_.out.close();
  const Moment until = std::chrono::steady_clock::now() +
                       std::min<std::chrono::nanoseconds>(kMaxEnd, deadline_.silence);
  // What it started in the background may keep its standard error open for ever.
  for (bool is_over = false; !is_over;) {
    std::array<pollfd, 3> watched{pollfd{child_.process.descriptor(), POLLIN, 0},
                                  pollfd{child_.err.descriptor(), POLLIN, 0},
                                  pollfd{deadline_.interrupt, POLLIN, 0}};
    is_over = !wait(watched, until) || (watched[0].revents != 0 && watched[1].revents == 0);
    child_.err.take_last(message_);
  }
  const auto ended = child_.process.poll();
  has_ended_ = ended && *ended;
  has_failed_ = !has_ended_ || (*ended)->code != 0;
  end();
  // That of another chokepoint begins with its own name.
  constexpr std::string_view kOwnPrefix = "chokepoint: record send: ";
  std::string text =
      message_.starts_with(kOwnPrefix) ? message_.substr(kOwnPrefix.size()) : message_;
  // A byte of UTF-8 is negative where char is signed, as on x86, and not on Arm.
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') {
    text.pop_back();
  }
  std::ranges::replace(text, '\n', ' ');
  return cli::printable(text);
}

}  // namespace chokepoint::analysis
