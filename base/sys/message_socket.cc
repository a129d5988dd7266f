#include "base/sys/message_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

namespace chokepoint::sys {
namespace {

// A message is cut at its end, and an error must still have all its words.
constexpr std::size_t kMaxWordBytes = 4096;
constexpr std::size_t kErrorWords = 6;

union PassedDescriptor {
  cmsghdr head;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

Descriptor passed_with(msghdr& message) {
  Descriptor passed;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS &&
        part->cmsg_len == CMSG_LEN(sizeof(int))) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part), sizeof descriptor);
      passed.reset(descriptor);
    }
  }
  return passed;
}

int number_of(std::string_view word) {
  int number = -1;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

}  // namespace

Result<MessageSockets> MessageSocket::open_pair(std::string_view operation) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return fail(from_errno(errno, operation, "socket"));
  }
  return MessageSockets{MessageSocket(Descriptor(ends[0])), MessageSocket(Descriptor(ends[1]))};
}

// The buffer takes memory only where a message comes.
MessageSocket::MessageSocket(Descriptor socket)
    : socket_(std::move(socket)),
      buffer_(std::make_unique_for_overwrite<char[]>(kMaxMessageBytes)),
      is_gone_(!socket_) {}

void MessageSocket::close() {
  is_gone_ = true;
  socket_.reset();
}

void MessageSocket::set_queue_bytes(int bytes) const {
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

bool MessageSocket::send_head(const MessageHead& head, std::string_view bytes,
                              std::chrono::milliseconds time, int passed) const {
  bytes = bytes.substr(0, kMaxMessageBytes);
  std::array<iovec, 2> parts{iovec{const_cast<MessageHead*>(&head), sizeof head},
                             iovec{const_cast<char*>(bytes.data()), bytes.size()}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  PassedDescriptor control{};
  if (passed >= 0) {
    control.head = {
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    message.msg_control = &control;
    message.msg_controllen = sizeof control.bytes;
    std::memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), &passed, sizeof passed);
  }
  while (sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    pollfd room{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    if (errno != EINTR &&
        (errno != EAGAIN || poll(&room, 1, static_cast<int>(time.count())) <= 0)) {
      return false;
    }
  }
  return true;
}

std::optional<ReceivedMessage> MessageSocket::receive() {
  if (is_gone_) {
    return std::nullopt;
  }
  ReceivedMessage received;
  std::array<iovec, 2> parts{iovec{&received.head, sizeof received.head},
                             iovec{buffer_.get(), kMaxMessageBytes}};
  PassedDescriptor control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  message.msg_control = &control;
  message.msg_controllen = sizeof control.bytes;
  const ssize_t got = recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  is_gone_ = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
  if (got < static_cast<ssize_t>(sizeof received.head)) {
    return std::nullopt;
  }
  received.passed = passed_with(message);
  received.bytes = {buffer_.get(), static_cast<std::size_t>(got) - sizeof received.head};
  return received;
}

std::string packed_error(const Error& error) {
  std::string bytes;
  for (const std::string& word :
       {std::to_string(static_cast<int>(error.kind)), std::to_string(error.code), error.operation,
        error.subject, error.reason, error.next_step}) {
    bytes += word.substr(0, kMaxWordBytes) + '\0';
  }
  return bytes;
}

Error unpacked_error(std::string_view bytes) {
  std::vector<std::string> words;
  while (!bytes.empty() && words.size() < kErrorWords) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    words.emplace_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  const int kind = words.size() == kErrorWords ? number_of(words[0]) : -1;
  if (kind < 0 || kind > static_cast<int>(ErrorKind::Io)) {
    return {ErrorKind::Malformed, "", "", 0, "an error that cannot be read"};
  }
  return {static_cast<ErrorKind>(kind), words[2], words[3],
          number_of(words[1]),          words[4], words[5]};
}

}  // namespace chokepoint::sys
