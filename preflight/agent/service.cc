#include "preflight/agent/service.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "base/cli/text.h"
#include "base/control/message.h"
#include "base/host/cpu.h"
#include "base/host/gpu.h"
#include "base/host/kernel.h"
#include "base/host/rdma.h"
#include "base/host/settings.h"
#include "base/json/codec.h"
#include "base/sys/library.h"
#include "base/sys/root.h"
#include "preflight/agent/jobs.h"

namespace chokepoint::preflight {
namespace {

// As probe/collective/gloo's module is called.
constexpr std::string_view kGlooModule = "libchokepoint-gloo.so";
// A VLAN on a bond on ports is as high as people build.
constexpr int kMaxLayers = 4;

bool has_members(const host::Nic& nic) {
  return nic.kind == host::NicKind::Bond || nic.kind == host::NicKind::Vlan ||
         nic.kind == host::NicKind::Bridge;
}

// A test is one flow, and a bond keeps the packets of a flow on one member, unless it deals them
// out in turn. What a bridge joins stays apart, too.
bool adds_up(const host::Nic& nic) { return nic.bond && nic.bond->mode == "balance-rr"; }

std::optional<double> speed_below(const host::Network& network, const host::Nic& nic, int storeys) {
  if (is_port(nic)) {
    return nic.speed_mbps.transform([](std::int64_t speed) { return static_cast<double>(speed); });
  }
  std::optional<double> all;
  for (const std::string& name :
       has_members(nic) && storeys > 0 ? nic.lower : std::vector<std::string>()) {
    const host::Nic* lower = find(network, name);
    const auto speed = lower != nullptr && is_up(*lower) ? speed_below(network, *lower, storeys - 1)
                                                         : std::nullopt;
    if (speed) {
      all = adds_up(nic) ? all.value_or(0) + *speed : std::max(all.value_or(0), *speed);
    }
  }
  return all;
}

InterfaceFacts facts_of(const host::Network& network, const host::Nic& nic) {
  InterfaceFacts facts{.name = nic.name,
                       .mtu = nic.mtu,
                       .speed_mbps = real_speed_mbps(network, nic),
                       .is_port = is_port(nic),
                       .is_up = is_up(nic)};
  if (facts.is_port && nic.pci) {
    facts.pci_mbps = ceiling_mbps(*nic.pci);
  }
  for (const net::InterfaceAddress& own : nic.settings.addresses) {
    if (facts.addresses.size() == kMaxAddresses) {
      break;
    }
    facts.addresses.push_back(own.address.text());
    facts.networks.push_back(
        fmt::format("{}/{}", own.address.network(own.prefix).text(), own.prefix));
  }
  return facts;
}

// A host of many containers has an end of a veth for each; these are left out.
bool is_shown(const host::Nic& nic) {
  return is_port(nic) || has_members(nic) || !nic.settings.addresses.empty();
}

void add_ports(const host::RdmaDevice& device, HostFacts& facts) {
  for (const host::RdmaPort& port : device.ports) {
    if (facts.rdma.size() == kMaxRdmaPorts) {
      return;
    }
    const bool is_hardware = device.pci.has_value();
    facts.rdma.push_back(
        {.device = device.name,
         .port = port.number,
         .interface = port.netdev.value_or(""),
         .speed_mbps = is_hardware && port.rate ? host::rdma_rate_mbps(*port.rate) : std::nullopt,
         .is_active = is_active(port)});
  }
}

std::int64_t count_gpus(const sys::Root& root) {
  // Their number is in sysfs; the driver, which may hang, is not called.
  const host::Gpus gpus = host::read_gpus(root, fail(ErrorKind::Unsupported, "", "", "not asked"));
  return static_cast<std::int64_t>(gpus.gpus.size());
}

using control::Json;
using control::Message;
using control::Type;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = net::Deadline::Clock;

// Longer than control::kAnswer: a coordinator of thousands of hosts takes longer to answer each.
constexpr seconds kCoordinatorAnswer{30};
// How often lookups of names and the time limits of children are checked.
constexpr milliseconds kCheckInterval{20};
// A coordinator of thousands has most of them wait for the others; one that forgets about this host
// leaves it to others some time.
constexpr hours kMaxIdle{1};
// Messages read in one turn, so that a coordinator that never stops sending does not delay jobs.
constexpr int kMessagesInTurn = 16;

Result<> granted(const Task& task, const control::Limits& limits) {
  for (const Result<>& result :
       {control::check_time(limits, task.time), control::check_streams(limits, task.streams),
        task.kind == TaskKind::Loss ? control::check_rate(limits, task.rate_bits_per_s)
                                    : Result<>()}) {
    if (!result) {
      return result;
    }
  }
  return {};
}

using control::Session;

// How long a new coordinator waits for the one before, which may be the same user's that has just
// been stopped, to close its connection.
constexpr std::chrono::milliseconds kMaxLeaveTime{2500};

constexpr std::size_t kMaxIdBytes = 64;
// The coordinator takes 1 MiB with the facts; a host with more settings has its tests all the same.
constexpr std::size_t kMaxSettingsBytes = std::size_t{512} * 1024;

CoordinatorLock::Coordinator coordinator_of(const Session& session, const Json& parameters) {
  return {.who = fmt::format("{} ({})", cli::printable(session.client().host),
                             session.peer().address.unmapped().text()),
          .preflight = json::field_in<std::string>(parameters, "preflight", "request",
                                                   {.longest = kMaxIdBytes})
                           .value_or(""),
          .called = session.local().address.unmapped().text()};
}

// Its module may be there where libgloo is not.
bool has_gloo() {
  const auto module = sys::own_library(kGlooModule);
  return module && sys::Library::open(module->string());
}

}  // namespace

std::optional<double> real_speed_mbps(const host::Network& network, const host::Nic& nic) {
  return speed_below(network, nic, kMaxLayers);
}

// Between two readings of one clock the other one's is in the middle.
double wall_less_monotonic_ms(const sys::Clock& clock) {
  const std::int64_t before = clock.monotonic_ns();
  const std::int64_t wall = clock.wall_ns();
  const std::int64_t after = clock.monotonic_ns();
  const std::int64_t half = (after - before) / 2;
  return static_cast<double>(wall - before - half) / 1e6;
}

HostFacts read_facts(const sys::Root& root) { return facts_of(root, host::read_network(root)); }

HostFacts facts_of(const sys::Root& root, const host::Network& network) {
  const host::Sysctls sysctls = host::read_sysctls(root);
  HostFacts facts{
      .host = sys::host_name(root),
      .receive_buffer_bytes = sysctls.most("net.ipv4.tcp_rmem"),
      .send_buffer_bytes = sysctls.most("net.ipv4.tcp_wmem"),
      .congestion_control = sysctls.text("net.ipv4.tcp_congestion_control").value_or(""),
      .cpus = host::read_cpu(root).online,
      .gpus = count_gpus(root),
      .has_gloo = has_gloo()};
  for (const host::Nic& nic : network.nics) {
    if (is_shown(nic) && facts.interfaces.size() < kMaxInterfaces) {
      facts.interfaces.push_back(facts_of(network, nic));
    }
  }
  for (const host::RdmaDevice& device : host::read_rdma(root)) {
    add_ports(device, facts);
  }
  return facts;
}

CoordinatorLock::Guard::~Guard() {
  if (lock_ == nullptr) {
    return;
  }
  const std::lock_guard lock(lock_->mutex_);
  lock_->holder_.reset();
  lock_->free_.notify_one();
}

bool CoordinatorLock::has(const std::string& preflight) const {
  return holder_ && !preflight.empty() && holder_->preflight == preflight;
}

Result<CoordinatorLock::Guard> CoordinatorLock::take(const Coordinator& coordinator,
                                                     std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  free_.wait_for(lock, deadline, [&] { return !holder_ || has(coordinator.preflight); });
  if (has(coordinator.preflight)) {
    return fail(ErrorKind::Busy, "preflight", "",
                fmt::format("this host takes part already, as {}", holder_->called),
                "name each host once");
  }
  if (holder_) {
    return fail(ErrorKind::Busy, "preflight", "",
                fmt::format("the preflight of {} is on", holder_->who),
                "wait until it is over, or end it there");
  }
  holder_ = coordinator;
  return Guard(*this);
}

Result<Json> Conversation::hold(const HostFacts& facts, const host::Settings& settings) {
  Json ready{{"facts", json::to_json(facts)}};
  if (Json told = settings; told.dump().size() <= kMaxSettingsBytes) {
    ready["settings"] = std::move(told);
  }
  TRY(send({Type::Ready, std::move(ready)}));
  while (true) {
    TRY(wait());
    const Result<bool> is_over = receive();
    if (!is_over || *is_over) {
      return is_over ? Result<Json>(Json::object()) : std::unexpected(is_over.error());
    }
    TRY(look());
    if (!job_ && Clock::now() - idle_since_ > kMaxIdle) {
      return fail(ErrorKind::Timeout, "preflight", "", "nothing was asked for an hour");
    }
  }
}

Result<> Conversation::wait() const {
  std::vector<pollfd> watched{{session_.channel().descriptor(), POLLIN, 0},
                              {session_.context().stop, POLLIN, 0}};
  for (const int fd : job_ ? job_->watched() : std::vector<int>()) {
    watched.push_back({fd, POLLIN, 0});
  }
  const milliseconds most = job_ ? kCheckInterval : milliseconds(1000);
  ::poll(watched.data(), watched.size(), static_cast<int>(most.count()));
  return watched[1].revents == 0
             ? Result<>()
             : fail(ErrorKind::Interrupted, "preflight", "", "this server was stopped");
}

Result<bool> Conversation::receive() {
  for (int count = 0; count < kMessagesInTurn; ++count) {
    const Result<std::optional<Message>> message = session_.channel().poll();
    if (!message || !*message) {
      return message ? Result<bool>(false) : std::unexpected(message.error());
    }
    if ((*message)->type == Type::Stop) {
      return true;
    }
    TRY(receive(**message));
  }
  return false;
}

Result<> Conversation::receive(const Message& message) {
  if (message.type == Type::Begin) {
    return begin(message.body);
  }
  if (message.type != Type::Note) {
    return fail(ErrorKind::Malformed, "read message", session_.channel().peer(),
                "it came in the midst of a preflight");
  }
  TRY(const Number given_up, json::field_in<Number>(message.body, "task", "note"));
  // It may have ended in the meantime.
  if (!job_ || given_up != number_) {
    return {};
  }
  job_.reset();
  idle_since_ = Clock::now();
  // The coordinator has given the task up; the report only shows that this host still answers.
  return report(number_, fail(ErrorKind::Refused, "", "", "given up"));
}

Result<> Conversation::begin(const Json& body) {
  TRY(const Number number, json::field_in<Number>(body, "task", "task"));
  if (job_) {
    return fail(ErrorKind::Malformed, "read message", session_.channel().peer(),
                "a task came while another was on");
  }
  number_ = number;
  const Result<Task> task = task_in(body);
  Result<std::unique_ptr<Job>> job = task ? start(*task) : std::unexpected(task.error());
  if (!job) {
    return report(number_, std::unexpected(job.error()));
  }
  job_ = std::move(*job);
  return {};
}

Result<std::unique_ptr<Job>> Conversation::start(const Task& task) const {
  TRY(granted(task, session_.limits()));
  if (task.kind == TaskKind::Names) {
    return std::make_unique<Names>(task.hosts, longest(task), system_resolver(), lookups_);
  }
  return Child::start(
      task, {.program = program_, .key = session_.context().key, .longest = longest(task)},
      session_.context().clock);
}

Result<> Conversation::look() {
  if (!job_) {
    return {};
  }
  const Result<std::optional<Json>> looked = job_->look();
  if (looked && !*looked) {
    return {};
  }
  job_.reset();
  idle_since_ = Clock::now();
  return report(number_, looked ? Result<Json>(**looked) : std::unexpected(looked.error()));
}

Result<> Conversation::report(Number number, const Result<Json>& result) {
  Json body{{"task", number}};
  if (result) {
    body["document"] = *result;
  } else {
    body["error"] = control::body_of(result.error());
  }
  return send({Type::Report, std::move(body)});
}

Result<> Conversation::send(const Message& message) {
  return session_.channel().send(message, session_.deadline(kCoordinatorAnswer));
}

Result<control::Demand> PreflightService::check(const Json& /*parameters*/,
                                                const control::Limits& /*limits*/) const {
  return control::Weight::None;
}

Result<Json> PreflightService::serve(Session& session, const Json& parameters) {
  TRY([[maybe_unused]] const CoordinatorLock::Guard held,
      lock_.take(coordinator_of(session, parameters), kMaxLeaveTime));
  Conversation conversation(session, program_, lookups_);
  HostFacts facts = read_facts(session.context().root);
  facts.wall_less_monotonic_ms = wall_less_monotonic_ms(session.context().clock);
  return conversation.hold(facts, host::read_settings(session.context().root));
}

}  // namespace chokepoint::preflight
