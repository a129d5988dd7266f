// What an agent is asked to do: one test, by names and numbers that are checked here. An agent
// makes a command line of its own program from it; no text of a coordinator reaches a shell, and
// no other program is started. Values; pure functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/control/message.h"
#include "base/sys/error.h"

namespace chokepoint::preflight {

enum class TaskKind : std::uint8_t {
  Doctor,   // chokepoint.doctor/1 of its own host
  Names,    // what its resolver answers for `hosts`
  Latency,  // probe latency, idle only
  Loss,     // probe udp at a low rate, both ways at once: loss, and what the clocks say
  Path,     // probe path: routers, the largest packet, both families
  Tcp,      // probe tcp, one way or both
  Flows,    // probe paths: loss and delay of many flows, both ways; `rate_bits_per_s` of all
  Rates,    // probe paths by TCP: the rate of each of many flows, one after the other
  RdmaBandwidth,
  RdmaLatency,
  Collective,  // probe collective over `hosts`, which this agent leads
  Loaded,      // probe latency, idle and then under load each way
  Processor,   // probe processor: what each of this host's processors computes
  Storage,     // probe storage below `folder`
};

inline constexpr std::size_t kMaxHostBytes = 255;  // a name's, or an address's
inline constexpr std::size_t kMaxFolderBytes = 4096;
inline constexpr std::size_t kMaxHostsInTask = 512;  // a task has to fit into a client's message

struct Task {
  TaskKind kind = TaskKind::Doctor;
  std::string peer = {};  // an address; empty where there is no other
  std::uint16_t port = control::kPort;
  std::chrono::milliseconds time{1000};
  bool sends = true;  // to the peer; with `receives` both ways at once
  bool receives = false;
  int streams = 1;
  double rate_bits_per_s = 0;           // Loss, Flows; of Tcp the most, 0: whatever it carries
  std::int64_t bytes = 0;               // Collective
  std::vector<std::string> hosts = {};  // Names, Collective
  std::string folder = {};              // Storage

  bool operator==(const Task&) const = default;
};

// A Usage error names the field that is wrong.
Result<Task> task_in(const control::Json& body);

// The longest it may take, whatever happens: the agent ends it then.
std::chrono::milliseconds longest(const Task& task);

// "probe tcp", as error lines begin; empty for Names, which is no command.
std::string_view command_name(TaskKind kind);

// Where a key is wanted it is read from standard input.
std::vector<std::string> command_of(const Task& task, const std::string& program, bool with_key);

// Whether a test of this kind is of a host and its peer, or of all of `hosts`.
bool has_peer(TaskKind kind);
bool has_hosts(TaskKind kind);

// Whether a host's name or address from elsewhere may be an argument of a command line: no flag, no
// list, no control characters, no longer than names may be.
bool is_host_text(std::string_view text);
// Whether a folder's name from elsewhere may be: absolute, without control characters.
bool is_folder_text(std::string_view text);

// What the Names task found out about one of its hosts: an item of chokepoint.names/1.
struct NameLookup {
  std::string name = {};
  std::vector<std::string> addresses = {};
  std::optional<Error> error = {};
};

inline constexpr std::string_view kNamesSchema = "chokepoint.names/1";
inline constexpr std::size_t kMaxNamedAddresses = 64;

}  // namespace chokepoint::preflight

namespace chokepoint {

template <>
struct EnumNames<preflight::TaskKind> {
  using K = preflight::TaskKind;
  static constexpr std::string_view kWhat = "a kind of task";
  static constexpr auto kNames = std::to_array<EnumName<K>>({{K::Doctor, "doctor"},
                                                             {K::Names, "names"},
                                                             {K::Latency, "latency"},
                                                             {K::Loss, "loss"},
                                                             {K::Path, "path"},
                                                             {K::Tcp, "tcp"},
                                                             {K::Flows, "flows"},
                                                             {K::Rates, "rates"},
                                                             {K::RdmaBandwidth, "rdma_bandwidth"},
                                                             {K::RdmaLatency, "rdma_latency"},
                                                             {K::Collective, "collective"},
                                                             {K::Loaded, "loaded"},
                                                             {K::Processor, "processor"},
                                                             {K::Storage, "storage"}});
};

template <>
struct Fields<preflight::Task> {
  using T = preflight::Task;
  static constexpr FieldList kList{
      field("kind", &T::kind, "which test"),
      field("peer", &T::peer, "the other host; empty where the task has none")
          .up_to_bytes(preflight::kMaxHostBytes),
      field("port", &T::port, "of the other hosts' servers").at_least(1),
      field("time_ms", &T::time, "milliseconds that the test takes").between(10, 3'600'000),
      field("sends", &T::sends, "whether this host sends"),
      field("receives", &T::receives, "whether the peer sends; with `sends` at the same time"),
      field("streams", &T::streams, "TCP connections").between(1, 128),
      field("rate_bits_per_s", &T::rate_bits_per_s,
            "what `loss` and `flows` send, and `tcp` at most; 0: no limit")
          .between(0, 1e13),
      // Each rank holds them in memory.
      field("bytes", &T::bytes, "what `collective` reduces").between(0, 1LL << 34),
      field("hosts", &T::hosts, "whose names are looked up, or which take part in the collective")
          .up_to_items(preflight::kMaxHostsInTask),
      field("folder", &T::folder, "below which `storage` is tested")
          .or_default()
          .up_to_bytes(preflight::kMaxFolderBytes)};
  static const char* wrong(const T& task);
};

template <>
struct Fields<preflight::NameLookup> {
  using N = preflight::NameLookup;
  static constexpr FieldList kList{
      field("name", &N::name, "the host whose name was looked up").or_default(),
      field("addresses", &N::addresses, "what it resolved to")
          .up_to_items(preflight::kMaxNamedAddresses)
          .up_to_bytes(256),
      field("error", &N::error, "why it did not resolve")};
};

}  // namespace chokepoint
