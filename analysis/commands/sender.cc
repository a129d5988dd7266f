#include "analysis/commands/sender.h"

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

constexpr std::size_t kMaxMessageBytes = 4096;
// From the end of its output to its own; ssh takes some round trips.
constexpr std::chrono::seconds kEndPatience{10};

}  // namespace

Result<Sender> Sender::start(std::vector<std::string> command, const SenderDeadline& patience) {
  TRY(sys::Pipe out, sys::open_pipe("collect", "a pipe"));
  TRY(sys::Pipe err, sys::open_pipe("collect", "a pipe"));
  sys::Spawn spawn{.command = std::move(command), .out = out.write.get(), .err = err.write.get()};
  // Another program would hand the tie on to a chokepoint that is not this one's child.
  if (spawn.command.front() == kOwnProgram) {
    spawn.environment = {sys::tie_to_this_process()};
  }
  TRY(sys::Process process, sys::Process::start(spawn));
  return Sender(std::move(process), std::move(out.read), std::move(err.read), patience);
}

Sender::~Sender() { end(); }

void Sender::end() {
  if (process_.descriptor() < 0 || has_ended_) {
    return;  // moved from, or gone
  }
  has_ended_ = true;
  std::ignore = process_.signal(SIGKILL);
  std::ignore = process_.wait();
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
                fmt::format("nothing came for {}", math::format_duration(patience_.silence)),
                "see whether ssh to it and the disk there answer, and collect again: what came is "
                "kept; --patience waits longer");
  }
  return {};
}

Result<std::size_t> Sender::read(std::span<char> into) {
  const Moment until = std::chrono::steady_clock::now() + patience_.silence;
  for (;;) {
    std::array<pollfd, 3> watched{pollfd{out_.get(), POLLIN, 0}, pollfd{err_.get(), POLLIN, 0},
                                  pollfd{patience_.interrupt, POLLIN, 0}};
    TRY(wait(watched, until));
    if (watched[1].revents != 0) {
      hear();
    }
    if (watched[0].revents != 0) {
      const ssize_t count = ::read(out_.get(), into.data(), into.size());
      return count < 0 ? Result<std::size_t>(fail(from_errno(errno, "collect", "read")))
                       : Result<std::size_t>(static_cast<std::size_t>(count));
    }
  }
}

void Sender::hear() {
  std::array<char, 1024> bytes{};
  const ssize_t count = ::read(err_.get(), bytes.data(), bytes.size());
  if (count <= 0) {
    err_.reset();
    return;
  }
  message_.append(bytes.data(), static_cast<std::size_t>(count));
  if (message_.size() > kMaxMessageBytes) {
    message_.erase(0, message_.size() - kMaxMessageBytes);
  }
}

std::string Sender::message() {
  out_.reset();
  const Moment until = std::chrono::steady_clock::now() +
                       std::min<std::chrono::nanoseconds>(kEndPatience, patience_.silence);
  // What it started in the background may keep its standard error open for ever.
  for (bool is_over = false; !is_over;) {
    std::array<pollfd, 3> watched{pollfd{process_.descriptor(), POLLIN, 0},
                                  pollfd{err_.get(), POLLIN, 0},
                                  pollfd{patience_.interrupt, POLLIN, 0}};
    is_over = !wait(watched, until) || (watched[0].revents != 0 && watched[1].revents == 0);
    if (watched[1].revents != 0) {
      hear();
    }
  }
  const auto ended = process_.poll();
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
