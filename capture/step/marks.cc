#include "capture/step/marks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/record/names.h"
#include "base/sys/descriptor.h"
#include "base/sys/number.h"
#include "base/sys/root.h"

namespace chokepoint::capture::step {
namespace {

// nullopt if the path is longer than the 107 bytes that a Unix socket's address holds.
std::optional<sockaddr_un> address_of(const std::filesystem::path& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string& text = path.native();
  if (text.empty() || text.size() >= sizeof address.sun_path) {
    return std::nullopt;
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

sys::Descriptor open_socket() {
  return sys::Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Makes the kernel attach the sender's pid to each message (SO_PASSCRED).
bool passes_credentials(const sys::Descriptor& socket) {
  constexpr int kOn = 1;
  return setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &kOn, sizeof kOn) == 0;
}

constexpr std::size_t kMaxNameBytes = 64;

std::string_view next_word(std::string_view& rest) {
  constexpr std::string_view kBetween(" \t\r\n\0", 5);
  rest.remove_prefix(std::min(rest.find_first_not_of(kBetween), rest.size()));
  const std::string_view word = rest.substr(0, rest.find_first_of(kBetween));
  rest.remove_prefix(word.size());
  return word;
}

void take_word(std::string_view word, Mark& mark) {
  const std::size_t equals = word.find('=');
  const std::string_view value = equals == word.npos ? word : word.substr(equals + 1);
  const std::string_view key = equals == word.npos ? "" : word.substr(0, equals);
  if (key.empty()) {
    mark.number = sys::parse_non_negative<std::int64_t>(value);
  } else if (key == "samples") {
    mark.samples = sys::parse_non_negative<std::int64_t>(value);
  } else if (key == "rank") {
    mark.rank = sys::parse_non_negative<int>(value);
  } else if (key == "t") {
    mark.t_ns = sys::parse_non_negative<std::int64_t>(value);
  }
}

constexpr std::size_t kMaxMarkRanks = 1'024;
constexpr std::int64_t kMaxMarkDelayNs = 60'000'000'000;

// When the mark was sent; when it was received, if its own time is later than that or long before.
std::int64_t time_of(const Mark& mark, std::int64_t received_ns) {
  const std::int64_t t_ns = mark.t_ns.value_or(received_ns);
  return t_ns <= received_ns && received_ns - t_ns < kMaxMarkDelayNs ? t_ns : received_ns;
}

// Steps of each rank from its marks: each mark "step" ends the step before it.
class MarkSteps {
 public:
  // The step that this mark ends; nullopt for a rank's first mark.
  std::optional<Step> take(const Mark& mark, std::optional<int> rank, std::int64_t t_ns) {
    const auto at = begun_.find(rank.value_or(-1));
    if (at == begun_.end()) {
      if (begun_.size() < kMaxMarkRanks) {
        begun_[rank.value_or(-1)] = {t_ns, mark.number.value_or(0), mark.samples};
      }
      return std::nullopt;
    }
    Begun& begun = at->second;
    Step step{.start_ns = begun.t_ns,
              .end_ns = t_ns,
              .number = begun.number,
              .rank = rank,
              .source = record::StepSource::Marks,
              .samples = begun.samples};
    begun = {t_ns, mark.number.value_or(begun.number + 1), mark.samples};
    return step.end_ns > step.start_ns ? std::optional(step) : std::nullopt;
  }

 private:
  struct Begun {
    std::int64_t t_ns = 0;
    std::int64_t number = 0;
    std::optional<std::int64_t> samples = {};
  };

  std::map<int, Begun> begun_;  // by rank; -1: not known
};

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "chokepoint-marks-";
constexpr const char* kSocketName = "marks";

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
  return has_own_socket(folder) && address && probe &&
         connect(probe.get(), generic(*address), sizeof *address) != 0 && errno == ECONNREFUSED;
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

// The folder with the socket for the job's marks: of this process alone, removed with its owner.
// Folders that killed processes left behind are removed, too.
class MarksFolder {
 public:
  // Below `below`; if the socket's path gets too long or nothing can be made there, below /tmp or
  // /dev/shm.
  static Result<MarksFolder> make(const fs::path& below) {
    Result<fs::path> folder = make_folder(below);
    for (const char* other : {"/tmp", "/dev/shm"}) {
      if (Result<fs::path> instead = folder ? folder : make_folder(other); instead) {
        return MarksFolder(*instead);
      }
    }
    return fail(folder.error());
  }

  MarksFolder(MarksFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), folder_(std::move(other.folder_)) {}
  MarksFolder& operator=(MarksFolder&&) = delete;

  ~MarksFolder() {
    if (folder_) {
      remove_folder(folder_, path_);
    }
  }

  fs::path socket() const { return path_ / kSocketName; }

 private:
  explicit MarksFolder(fs::path path) : path_(std::move(path)), folder_(own_folder(path_)) {}
  fs::path path_;
  sys::Descriptor folder_;
};

constexpr std::size_t kMaxMarksPerCall = 16'384;
// Of the 1,024 descriptors that a process has by default; who comes later waits in the backlog.
constexpr std::size_t kMaxConnections = 512;
constexpr int kBacklog = 4'096;  // at most net.core.somaxconn
constexpr std::size_t kMaxMarkBytes = 512;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kEventsPerSecond = 50;
constexpr std::int64_t kMaxEventBurst = 500;

struct Message {
  std::string_view text = {};
  pid_t pid = 0;
};

struct ReceivedMark {
  Mark mark = {};
  std::optional<int> rank = {};
  std::int64_t t_ns = 0;
};

// Limits the rate of events: a flood of marks must not fill the record.
class EventLimit {
 public:
  bool spend(std::int64_t now_ns) {
    const std::int64_t earned = (now_ns - earned_ns_) * kEventsPerSecond / kSecond;
    if (earned > 0) {
      left_ = std::min(kMaxEventBurst, left_ + earned);
      earned_ns_ = now_ns;
    }
    if (left_ == 0) {
      return false;
    }
    --left_;
    return true;
  }

 private:
  std::int64_t left_ = kMaxEventBurst;
  std::int64_t earned_ns_ = 0;
};

pid_t sender_of(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials{};
      std::memcpy(&credentials, CMSG_DATA(part), sizeof credentials);
      return credentials.pid;
    }
  }
  return 0;
}

std::optional<int> rank_of(pid_t pid, const job::JobProcesses& processes) {
  const auto process = std::ranges::find(processes, pid, &job::JobProcess::pid);
  return process == processes.end() ? std::nullopt : process->rank.rank;
}

std::string detail_of(const Mark& mark, std::optional<int> rank) {
  nlohmann::json detail = nlohmann::json::object();
  if (mark.number) {
    detail["number"] = *mark.number;
  }
  if (mark.samples) {
    detail["samples"] = *mark.samples;
  }
  if (rank) {
    detail["rank"] = *rank;
  }
  return detail.dump();
}

class ListeningMarks final : public Marks {
 public:
  ListeningMarks(MarksFolder folder, sys::Descriptor socket, const sys::Clock& clock,
                 record::Writer& writer)
      : folder_(std::move(folder)),
        path_(folder_.socket()),
        socket_(std::move(socket)),
        clock_(clock),
        writer_(writer) {}

