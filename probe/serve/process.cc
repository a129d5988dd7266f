#include "probe/serve/process.h"

#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/control/handshake.h"
#include "base/net/deadline.h"
#include "base/sys/thread.h"

namespace chokepoint::probe::serve {
namespace {

constexpr std::string_view kOperation = "read key";
constexpr std::string_view kSubject = "standard input";
constexpr std::size_t kMaxLineBytes = 4096;
// A job scheduler may take long to connect the two.
constexpr std::chrono::seconds kKeyTimeout{60};

void write_one(int eventfd) {
  const std::uint64_t one = 1;
  std::ignore = write(eventfd, &one, sizeof(one));
}

// False once nothing more can arrive.
bool is_still_open(int input) {
  std::array<char, 4096> piece{};
  const ssize_t got = read(input, piece.data(), piece.size());
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

// Byte by byte, so that what follows the line stays unread. True once the line is complete.
Result<bool> read_letter(int input, std::string& line) {
  char letter = 0;
  const ssize_t got = read(input, &letter, 1);
  if (got < 0 && errno != EINTR && errno != EAGAIN) {
    return fail(from_errno(errno, kOperation, kSubject));
  }
  if (got == 1 && letter != '\n') {
    line += letter;
  }
  return got == 0 || (got == 1 && letter == '\n') || line.size() > kMaxLineBytes;
}

}  // namespace

Result<std::string> read_key(int input, int interrupt) {
  const net::Deadline deadline = net::Deadline::of(kKeyTimeout, interrupt);
  std::string line;
  while (true) {
    TRY(net::wait_for(input, POLLIN, deadline, kOperation, kSubject));
    TRY(const bool is_whole, read_letter(input, line));
    if (is_whole) {
      return control::key_text_in(line, kSubject);
    }
  }
}

Result<std::unique_ptr<StdinLifetime>> StdinLifetime::hold(int input, int interrupt) {
  sys::Descriptor over(eventfd(0, EFD_CLOEXEC));
  sys::Descriptor dropped(eventfd(0, EFD_CLOEXEC));
  if (!over || !dropped) {
    return fail(from_errno(errno, "watch", kSubject));
  }
  signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<StdinLifetime> lifetime(new StdinLifetime(std::move(over), std::move(dropped)));
  TRY(lifetime->thread_, sys::start_thread("leash", [held = lifetime.get(), input, interrupt] {
        held->watch(input, interrupt);
      }));
  return lifetime;
}

StdinLifetime::~StdinLifetime() {
  write_one(dropped_.get());
  if (thread_.joinable()) {
    thread_.join();
  }
}

void StdinLifetime::watch(int input, int interrupt) const {
  std::array<pollfd, 3> watched{
      {{input, POLLIN, 0}, {interrupt, POLLIN, 0}, {dropped_.get(), POLLIN, 0}}};
  do {
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) {
      break;
    }
  } while (watched[1].revents == 0 && watched[2].revents == 0 &&
           (watched[0].revents == 0 || is_still_open(input)));
  write_one(over_.get());
}

Result<> become(const std::string& user) {
  if (user.empty()) {
    return {};
  }
  errno = 0;
  const passwd* found = getpwnam(user.c_str());
  if (found == nullptr) {
    return fail(ErrorKind::Usage, "", "--user " + user, "no such user",
                "'getent passwd' lists them");
  }
  if (found->pw_uid == geteuid() && found->pw_uid == getuid()) {
    return {};
  }
  if (initgroups(user.c_str(), found->pw_gid) < 0 ||
      setresgid(found->pw_gid, found->pw_gid, found->pw_gid) < 0 ||
      setresuid(found->pw_uid, found->pw_uid, found->pw_uid) < 0) {
    Error error = from_errno(errno, "become user", user);
    error.next_step = "start as root, or leave --user out";
    return fail(std::move(error));
  }
  return {};
}

void notify_ready(const std::optional<std::string>& socket) {
  constexpr std::string_view kReady = "READY=1";
  sockaddr_un address{};
  if (!socket || socket->empty() || socket->size() >= sizeof(address.sun_path)) {
    return;
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket->data(), socket->size());
  if (address.sun_path[0] == '@') {
    address.sun_path[0] = '\0';  // the abstract name space
  }
  const sys::Descriptor fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket->size());
  sendto(fd.get(), kReady.data(), kReady.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
         reinterpret_cast<const sockaddr*>(&address), length);
}

}  // namespace chokepoint::probe::serve
