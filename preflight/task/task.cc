#include "preflight/task/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/control/bodies.h"
#include "base/control/fields.h"

namespace chokepoint::preflight {
namespace {

constexpr unsigned char kDelete = 0x7f;

// Letters beyond ASCII are a resolver's matter.
bool is_odd(char letter) {
  const auto byte = static_cast<unsigned char>(letter);
  return byte <= ' ' || byte == kDelete || std::string_view(",/\\\"'`$").contains(letter);
}

using control::Json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array<std::string_view, 9> kNames{"doctor",         "names",        "latency",
                                                 "loss",           "path",         "tcp",
                                                 "rdma_bandwidth", "rdma_latency", "collective"};
constexpr std::size_t kLongestKind = 64;
constexpr milliseconds kShortest{10};
constexpr seconds kLongest{3600};
constexpr int kMostStreams = 128;
constexpr double kFastest = 1e13;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 34;  // each rank holds them in memory

std::unexpected<Error> wrong(TaskKind kind, const char* field, std::string_view wanted) {
  return fail(ErrorKind::Usage, "", fmt::format("task {}, '{}'", name_of(kind), field),
              fmt::format("wanted {}", wanted));
}

bool has_peer(TaskKind kind) {
  return kind != TaskKind::Doctor && kind != TaskKind::Names && kind != TaskKind::Collective;
}

bool has_hosts(TaskKind kind) { return kind == TaskKind::Names || kind == TaskKind::Collective; }

bool is_rdma(TaskKind kind) {
  return kind == TaskKind::RdmaBandwidth || kind == TaskKind::RdmaLatency;
}

std::optional<TaskKind> kind_named(std::string_view name) {
  const auto* at = std::ranges::find(kNames, name);
  return at == kNames.end() ? std::nullopt
                            : std::optional(static_cast<TaskKind>(at - kNames.begin()));
}

Result<> check_hosts(const Task& task) {
  if (!has_hosts(task.kind)) {
    return {};
  }
  if (task.hosts.empty() || task.hosts.size() > kMostHostsInTask) {
    return wrong(task.kind, "hosts", fmt::format("1 to {} of them", kMostHostsInTask));
  }
  if (!std::ranges::all_of(task.hosts, [](const auto& host) { return is_host_text(host); })) {
    return wrong(task.kind, "hosts", "names or addresses");
  }
  return {};
}

Result<Task> checked(Task task) {
  if (has_peer(task.kind) && !is_host_text(task.peer)) {
    return wrong(task.kind, "peer", "a name or an address");
  }
  TRY(check_hosts(task));
  if (task.kind == TaskKind::Tcp && !task.sends && !task.receives) {
    return wrong(task.kind, "sends", "one way at least");
  }
  if (is_rdma(task.kind) && !task.sends) {
    return wrong(task.kind, "sends", "true: it goes to the peer");
  }
  if (task.kind == TaskKind::Loss && task.rate_bits_per_s <= 0) {
    return wrong(task.kind, "rate_bits_per_s", "more than 0");
  }
  if (task.kind == TaskKind::Collective && task.bytes <= 0) {
    return wrong(task.kind, "bytes", "more than 0");
  }
  return task;
}

Result<std::vector<std::string>> hosts_in(const Json& body) {
  const auto at = body.find("hosts");
  if (at != body.end() && at->size() > kMostHostsInTask) {
    return fail(ErrorKind::Malformed, "read message", "hosts", "too many of them");
  }
  return control::list_in<std::string>(body, "hosts", [](const Json& each) -> Result<std::string> {
    if (!each.is_string()) {
      return fail(ErrorKind::Malformed, "read message", "hosts", "wanted texts");
    }
    return each.get<std::string>();
  });
}

Result<Task> read(const Json& body) {
  control::Fields in(body, "task");
  const std::optional<TaskKind> kind = kind_named(in.text("kind", kLongestKind));
  Task task{.kind = kind.value_or(TaskKind::Doctor),
            .peer = in.text("peer", kLongestHost),
            .port = static_cast<std::uint16_t>(in.integer("port", 1, UINT16_MAX)),
            .time = milliseconds(
                in.integer("time_ms", kShortest.count(), milliseconds(kLongest).count())),
            .sends = in.boolean("sends"),
            .receives = in.boolean("receives"),
            .streams = static_cast<int>(in.integer("streams", 1, kMostStreams)),
            .rate_bits_per_s = in.number("rate_bits_per_s", 0, kFastest),
            .bytes = in.integer("bytes", 0, kMostBytes)};
  Result<Task> finished = in.finish(std::move(task));
  if (!finished) {
    return finished;
  }
  if (!kind) {
    return fail(ErrorKind::Malformed, "read message", "task 'kind'", "there is no such task");
  }
  TRY(std::vector<std::string> hosts, hosts_in(body));
  finished->hosts = std::move(hosts);
  return finished;
}

using Words = std::vector<std::string>;

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

std::string joined(const std::vector<std::string>& hosts) {
  return fmt::format("{}", fmt::join(hosts, ","));
}

// What each is told of its own. Tests of one preflight share: which of them are on at a time is the
// coordinator's matter, and others who have a path for themselves are still waited for.
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
      return {std::string(direction_of(task)), "--share", fmt::format("--streams={}", task.streams),
              "--time=" + time};
    case TaskKind::RdmaBandwidth:
      return task.receives ? Words{"--both", "--time=" + time} : Words{"--time=" + time};
    case TaskKind::RdmaLatency:
      return {"--time=" + time};
    case TaskKind::Collective:
      return {"--backend=gloo", "--hosts=" + joined(task.hosts),
              fmt::format("--bytes={}", task.bytes), "--time=" + time};
  }
  return {};
}