  ~ListeningMarks() override {
    if (refused_ > 0) {
      writer_.add(record::Event{
          .t_ns = clock_.monotonic_ns(),
          .kind = std::string(record::kDropped),
          .subject = "marks",
          .detail = nlohmann::json{{"reason", "too many marks"}, {"rows", refused_}}.dump()});
    }
  }

  const std::filesystem::path& path() const override { return path_; }

  bool take(const job::JobProcesses& processes, const OnStep& on_step) override {
    accept_waiting();
    std::vector<ReceivedMark> marks;
    // Each process has its share, so that one that floods takes nothing from the others.
    const std::size_t share = kMaxMarksPerCall / std::max<std::size_t>(connections_.size(), 1);
    std::erase_if(connections_, [&](const sys::Descriptor& connection) {
      return is_over_after(connection, share, processes, marks);
    });
    // Processes of unknown rank share their steps.
    std::ranges::stable_sort(marks, {}, &ReceivedMark::t_ns);
    const std::int64_t now_ns = clock_.monotonic_ns();
    for (const ReceivedMark& received : marks) {
      take_mark(received, now_ns, on_step);
    }
    return !marks.empty();
  }

 private:
  // Without a descriptor for them, and beyond kMaxConnections, they wait: what they send stays in
  // their sockets.
  void accept_waiting() {
    while (connections_.size() < kMaxConnections) {
      sys::Descriptor connection(
          ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!connection || !passes_credentials(connection)) {
        return;
      }
      connections_.push_back(std::move(connection));
    }
  }

