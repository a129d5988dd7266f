#include "preflight/task/command.h"

#include <fmt/format.h>

#include <algorithm>

namespace chokepoint::preflight {
namespace {

using std::chrono::milliseconds;
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
