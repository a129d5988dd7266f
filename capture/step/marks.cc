#include "capture/step/marks.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/record/names.h"
#include "base/sys/descriptor.h"
#include "capture/step/mark_steps.h"
#include "capture/step/marks_folder.h"
#include "capture/step/socket_address.h"

namespace chokepoint::capture::step {
namespace {

constexpr int kMostAtOnce = 256;
constexpr std::size_t kMostBytes = 512;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kEventsPerSecond = 50;
constexpr std::int64_t kMostEvents = 500;  // at once, after a quiet time

struct Datagram {
  std::string_view text = {};
  pid_t pid = 0;
};

// Events are told seldom: a flood of marks must not fill the record.
class Allowance {
 public:
  bool spend(std::int64_t now_ns) {
    const std::int64_t earned = (now_ns - earned_ns_) * kEventsPerSecond / kSecond;
    if (earned > 0) {
      left_ = std::min(kMostEvents, left_ + earned);
      earned_ns_ = now_ns;
    }
    if (left_ == 0) {
      return false;
    }
    --left_;
    return true;
  }

 private:
  std::int64_t left_ = kMostEvents;
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

class Listening final : public Marks {
 public:
  Listening(MarksFolder folder, sys::Descriptor socket, const sys::Clock& clock,
            record::Writer& writer)
      : folder_(std::move(folder)),
        path_(folder_.socket()),
        socket_(std::move(socket)),
        clock_(clock),
        writer_(writer) {}

  ~Listening() override {
    if (refused_ > 0) {
      writer_.add(record::Event{
          .t_ns = clock_.monotonic_ns(),
          .kind = std::string(record::kDropped),
          .subject = "marks",
          .detail = nlohmann::json{{"reason", "too many marks"}, {"rows", refused_}}.dump()});
    }
  }

  const std::filesystem::path& path() const override { return path_; }
  int descriptor() const override { return socket_.get(); }

  void take(const job::JobProcesses& processes, const OnStep& on_step) override {
    for (int taken = 0; taken < kMostAtOnce; ++taken) {
      const std::optional<Datagram> datagram = receive();
      if (!datagram) {
        return;
      }
      if (const std::optional<Mark> mark = read_mark(datagram->text)) {
        take_mark(*mark, mark->rank ? mark->rank : rank_of(datagram->pid, processes), on_step);
      }
    }
  }

 private:
  std::optional<Datagram> receive() {
    iovec part{.iov_base = bytes_.data(), .iov_len = bytes_.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0) {
      return std::nullopt;
    }
    return Datagram{.text = {bytes_.data(), static_cast<std::size_t>(size)},
                    .pid = sender_of(message)};
  }

  void take_mark(const Mark& mark, std::optional<int> rank, const OnStep& on_step) {
    const std::int64_t now_ns = clock_.monotonic_ns();
    const std::int64_t t_ns = time_of(mark, now_ns);
    if (mark.name != kStepMark) {
      keep(mark, rank, t_ns, now_ns);
    } else if (const std::optional<Step> step = steps_.take(mark, rank, t_ns)) {
      on_step(*step);
    }
  }

  void keep(const Mark& mark, std::optional<int> rank, std::int64_t t_ns, std::int64_t now_ns) {
    if (!allowance_.spend(now_ns)) {
      ++refused_;
      return;
    }
    writer_.add(record::Event{
        .t_ns = t_ns, .kind = "mark", .subject = mark.name, .detail = detail_of(mark, rank)});
  }

  MarksFolder folder_;
  std::filesystem::path path_;
  sys::Descriptor socket_;
  const sys::Clock& clock_;
  record::Writer& writer_;
  MarkSteps steps_;
  Allowance allowance_;
  std::int64_t refused_ = 0;
  std::array<char, kMostBytes> bytes_ = {};
};

Result<sys::Descriptor> bound(const std::filesystem::path& path) {
  const std::optional<sockaddr_un> address = address_of(path);
  sys::Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  constexpr int kOn = 1;
  const bool is_bound = address && socket &&
                        setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &kOn, sizeof kOn) == 0 &&
                        bind(socket.get(), generic(*address), sizeof *address) == 0;
  return is_bound ? Result<sys::Descriptor>(std::move(socket))
                  : fail(from_errno(errno, "listen for marks", path.string()));
}

}  // namespace

Result<std::unique_ptr<Marks>> Marks::listen(const std::filesystem::path& below,
                                             const sys::Clock& clock, record::Writer& writer) {
  TRY(MarksFolder folder, MarksFolder::make(below));
  TRY(sys::Descriptor socket, bound(folder.socket()));
  return std::make_unique<Listening>(std::move(folder), std::move(socket), clock, writer);
}

}  // namespace chokepoint::capture::step
