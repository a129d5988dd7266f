#include "preflight/task/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "base/control/channel.h"
#include "base/json/codec.h"

namespace chokepoint::preflight {
namespace {

// Letters beyond ASCII are left to the resolver.
bool is_odd(char letter) {
  constexpr unsigned char kDelete = 0x7f;
  const auto byte = static_cast<unsigned char>(letter);
  return byte <= ' ' || byte == kDelete || std::string_view(",/\\\"'`$").contains(letter);
}

using std::chrono::milliseconds;
using std::chrono::seconds;

// Of its own host alone: it calls no server.
bool is_local(TaskKind kind) {
  return kind == TaskKind::Doctor || kind == TaskKind::Processor || kind == TaskKind::Storage;
}

bool is_rdma(TaskKind kind) {
  return kind == TaskKind::RdmaBandwidth || kind == TaskKind::RdmaLatency;
}

using Words = std::vector<std::string>;

// Of 24 flows one of two members has at least three with 99.98 %, which is what a finding needs.
constexpr int kRateFlows = 24;

std::string text_of(milliseconds time) { return fmt::format("{}ms", time.count()); }

std::string_view direction_of(const Task& task) {
  if (task.sends && task.receives) {
    return "--both";
  }
  return task.sends ? "--send" : "--receive";
}

// Some hundred round trips however short the test, and never a burden on the path.
milliseconds gap_of(const Task& task) {
  return std::clamp(task.time / 500, milliseconds(1), milliseconds(10));
}

// So large that a disk's own cache does not hold it all, and soon gone.
constexpr const char* kFileSize = "--bytes=256M";

Words tcp_words(const Task& task, const std::string& time) {
  Words words{std::string(direction_of(task)), "--share", fmt::format("--streams={}", task.streams),
              "--time=" + time};
  if (task.rate_bits_per_s > 0) {
    words.push_back(fmt::format("--rate={:.0f}", task.rate_bits_per_s));
  }
  return words;
}

std::string joined(const std::vector<std::string>& hosts) {
  return fmt::format("{}", fmt::join(hosts, ","));
}

// The flags of each command. Tests of one preflight have --share: the coordinator decides which of
// them run at the same time, and they still wait for others that want a path to themselves.
Words own_words(const Task& task) {
  const std::string time = text_of(task.time);
  switch (task.kind) {
    case TaskKind::Doctor:
    case TaskKind::Names:
      return {};
    case TaskKind::Latency:
      return {"--idle-only", "--idle=" + time, "--gap=" + text_of(gap_of(task))};
    case TaskKind::Loss:
      return {"--both", "--share", fmt::format("--rate={:.0f}", task.rate_bits_per_s),
              "--time=" + time};
    case TaskKind::Path:
      return {"--time=" + time};
    case TaskKind::Tcp:
      return tcp_words(task, time);
    case TaskKind::Flows:
      return {fmt::format("--rate={:.0f}", task.rate_bits_per_s), "--time=" + time};
    case TaskKind::Rates:
      return {"--protocol=tcp", fmt::format("--flows={}", kRateFlows), "--time=" + time};
    case TaskKind::RdmaBandwidth:
      return task.receives ? Words{"--both", "--time=" + time} : Words{"--time=" + time};
    case TaskKind::RdmaLatency:
      return {"--time=" + time};
    case TaskKind::Collective:
      return {"--backend=gloo", "--hosts=" + joined(task.hosts),
              fmt::format("--bytes={}", task.bytes), "--time=" + time};
    case TaskKind::Loaded:
      return {"--idle=" + text_of(task.time), "--time=" + time, "--gap=" + text_of(gap_of(task)),
              "--interval=" + text_of(std::max(task.time / 12, milliseconds(1)))};
    case TaskKind::Processor:
      return {"--time=" + time};
    case TaskKind::Storage:
      return {kFileSize, "--time=" + time};
  }
  return {};
}

// In front of the flags: the command's words, and the peer.
Words head_of(const Task& task) {
  std::istringstream command{std::string(command_name(task.kind))};
  Words words{std::istream_iterator<std::string>(command), {}};
  if (is_rdma(task.kind)) {
    words.emplace_back(task.kind == TaskKind::RdmaBandwidth ? "bw" : "lat");
  }
  if (has_peer(task.kind)) {
    words.push_back(task.peer);
  }
  if (task.kind == TaskKind::Storage) {
    words.push_back(task.folder);
  }
  return words;
}

}  // namespace

bool has_peer(TaskKind kind) {
  return !is_local(kind) && kind != TaskKind::Names && kind != TaskKind::Collective;
}

bool has_hosts(TaskKind kind) { return kind == TaskKind::Names || kind == TaskKind::Collective; }

bool is_host_text(std::string_view text) {
  return !text.empty() && text.size() <= kMaxHostBytes && !text.starts_with('-') &&
         std::ranges::none_of(text, is_odd);
}

bool is_folder_text(std::string_view text) {
  constexpr unsigned char kDelete = 0x7f;
  return text.starts_with('/') && text.size() <= kMaxFolderBytes &&
         std::ranges::none_of(text, [](char letter) {
           const auto byte = static_cast<unsigned char>(letter);
           return byte < ' ' || byte == kDelete;
         });
}

Result<Task> task_in(const control::Json& body) {
  Result<Task> task = json::from_json<Task>(body, "task");
  if (!task) {
    task.error().kind = ErrorKind::Usage;
  }
  return task;
}

milliseconds longest(const Task& task) {
  constexpr seconds kDoctor{25};      // drivers of devices that are asleep may be slow
  using control::kAnswer;             // to connect, and to receive the result
  constexpr seconds kSlowAnswer{45};  // the same, with queue pairs and their memory
  constexpr seconds kRouters{10};     // of each flow
  constexpr seconds kMeeting{2};      // until all ranks have connected to each other
  constexpr milliseconds kRank{100};
  switch (task.kind) {
    case TaskKind::Doctor:
      return kDoctor;
    case TaskKind::Names:
      return seconds(60);
    case TaskKind::Latency:
    case TaskKind::Loss:
    case TaskKind::Path:
      return task.time + kAnswer;
    case TaskKind::Flows:
      return task.time + kRouters + kAnswer;
    case TaskKind::Tcp:
      return 2 * task.time + kAnswer;
    case TaskKind::Rates:
      return 3 * task.time + 2 * kAnswer;
    case TaskKind::RdmaBandwidth:
    case TaskKind::RdmaLatency:
      return task.time + kSlowAnswer;
    case TaskKind::Collective:
      return 8 * task.time + kMeeting + kRank * static_cast<std::int64_t>(task.hosts.size());
    case TaskKind::Loaded:
      return 4 * task.time + kAnswer;
    case TaskKind::Processor:
      return 3 * task.time + kAnswer;
    case TaskKind::Storage:
      return 6 * task.time + kSlowAnswer;
  }
  return kAnswer;
}

std::string_view command_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::Doctor:
      return "doctor";
    case TaskKind::Names:
      return "";
    case TaskKind::Latency:
    case TaskKind::Loaded:
      return "probe latency";
    case TaskKind::Loss:
      return "probe udp";
    case TaskKind::Path:
      return "probe path";
    case TaskKind::Tcp:
      return "probe tcp";
    case TaskKind::Flows:
    case TaskKind::Rates:
      return "probe paths";
    case TaskKind::RdmaBandwidth:
    case TaskKind::RdmaLatency:
      return "rdma write";
    case TaskKind::Collective:
      return "probe collective";
    case TaskKind::Processor:
      return "probe processor";
    case TaskKind::Storage:
      return "probe storage";
  }
  return "";
}

