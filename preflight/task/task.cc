#include "preflight/task/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/control/bodies.h"
#include "base/control/fields.h"
#include "preflight/task/host_text.h"

namespace chokepoint::preflight {
namespace {

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

}  // namespace

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

}  // namespace chokepoint::preflight
