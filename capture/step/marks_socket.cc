#include "capture/step/marks_socket.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "base/sys/root.h"

namespace chokepoint::capture::step {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "chokepoint-marks-";
constexpr const char* kSocketName = "marks";
constexpr int kBacklog = 4'096;     // at most net.core.somaxconn
constexpr int kMaxRefused = 1'024;  // closed in one call of accept(): some 5 ms
constexpr uid_t kNobody = 65'534;   // whom the kernel reports if a user namespace lacks the user

struct Address {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// A name has a zero byte in front, a path one behind.
enum class Kind { Path, Name };

// nullopt if the path is longer than the 107 bytes that a Unix socket's address holds.
std::optional<Address> address_of(const fs::path& path, Kind kind = Kind::Path) {
  Address made;
  const std::string& text = path.native();
  if (text.empty() || text.size() >= sizeof made.address.sun_path) {
    return std::nullopt;
  }
  const std::size_t begin = kind == Kind::Name ? 1 : 0;
  std::memcpy(made.address.sun_path + begin, text.data(), text.size());
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return made;
}

sys::Descriptor open_socket() {
  return sys::Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool connects(const sys::Descriptor& socket, const Address& address) {
  return ::connect(socket.get(), address.get(), address.size) == 0;
}

// Makes the kernel attach the sender's pid to each message (SO_PASSCRED).
bool passes_credentials(const sys::Descriptor& socket) {
  constexpr int kOn = 1;
  return setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &kOn, sizeof kOn) == 0;
}

Result<sys::Descriptor> listen_at(const std::optional<Address>& address, const fs::path& path) {
  sys::Descriptor socket = open_socket();
  const bool is_bound = address && socket && passes_credentials(socket) &&
                        ::bind(socket.get(), address->get(), address->size) == 0 &&
                        ::listen(socket.get(), kBacklog) == 0;
  return is_bound ? Result<sys::Descriptor>(std::move(socket))
                  : fail(from_errno(errno, "listen for marks", path.string()));
}

// Who the folder would let in: this user, or root.
bool may_mark(const sys::Descriptor& connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         (peer.uid == 0 || (peer.uid == ::geteuid() && peer.uid != kNobody));
}

sys::Descriptor accepted_by(const sys::Descriptor& socket) {
  return sys::Descriptor(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

// The folder itself, if it is this user's own and no other user can change what is in it. Every
// user may write to a temporary folder: another one may have put a link there, or a folder with a
// link in it, that leads to a file of this user.
sys::Descriptor own_folder(const fs::path& path) {
  sys::Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  const bool is_own = folder && ::fstat(folder.get(), &status) == 0 &&
                      status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return is_own ? std::move(folder) : sys::Descriptor();
}

bool has_own_socket(const sys::Descriptor& folder) {
  struct stat status{};
  return ::fstatat(folder.get(), kSocketName, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISSOCK(status.st_mode) && status.st_uid == ::geteuid();
}

// True for a socket that is bound but has no listener; one that is just being made has no file yet.
bool is_left_over(const sys::Descriptor& folder) {
  // The folder that was checked, whatever has its name by now.
  const fs::path checked = "/proc/self/fd/" + std::to_string(folder.get());
  const auto address = address_of(checked / kSocketName);
  const sys::Descriptor probe(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return has_own_socket(folder) && address && probe && !connects(probe, *address) &&
         errno == ECONNREFUSED;
}

// rmdir() follows no link, and removes no folder that has anything else in it.
void remove_folder(const sys::Descriptor& folder, const fs::path& path) {
  ::unlinkat(folder.get(), kSocketName, 0);
  ::rmdir(path.c_str());
}

void remove_left_overs(const fs::path& below) {
  sys::for_each_named(below, kPrefix, [](const fs::path& path) {
    if (const sys::Descriptor folder = own_folder(path); folder && is_left_over(folder)) {
      remove_folder(folder, path);
    }
  });
}

Result<fs::path> make_folder(const fs::path& below) {
  std::string name = (below / kPrefix).string() + "XXXXXX";
  if (!address_of(name + "/" + kSocketName)) {
    return fail(ErrorKind::Unsupported, "listen for marks", below.string(),
                "too long for the path of a socket", "set TMPDIR to a shorter path");
  }
  remove_left_overs(below);
  if (mkdtemp(name.data()) == nullptr) {
    Error error = from_errno(errno, "listen for marks", below.string());
    error.next_step = "set TMPDIR to a folder that can be written to";
    return fail(std::move(error));
  }
  return name;
}

}  // namespace

Result<MarksFolder> MarksFolder::make(const fs::path& below) {
  Result<fs::path> folder = make_folder(below);
  for (const char* other : {"/tmp", "/dev/shm"}) {
    if (Result<fs::path> instead = folder ? folder : make_folder(other); instead) {
      return MarksFolder(*instead);
    }
  }
  return fail(folder.error());
}

MarksFolder::MarksFolder(fs::path path) : path_(std::move(path)), folder_(own_folder(path_)) {}

MarksFolder::MarksFolder(MarksFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), folder_(std::move(other.folder_)) {}

MarksFolder::~MarksFolder() {
  if (folder_) {
    remove_folder(folder_, path_);
  }
}

fs::path MarksFolder::socket() const { return path_ / kSocketName; }

Result<MarksSockets> MarksSockets::listen(const fs::path& below) {
  TRY(MarksFolder folder, MarksFolder::make(below));
  const fs::path path = folder.socket();
  TRY(sys::Descriptor at_path, listen_at(address_of(path), path));
  Result<sys::Descriptor> by_name = listen_at(address_of(path, Kind::Name), path);
  return MarksSockets(std::move(folder), std::move(at_path),
                      by_name ? std::move(*by_name) : sys::Descriptor());
}

MarksSockets::MarksSockets(MarksFolder folder, sys::Descriptor at_path, sys::Descriptor by_name)
    : folder_(std::move(folder)),
      path_(folder_.socket()),
      at_path_(std::move(at_path)),
      by_name_(std::move(by_name)) {}

std::optional<sys::Descriptor> MarksSockets::accept() {
  sys::Descriptor connection = accepted_by(at_path_);
  for (int refused = 0; !connection && refused < kMaxRefused; ++refused) {
    sys::Descriptor next = accepted_by(by_name_);
    if (!next) {
      return std::nullopt;
    }
    if (may_mark(next)) {
      connection = std::move(next);
    }
  }
  return connection && passes_credentials(connection) ? std::optional(std::move(connection))
                                                      : std::nullopt;
}

Result<sys::Descriptor> connect_to_marks(const fs::path& path) {
  const std::optional<Address> address = address_of(path);
  if (!address) {
    return fail(ErrorKind::Malformed, "", path.string(), "too long for the path of a socket");
  }
  sys::Descriptor socket = open_socket();
  if (socket && connects(socket, *address)) {
    return socket;
  }
  Error error = from_errno(errno, "", path.string());
  const bool is_full = error.code == EAGAIN;  // it is there
  const std::optional<Address> name = address_of(path, Kind::Name);
  return socket && name && !is_full && connects(socket, *name)
             ? Result<sys::Descriptor>(std::move(socket))
             : fail(std::move(error));
}

}  // namespace chokepoint::capture::step
