#include "preflight/launch/hosts_work.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <utility>

#include "base/host/network.h"
#include "base/sys/descriptor.h"
#include "preflight/launch/host_names.h"

namespace chokepoint::preflight {
namespace {

constexpr std::size_t kMaxRunning = 64;
constexpr std::int64_t kSlowSeconds = 30;

// "Linux x86_64", as the script prints it for its host.
std::string own_machine() {
  utsname about{};
  uname(&about);
  return fmt::format("{} {}", about.sysname, about.machine);
}

std::optional<Copy> copy_for(const LaunchMethod& method, const LaunchWanted& wanted,
                             const std::filesystem::path& own_program) {
  if (!method.can_copy) {
    return {};
  }
  Result<Copy> copy = wanted.copy.empty() ? Copy::of_this_program(own_program, wanted.version)
                                          : Copy::of_file(wanted.copy, wanted.version);
  return copy ? std::optional(std::move(*copy)) : std::nullopt;
}

}  // namespace

HostsWork::HostsWork(LaunchMethod method, const LaunchWanted& wanted,
                     std::filesystem::path own_program, const sys::Clock& clock,
                     const sys::Root& root)
    : method_(std::move(method)),
      wanted_(wanted),
      own_program_(std::move(own_program)),
      clock_(clock),
      copy_(copy_for(method_, wanted_, own_program_)) {
  const std::string own_name = sys::host_name(root);
  const host::Addresses own_addresses = host::read_addresses(root);
  for (const std::string& name : wanted.hosts) {
    waiting_.push_back(hosts_.size());
    hosts_.push_back({.name = name, .is_here = is_this_host(name, own_name, own_addresses)});
  }
}

// Where none can be copied, hosts share files with this one as a rule: what runs here is tried
// first.
Words HostsWork::programs() const {
  if (!wanted_.program.empty()) {
    return {wanted_.program};
  }
  return method_.can_copy ? Words{"chokepoint"} : Words{own_program_.string(), "chokepoint"};
}

Result<> HostsWork::start_agent(std::size_t number, Children& children) {
  Host& host = hosts_[number];
  if (host.is_here) {
    host.stage = Stage::Up;
    return children.start_held(number,
                               {.command = {own_program_.string(), "serve", "--leash", "--quiet",
                                            "--port", fmt::format("{}", wanted_.port)}},
                               wanted_.key);
  }
  host.stage = Stage::Starting;
  const Words there = agent_words(wanted_.port, copy_ ? copy_->name() : "", programs());
  return children.start_held(
      number, {.command = method_.command(host.name, there), .environment = method_.environment},
      wanted_.key);
}

Result<> HostsWork::start_copy(std::size_t number, Children& children) {
  Host& host = hosts_[number];
  TRY(const sys::Descriptor program, copy_->open());
  host.stage = Stage::Copying;
  news_.push_back(fmt::format("copying chokepoint to {}", host.name));
  return children.start(number, {.command = method_.command(host.name, copy_words(copy_->name())),
                                 .environment = method_.environment,
                                 .in = program.get()});
}

Result<> HostsWork::start(std::size_t number, Children& children) {
  Host& host = hosts_[number];
  host.began_ns = clock_.monotonic_ns();
  host.output = {};
  const bool is_to_copy = host.is_absent && !host.is_copied;
  return is_to_copy ? start_copy(number, children) : start_agent(number, children);
}

void HostsWork::begin(Children& children) {
  give_up_slow_ones();
  while (!waiting_.empty() && running_ < kMaxRunning) {
    const std::size_t number = waiting_.front();
    waiting_.pop_front();
    if (const Result<> started = start(number, children); !started) {
      end(hosts_[number], started.error());
    } else if (hosts_[number].stage != Stage::Up) {
      ++running_;
    }
  }
}

// It may still come, but the others no longer wait for it.
void HostsWork::give_up_slow_ones() {
  for (Host& host : hosts_) {
    const std::int64_t seconds = (clock_.monotonic_ns() - host.began_ns) / 1'000'000'000;
    if (host.stage == Stage::Starting && seconds >= kSlowSeconds) {
      host.stage = Stage::Up;
      host.trouble = Error{.kind = ErrorKind::Timeout,
                           .operation = method_.program,
                           .subject = host.name,
                           .reason = fmt::format("no agent within {} s", kSlowSeconds),
                           .next_step = "try by hand what runs there"};
      --running_;
    }
  }
}

void HostsWork::printed(Children::Who who, std::string_view line) {
  Host& host = hosts_[who];
  if (line == kStarts) {
    running_ -= host.stage == Stage::Starting ? 1 : 0;
    host.stage = Stage::Up;
    host.trouble.reset();
  } else if (line.starts_with(kAbsent)) {
    host.machine = line.substr(kAbsent.size());
  } else {
    host.output.add(line);
    if (host.stage == Stage::Starting && host.output.is_over()) {
      host.trouble = host.output.why(method_.program, host.name, {});
    }
  }
}

void HostsWork::end(Host& host, Error why) {
  host.stage = Stage::Ended;
  host.trouble = std::move(why);
}

void HostsWork::wait_again(std::size_t number) {
  hosts_[number].stage = Stage::Waiting;
  waiting_.push_back(number);
}

Error HostsWork::absent(const Host& host) const {
  Error error{.kind = ErrorKind::Unsupported,
              .operation = method_.program,
              .subject = host.name,
              .reason = "no chokepoint there that knows 'serve --leash'",
              .next_step = "install it there, or name it by --program PATH"};
  if (copy_) {
    error.reason +=
        fmt::format(", and this one is made for {}, not for {}", own_machine(), host.machine);
  } else if (method_.can_copy) {
    error.reason += ", and the one here is not a release's one file, which could be copied";
    error.next_step += ", or give that file: --copy FILE";
  }
  return error;
}

void HostsWork::found_absent(std::size_t number) {
  Host& host = hosts_[number];
  if (!copy_ || (copy_->is_of_this_machine() && host.machine != own_machine())) {
    return end(host, absent(host));
  }
  host.is_absent = true;
  wait_again(number);
}

void HostsWork::ended(Children::Who who, const sys::ExitStatus& status) {
  Host& host = hosts_[who];
  const bool was_copying = host.stage == Stage::Copying;
  running_ -= was_copying || host.stage == Stage::Starting ? 1 : 0;
  if (was_copying && status.code == 0) {
    host.is_copied = true;
    return wait_again(who);
  }
  if (status.code == kAbsentCode && !host.machine.empty() && !host.is_copied) {
    return found_absent(who);
  }
  Error why = host.output.why(host.is_here ? "serve" : method_.program, host.name, status);
  if (was_copying && why.next_step.empty()) {
    why.operation = "copy chokepoint";
    why.next_step = "install it there";
  }
  end(host, std::move(why));
}

}  // namespace chokepoint::preflight
