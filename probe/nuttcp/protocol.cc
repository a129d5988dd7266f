#include "probe/nuttcp/protocol.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <span>
#include <string_view>

#include "base/net/socket.h"

namespace chokepoint::probe::nuttcp {
namespace {

using net::Deadline;
using std::chrono::milliseconds;

constexpr std::string_view kHello = "HELO nuttcp v";
constexpr milliseconds kAfterBeginMark{250};
// nuttcp itself leaves 500 ms; a receiver accepts any gap.
constexpr milliseconds kBetweenEndMarks{150};

std::string_view without_line_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r' || line.back() == ' ')) {
    line.remove_suffix(1);
  }
  return line;
}

// Removes the number at the front, and the dot behind it.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0 || number > 999) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with('.')) {
    text.remove_prefix(1);
  }
  return number;
}

constexpr std::size_t kMaxPeerTextBytes = 40;
constexpr std::size_t kMaxReasonBytes = 160;  // stock clients read a line of any length in pieces

// For errors: so many printable characters at most.
std::string shown(std::string_view line, std::size_t most = kMaxPeerTextBytes) {
  std::string text(line.substr(0, std::min(line.size(), most)));
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

Result<> send_mark(int fd, std::string_view mark) {
  // ECONNREFUSED is an ICMP answer to an earlier mark, from before the receiver was ready.
  if (send(fd, mark.data(), mark.size(), MSG_NOSIGNAL) < 0 && errno != ECONNREFUSED) {
    return fail(from_errno(errno, "send UDP", "nuttcp's mark"));
  }
  return {};
}

Result<> wait(milliseconds time, int interrupt) {
  const Result<> waited =
      net::wait_for(-1, 0, Deadline::of(time, interrupt), "send UDP", "nuttcp's mark");
  return waited.error().kind == ErrorKind::Interrupted ? waited : Result<>{};
}

}  // namespace

std::string Version::text() const { return fmt::format("{}.{}.{}", major, minor, patch); }

std::string hello_line() { return fmt::format("{}{}\n", kHello, kOwnVersion.text()); }

Result<Version> read_hello(std::string_view line) {
  std::string_view rest = without_line_end(line);
  if (!rest.starts_with(kHello)) {
    return fail(ErrorKind::Malformed, "greet", "nuttcp's peer",
                fmt::format("it says '{}'", shown(rest)), "is 'nuttcp -S' running there?");
  }
  rest.remove_prefix(kHello.size());
  const std::optional<int> major = take_number(rest);
  const std::optional<int> minor = take_number(rest);
  const std::optional<int> patch = take_number(rest);
  // The letters of a beta version may follow.
  if (!major || !minor || !patch || rest.size() > 8) {
    return fail(ErrorKind::Malformed, "greet", "nuttcp's peer", "its version cannot be read");
  }
  return Version{.major = *major, .minor = *minor, .patch = *patch};
}

std::string ok_line() { return fmt::format("OK v{}\n", kOwnVersion.text()); }

std::string refusal(std::string_view why) {
  return fmt::format("KO\n{}\nKO\n", shown(why, kMaxReasonBytes));
}

Result<Answer> read_answer(std::string_view line) {
  const std::string_view word = without_line_end(line);
  if (word.starts_with("OK")) {
    return Answer::Ok;
  }
  if (word == "KO") {
    return Answer::Refused;
  }
  return fail(ErrorKind::Malformed, "ask for a test", "nuttcp's peer",
              fmt::format("it says '{}'", shown(word)));
}

std::optional<Mark> mark_of(std::span<const std::byte> datagram) {
  if (datagram.size() != 4) {
    return std::nullopt;
  }
  const std::string_view text(reinterpret_cast<const char*>(datagram.data()), 3);
  if (text == "BOD") {
    return Mark::Begin;
  }
  return text == "EOD" ? std::optional(Mark::End) : std::nullopt;
}

Result<> LineChannel::send(std::string_view text, const Deadline& deadline) {
  return net::send_all(fd_.get(), std::as_bytes(std::span(text)), deadline, peer_);
}

// False if the peer has closed the connection.
Result<bool> LineChannel::receive_more(const Deadline& deadline) {
  std::array<char, 4096> buffer{};
  TRY(const std::size_t got,
      net::receive_some(fd_.get(), std::as_writable_bytes(std::span(buffer)), deadline, peer_));
  received_.append(buffer.data(), got);
  return got > 0;
}

Result<std::string> LineChannel::line(const Deadline& deadline) {
  while (true) {
    if (const std::size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end + 1);
      received_.erase(0, end + 1);
      return line;
    }
    if (received_.size() > kMaxLineBytes) {
      return fail(ErrorKind::Malformed, "", peer_, "it sends a line without an end");
    }
    TRY(const bool more, receive_more(deadline));
    if (!more) {
      return fail(ErrorKind::Refused, "", peer_, "it closed the connection",
                  "is 'nuttcp -S' running there?");
    }
  }
}

Result<std::string> LineChannel::rest(std::size_t most, const Deadline& deadline) {
  while (received_.size() <= most) {
    TRY(const bool more, receive_more(deadline));
    if (!more) {
      return std::move(received_);
    }
  }
  return fail(ErrorKind::Malformed, "", peer_, "its results have no end");
}

Result<> send_begin_marks(int fd, int interrupt) {
  TRY(send_mark(fd, "BOD0"));
  TRY(wait(kAfterBeginMark, interrupt));
  return send_mark(fd, "BOD1");
}

Result<> send_end_marks(int fd, int interrupt) {
  TRY(send_mark(fd, "EOD0"));
  for (const std::string_view mark : {"EOD1", "EOD2", "EOD3", "EOD4"}) {
    TRY(wait(kBetweenEndMarks, interrupt));
    TRY(send_mark(fd, mark));
  }
  return {};
}

Result<> await_begin_mark(int fd, const net::Address& from, const Deadline& deadline) {
  while (true) {
    TRY(net::wait_for(fd, POLLIN, deadline, "wait for UDP from", from.text()));
    std::array<std::byte, 64> packet{};
    sockaddr_storage source{};
    socklen_t length = sizeof(source);
    const ssize_t got = recvfrom(fd, packet.data(), packet.size(), MSG_DONTWAIT,
                                 reinterpret_cast<sockaddr*>(&source), &length);
    const Result<net::Endpoint> sender = net::Endpoint::from_socket(source);
    if (got >= 0 && sender && sender->address == from &&
        mark_of(std::span(packet).first(static_cast<std::size_t>(got)))) {
      return net::connect_udp(fd, *sender);
    }
  }
}

}  // namespace chokepoint::probe::nuttcp