// In front of the flags: the command's words, and the peer.
Words head_of(const Task& task) {
  switch (task.kind) {
    case TaskKind::Doctor:
      return {"doctor"};
    case TaskKind::Names:
      return {};
    case TaskKind::Latency:
      return {"probe", "latency", task.peer};
    case TaskKind::Loss:
      return {"probe", "udp", task.peer};
    case TaskKind::Path:
      return {"probe", "path", task.peer};
    case TaskKind::Tcp:
      return {"probe", "tcp", task.peer};
    case TaskKind::RdmaBandwidth:
      return {"rdma", "write", "bw", task.peer};
    case TaskKind::RdmaLatency:
      return {"rdma", "write", "lat", task.peer};
    case TaskKind::Collective:
      return {"probe", "collective"};
  }
  return {};
}

}  // namespace

bool is_host_text(std::string_view text) {
  return !text.empty() && text.size() <= kLongestHost && !text.starts_with('-') &&
         std::ranges::none_of(text, is_odd);
}

std::string_view name_of(TaskKind kind) { return kNames.at(static_cast<std::size_t>(kind)); }

Json body_of(const Task& task) {
  return {{"kind", name_of(task.kind)}, {"peer", task.peer},
          {"port", task.port},          {"time_ms", task.time.count()},
          {"sends", task.sends},        {"receives", task.receives},
          {"streams", task.streams},    {"rate_bits_per_s", task.rate_bits_per_s},
          {"bytes", task.bytes},        {"hosts", task.hosts}};
}

Result<Task> task_in(const Json& body) {
  Result<Task> task = read(body);
  if (!task) {
    Error error = task.error();
    error.kind = ErrorKind::Usage;
    return fail(std::move(error));
  }
  return checked(std::move(*task));
}

milliseconds longest(const Task& task) {
  constexpr seconds kDoctor{25};      // drivers of devices that nobody used may take their time
  constexpr seconds kAnswer{10};      // to connect, and to hear the last of it
  constexpr seconds kSlowAnswer{45};  // queue pairs with their memory
  constexpr seconds kMeeting{2};      // of ranks, who wait for each other
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
    case TaskKind::Tcp:
      return 2 * task.time + kAnswer;
    case TaskKind::RdmaBandwidth:
    case TaskKind::RdmaLatency:
      return task.time + kSlowAnswer;
    case TaskKind::Collective:
      return 8 * task.time + kMeeting + kRank * static_cast<std::int64_t>(task.hosts.size());
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
      return "probe latency";
    case TaskKind::Loss:
      return "probe udp";
    case TaskKind::Path:
      return "probe path";
    case TaskKind::Tcp:
      return "probe tcp";
    case TaskKind::RdmaBandwidth:
    case TaskKind::RdmaLatency:
      return "rdma write";
    case TaskKind::Collective:
      return "probe collective";
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
  if (task.kind == TaskKind::Doctor) {
    return command;
  }
  add({fmt::format("--port={}", task.port)});
  if (with_key) {
    add({"--key-file=/dev/stdin"});
  }
  return command;
}

}  // namespace chokepoint::preflight
