#include "capture/step/marks.h"

#include <sys/socket.h>

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
#include "capture/step/marks_socket.h"

namespace chokepoint::capture::step {
namespace {

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

constexpr std::size_t kMaxMarksPerCall = 16'384;
// Of the 1,024 descriptors that a process has by default; who comes later waits in the backlog.
constexpr std::size_t kMaxConnections = 512;
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
  ListeningMarks(MarksSockets sockets, const sys::Clock& clock, record::Writer& writer)
      : sockets_(std::move(sockets)), clock_(clock), writer_(writer) {}

  ~ListeningMarks() override {
    if (refused_ > 0) {
      writer_.add(record::Event{
          .t_ns = clock_.monotonic_ns(),
          .kind = std::string(record::kDropped),
          .subject = "marks",
          .detail = nlohmann::json{{"reason", "too many marks"}, {"rows", refused_}}.dump()});
    }
  }

  const std::filesystem::path& path() const override { return sockets_.path(); }

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
      std::optional<sys::Descriptor> connection = sockets_.accept();
      if (!connection) {
        return;
      }
      connections_.push_back(std::move(*connection));
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

  MarksSockets sockets_;
  std::vector<sys::Descriptor> connections_;
  const sys::Clock& clock_;
  record::Writer& writer_;
  MarkSteps steps_;
  EventLimit limit_;
  std::int64_t refused_ = 0;
  std::array<char, kMaxMarkBytes> bytes_ = {};
};

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
  TRY(const sys::Descriptor sender, connect_to_marks(socket));
  const std::string text = text_of(mark);
  if (::send(sender.get(), text.data(), text.size(), MSG_NOSIGNAL) < 0) {
    return fail(from_errno(errno, "", socket.string()));
  }
  return {};
}

Result<std::unique_ptr<Marks>> Marks::listen(const std::filesystem::path& below,
                                             const sys::Clock& clock, record::Writer& writer) {
  TRY(MarksSockets sockets, MarksSockets::listen(below));
  return std::make_unique<ListeningMarks>(std::move(sockets), clock, writer);
}

}  // namespace chokepoint::capture::step
