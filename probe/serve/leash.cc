#include "probe/serve/leash.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/control/handshake.h"
#include "base/net/patience.h"

namespace chokepoint::probe::serve {
namespace {

constexpr std::string_view kOperation = "read key";
constexpr std::string_view kSubject = "standard input";
constexpr std::size_t kLongestLine = 4096;
// A scheduler may take its time to join the two.
constexpr std::chrono::seconds kFirstLine{60};

void write_one(int eventfd) {
  const std::uint64_t one = 1;
  std::ignore = write(eventfd, &one, sizeof(one));
}

// False once nothing more can come.
bool is_open_still(int input) {
  std::array<char, 4096> piece{};
  const ssize_t got = read(input, piece.data(), piece.size());
  return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

// Byte by byte: what follows the line is not this reader's.
Result<bool> read_letter(int input, std::string& line) {
  char letter = 0;
  const ssize_t got = read(input, &letter, 1);
  if (got < 0 && errno != EINTR && errno != EAGAIN) {
    return fail(from_errno(errno, kOperation, kSubject));
  }
  if (got == 1 && letter != '\n') {
    line += letter;
  }
  return got == 0 || (got == 1 && letter == '\n') || line.size() > kLongestLine;
}

}  // namespace

Result<std::string> read_leash(int input, int interrupt) {
  const net::Patience patience = net::Patience::of(kFirstLine, interrupt);
  std::string line;
  while (true) {
    const Result<> waited = net::wait_for(input, POLLIN, patience, kOperation, kSubject);
    TRY(const bool is_whole, waited ? read_letter(input, line) : std::unexpected(waited.error()));
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
  std::unique_ptr<StdinLifetime> leash(new StdinLifetime(std::move(over), std::move(dropped)));
  leash->thread_ =
      std::thread([held = leash.get(), input, interrupt] { held->watch(input, interrupt); });
  return leash;
}

StdinLifetime::~StdinLifetime() {
  write_one(dropped_.get());
  thread_.join();
}

void StdinLifetime::watch(int input, int interrupt) const {
  std::array<pollfd, 3> watched{
      {{input, POLLIN, 0}, {interrupt, POLLIN, 0}, {dropped_.get(), POLLIN, 0}}};
  do {
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) {
      break;
    }
  } while (watched[1].revents == 0 && watched[2].revents == 0 &&
           (watched[0].revents == 0 || is_open_still(input)));
  write_one(over_.get());
}

}  // namespace chokepoint::probe::serve
