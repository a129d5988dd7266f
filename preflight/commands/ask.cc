// chokepoint ask: one test on another host, by its `chokepoint serve`, as a preflight asks for it.
// What it prints is that test's own document. One thread; AgentPool has its own for names.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/cli/command.h"
#include "base/cli/output.h"
#include "base/control/client.h"
#include "base/control/handshake.h"
#include "base/host/launcher.h"
#include "base/json/codec.h"
#include "base/sys/signals.h"
#include "preflight/agents/agent_pool.h"
#include "preflight/commands/commands.h"
#include "preflight/commands/preflight.h"

namespace chokepoint::preflight {
namespace {

using std::chrono::milliseconds;

// Beyond what the agent itself takes for the test: to be called, and to gather its host's facts.
constexpr std::chrono::seconds kCall{60};
constexpr TaskNumber kOnly = 1;

struct Test {
  TaskKind kind;
  std::string_view name;         // the command's, without "probe"
  std::string_view former = {};  // until the last release
};

constexpr std::array kTests{Test{TaskKind::Doctor, "doctor"},
                            Test{TaskKind::Names, "names"},
                            Test{TaskKind::Latency, "latency"},
                            Test{TaskKind::Loaded, "latency-loaded", "loaded"},
                            Test{TaskKind::Tcp, "tcp"},
                            Test{TaskKind::Loss, "udp", "loss"},
                            Test{TaskKind::Path, "path"},
                            Test{TaskKind::Flows, "paths", "flows"},
                            Test{TaskKind::Rates, "paths-tcp", "rates"},
                            Test{TaskKind::RdmaBandwidth, "rdma-write-bw", "rdma_bandwidth"},
                            Test{TaskKind::RdmaLatency, "rdma-write-lat", "rdma_latency"},
                            Test{TaskKind::Collective, "collective"},
                            Test{TaskKind::Processor, "processor"},
                            Test{TaskKind::Storage, "storage"}};

std::string test_names() {
  std::vector<std::string_view> names;
  std::ranges::transform(kTests, std::back_inserter(names), &Test::name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const Test* test_named(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kTests, [&](const Test& test) { return name == test.name || name == test.former; });
  return found == kTests.end() || name.empty() ? nullptr : found;
}

// What a test of this kind cannot do without.
Result<> check_given(std::string_view kind, const Task& task) {
  const auto lacks = [&](std::string_view what, std::string_view flag) {
    return fail(ErrorKind::Usage, "", kind, fmt::format("this test needs {}", what),
                fmt::format("chokepoint ask HOST {} {}", kind, flag));
  };
  if (has_peer(task.kind) && task.peer.empty()) {
    return lacks("another host", "--peer OTHER");
  }
  if (task.kind == TaskKind::Storage && task.folder.empty()) {
    return lacks("a folder of HOST", "--folder /PATH");
  }
  if (has_hosts(task.kind) && task.hosts.empty()) {
    return lacks("the hosts that take part", "--hosts HOST,OTHER");
  }
  return {};
}

class AskCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<Task> task() const;
  Result<Conduct> conduct_of(const cli::Context& context) const;
  Result<control::Json> answer_of(AgentPool& pool, const Task& task) const;

  std::string host_;
  std::string kind_ = "doctor";
  Task task_;
  std::vector<std::string> hosts_;
  std::chrono::nanoseconds time_ = std::chrono::seconds(1);
  bool receive_ = false;
  bool both_ = false;
  std::int64_t streams_ = 1;
  math::Rate rate_;
  math::Bytes bytes_{std::uint64_t{1} << 20};
  std::int64_t port_ = control::kPort;
  bool ipv4_ = false;
  bool ipv6_ = false;
  std::string key_file_;
};

cli::Summary AskCommand::summary() const {
  return {
      .name = "ask",
      .purpose = "one test on another host, run there by its server",
      .description =
          "Asks the 'chokepoint serve' of a host to run one of this program's own tests there: a "
          "probe to a third host, or of that host alone. It prints the document that the test "
          "itself prints with --json. This is how 'diagnose --confirm' tests the hosts of a job, "
          "and each of its tests can be repeated by hand.\n\n"
          "The server must offer preflight, as a server with --key-file does; with --peer or "
          "--hosts the other hosts need such a server, too, with the same key. It serves one "
          "preflight or one 'ask' at a time.",
      .examples = {{"chokepoint ask gpu1 tcp --peer gpu2 --key-file KEY",
                    "what TCP carries from gpu1 to gpu2"},
                   {"chokepoint ask gpu1 collective --hosts gpu1,gpu2 --bytes 25M "
                    "--key-file KEY",
                    "an all-reduce of both, led by gpu1"},
                   {"chokepoint ask gpu1 storage --folder /data --key-file KEY",
                    "the speed of the storage below /data there"}}};
}

void AskCommand::define(cli::Flags& flags) {
  flags.positional("HOST", &host_, "HOST or HOST:PORT, which runs 'chokepoint serve'")
      .positional("TEST", &kind_, test_names())
      .group("The test")
      .option("peer", &task_.peer, "HOST", "the other host, by its name or address as HOST sees it")
      .option("hosts", &hosts_, "HOSTS", "of collective and of names: HOST,HOST or gpu[1-2]")
      .option("time,t", &time_, "TIME", "duration")
      .toggle("receive,R", &receive_, "from the peer to HOST")
      .toggle("both", &both_, "both directions at once")
      .option("streams,P", &streams_, "N", "connections of tcp", 1, 128)
      .option("rate", &rate_, "RATE", "what udp and paths send, and tcp at most")
      .option("bytes", &bytes_, "SIZE", "of a collective")
      .option("folder", &task_.folder, "PATH", "of storage: a folder of HOST, as an absolute path")
      .group("How to reach HOST")
      .option("port,p", &port_, "PORT", "control port, of the other hosts, too", 1, 65535)
      .toggle("ipv4,4", &ipv4_, "IPv4 only")
      .toggle("ipv6,6", &ipv6_, "IPv6 only")
      .option("key-file", &key_file_, "FILE", "the key of its 'chokepoint serve'");
}

// Checked here by the rules by which the agent checks it.
Result<Task> AskCommand::task() const {
  const Test* const test = test_named(kind_);
  if (test == nullptr) {
    return fail(ErrorKind::Usage, "", kind_, "is no test", "one of " + test_names());
  }
  Task task = task_;
  task.kind = test->kind;
  for (const std::string& list : hosts_) {
    TRY(const std::vector<std::string> hosts, host::hosts_of(list));
    task.hosts.insert(task.hosts.end(), hosts.begin(), hosts.end());
  }
  task.port = static_cast<std::uint16_t>(port_);
  task.time = std::chrono::ceil<milliseconds>(time_);
  task.sends = both_ || !receive_;
  task.receives = both_ || receive_;
  task.streams = static_cast<int>(streams_);
  task.rate_bits_per_s = rate_.bits_per_second;
  task.bytes = static_cast<std::int64_t>(bytes_.count);
  if (const Result<> lacks = check_given(test->name, task); !lacks) {
    return fail(lacks.error());
  }
  return task_in(json::to_json(task));
}

Result<Conduct> AskCommand::conduct_of(const cli::Context& context) const {
  Conduct conduct;
  TRY(const auto peer, net::parse_host_port(host_, static_cast<std::uint16_t>(port_)));
  conduct.wanted.hosts = {{.name = peer.host, .port = peer.port}};
  conduct.wanted.program = "chokepoint " + context.version;
  TRY(conduct.family, control::family_of(ipv4_, ipv6_));
  if (!key_file_.empty()) {
    TRY(conduct.key, control::read_key_text(key_file_));
  }
  return conduct;
}

Result<control::Json> AskCommand::answer_of(AgentPool& pool, const Task& task) const {
  const net::Deadline deadline = net::Deadline::of(longest(task) + kCall);
  while (true) {
    TRY(std::optional<Event> event, pool.next(deadline));
    if (!event) {
      return fail(ErrorKind::Timeout, "", host_, "its server did not answer in time");
    }
    if (std::holds_alternative<AgentJoined>(*event)) {
      pool.ask(0, kOnly, task);
    } else if (const AgentLeft* went = std::get_if<AgentLeft>(&*event)) {
      return fail(went->error);
    } else {
      return std::get<Answered>(*event).document;
    }
  }
}

Result<cli::ExitCode> AskCommand::run(cli::Context& context) {
  TRY(const Task wanted, task());
  if (const Test* test = test_named(kind_); !context.quiet && kind_ != test->name) {
    fmt::print(context.err, "chokepoint: ask: {} is now {}\n", kind_, test->name);
  }
  TRY(const Conduct conduct, conduct_of(context));
  TRY(const sys::Signals signals, sys::Signals::watch_for_end());
  TRY(const std::unique_ptr<AgentPool> pool,
      AgentPool::make(pool_options(conduct, signals.descriptor(), context)));
  TRY(const control::Json document, answer_of(*pool, wanted));
  cli::print(context, document);
  return cli::ExitCode::Done;
}

}  // namespace

cli::CommandFactory ask_command() { return cli::command<AskCommand>(); }

}  // namespace chokepoint::preflight