std::vector<std::string> command_of(const Task& task, const std::string& program, bool with_key) {
  Words command{program};
  const auto add = [&](const Words& words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  add(head_of(task));
  add(own_words(task));
  add({"--json", "--quiet"});
  if (is_local(task.kind)) {
    return command;
  }
  add({fmt::format("--port={}", task.port)});
  if (with_key) {
    add({"--key-file=/dev/stdin"});
  }
  return command;
}

}  // namespace chokepoint::preflight

namespace chokepoint {

const char* Fields<preflight::Task>::wrong(const T& task) {
  using preflight::is_host_text;
  using Kind = preflight::TaskKind;
  if (preflight::has_peer(task.kind) && !is_host_text(task.peer)) {
    return "a name or an address as 'peer'";
  }
  if (preflight::has_hosts(task.kind) &&
      (task.hosts.empty() || !std::ranges::all_of(task.hosts, is_host_text))) {
    return "names or addresses as 'hosts'";
  }
  if (task.kind == Kind::Tcp && !task.sends && !task.receives) {
    return "'sends', 'receives' or both";
  }
  if (preflight::is_rdma(task.kind) && !task.sends) {
    return "'sends': RDMA writes to the peer";
  }
  if ((task.kind == Kind::Loss || task.kind == Kind::Flows) && task.rate_bits_per_s <= 0) {
    return "'rate_bits_per_s' above 0";
  }
  if (task.kind == Kind::Storage && !preflight::is_folder_text(task.folder)) {
    return "an absolute path as 'folder'";
  }
  return task.kind == Kind::Collective && task.bytes <= 0 ? "'bytes' above 0" : nullptr;
}

}  // namespace chokepoint
