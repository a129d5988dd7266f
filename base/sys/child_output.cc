#include "base/sys/child_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace chokepoint::sys {
namespace {

constexpr std::size_t kReadBytes = 16'384;

}  // namespace

ChildStream::ChildStream(Descriptor read_end) : from_(std::move(read_end)) {
  fcntl(from_.get(), F_SETFL, O_NONBLOCK);
}

std::optional<std::size_t> ChildStream::read(std::span<char> into) {
  const ssize_t got = from_ ? ::read(from_.get(), into.data(), into.size()) : 0;
  if (got > 0) {
    return static_cast<std::size_t>(got);
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    return std::nullopt;
  }
  from_.reset();
  return 0;
}

void ChildStream::take(std::string& text, std::size_t most) {
  std::array<char, kReadBytes> piece{};
  std::optional<std::size_t> got;
  while (text.size() <= most && (got = read(piece)).value_or(0) > 0) {
    text.append(piece.data(), *got);
  }
}

void ChildStream::take_last(std::string& text) {
  std::array<char, kReadBytes> piece{};
  std::optional<std::size_t> got;
  while ((got = read(piece)).value_or(0) > 0) {
    text.append(piece.data(), *got);
    text.erase(0, text.size() - std::min(text.size(), kLastBytes));
  }
}

Result<ChildOutput> start_child(Spawn spawn, std::string_view operation, ChildStreams streams) {
  const std::string subject = spawn.command.empty() ? "" : spawn.command.front();
  TRY(Pipe out, open_pipe(operation, subject));
  Pipe err;
  if (streams == ChildStreams::Apart) {
    TRY(err, open_pipe(operation, subject));
  }
  spawn.out = out.write.get();
  spawn.err = err.write ? err.write.get() : out.write.get();
  TRY(Process process, Process::start(spawn));
  return ChildOutput{.process = std::move(process),
                     .out = ChildStream(std::move(out.read)),
                     .err = err.read ? ChildStream(std::move(err.read)) : ChildStream()};
}

}  // namespace chokepoint::sys