  bool is_over_after(const sys::Descriptor& connection, std::size_t share,
                     const job::JobProcesses& processes, std::vector<ReceivedMark>& marks) {
    for (std::size_t taken = 0; taken < share; ++taken) {
      const std::optional<Message> message = receive(connection);
      if (!message) {
        return errno != EAGAIN && errno != EINTR;
      }
      // The end of the connection; the protocol has no empty message.
      if (message->text.empty()) {
        return true;
      }
      if (const std::optional<Mark> mark = read_mark(message->text)) {
        marks.push_back({.mark = *mark,
                         .rank = mark->rank ? mark->rank : rank_of(message->pid, processes),
                         .t_ns = time_of(*mark, clock_.monotonic_ns())});
      }
    }
    return false;
  }

  // nullopt, with the reason in errno, if nothing has come.
  std::optional<Message> receive(const sys::Descriptor& connection) {
    iovec part{.iov_base = bytes_.data(), .iov_len = bytes_.size()};
    // No space for descriptors that a sender may attach: the kernel closes these.
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = recvmsg(connection.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0) {
      return std::nullopt;
    }
    return Message{.text = {bytes_.data(), static_cast<std::size_t>(size)},
                   .pid = sender_of(message)};
  }

  void take_mark(const ReceivedMark& received, std::int64_t now_ns, const OnStep& on_step) {
    const auto& [mark, rank, t_ns] = received;
    if (mark.name != kStepMark) {
      keep(mark, rank, t_ns, now_ns);
    } else if (const std::optional<Step> step = steps_.take(mark, rank, t_ns)) {
      on_step(*step);
    }
  }

  void keep(const Mark& mark, std::optional<int> rank, std::int64_t t_ns, std::int64_t now_ns) {
    if (!limit_.spend(now_ns)) {
      ++refused_;
      return;
    }
    writer_.add(record::Event{
        .t_ns = t_ns, .kind = "mark", .subject = mark.name, .detail = detail_of(mark, rank)});
  }

  MarksFolder folder_;
  std::filesystem::path path_;
  sys::Descriptor socket_;
  std::vector<sys::Descriptor> connections_;
  const sys::Clock& clock_;
  record::Writer& writer_;
  MarkSteps steps_;
  EventLimit limit_;
  std::int64_t refused_ = 0;
  std::array<char, kMaxMarkBytes> bytes_ = {};
};

Result<sys::Descriptor> bind_marks(const std::filesystem::path& path) {
  const std::optional<sockaddr_un> address = address_of(path);
  sys::Descriptor socket = open_socket();
  const bool is_bound = address && socket && passes_credentials(socket) &&
                        bind(socket.get(), generic(*address), sizeof *address) == 0 &&
                        ::listen(socket.get(), kBacklog) == 0;
  return is_bound ? Result<sys::Descriptor>(std::move(socket))
                  : fail(from_errno(errno, "listen for marks", path.string()));
}

}  // namespace

bool is_mark_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, [](char byte) {
    return byte > ' ' && byte < 0x7f && byte != '=';
  });
}

std::optional<Mark> read_mark(std::string_view message) {
  const std::string_view name = next_word(message);
  if (!is_mark_name(name)) {
    return std::nullopt;
  }
  Mark mark{.name = std::string(name)};
  for (std::string_view word = next_word(message); !word.empty(); word = next_word(message)) {
    take_word(word, mark);
  }
  return mark;
}

std::string text_of(const Mark& mark) {
  std::string text = mark.name;
  text += mark.number ? " " + std::to_string(*mark.number) : "";
  text += mark.samples ? " samples=" + std::to_string(*mark.samples) : "";
  text += mark.rank ? " rank=" + std::to_string(*mark.rank) : "";
  text += mark.t_ns ? " t=" + std::to_string(*mark.t_ns) : "";
  return text;
}

Result<> send_mark(const std::filesystem::path& socket, const Mark& mark) {
  const std::optional<sockaddr_un> address = address_of(socket);
  if (!address) {
    return fail(ErrorKind::Malformed, "", socket.string(), "too long for the path of a socket");
  }
  const sys::Descriptor sender = open_socket();
  const std::string text = text_of(mark);
  if (!sender || connect(sender.get(), generic(*address), sizeof *address) != 0 ||
      send(sender.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) {
    return fail(from_errno(errno, "", socket.string()));
  }
  return {};
}

Result<std::unique_ptr<Marks>> Marks::listen(const std::filesystem::path& below,
                                             const sys::Clock& clock, record::Writer& writer) {
  TRY(MarksFolder folder, MarksFolder::make(below));
  TRY(sys::Descriptor socket, bind_marks(folder.socket()));
  return std::make_unique<ListeningMarks>(std::move(folder), std::move(socket), clock, writer);
}

}  // namespace chokepoint::capture::step
