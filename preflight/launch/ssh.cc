#include "preflight/launch/ssh.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <iterator>
#include <ranges>

#include "base/host/addresses.h"
#include "base/sys/host_name.h"
#include "preflight/launch/names.h"
#include "preflight/launch/script.h"

namespace chokepoint::preflight {
namespace {

constexpr std::size_t kMostUnderWay = 64;
constexpr std::int64_t kSlowNs = 30'000'000'000;
constexpr int kConnectSeconds = 10;

// "Linux x86_64", as the script says it of its host.
std::string own_machine() {
  utsname about{};
  uname(&about);
  return fmt::format("{} {}", about.sysname, about.machine);
}

Result<Copy> copy_for(const LaunchWanted& wanted, const std::filesystem::path& own_program) {
  return wanted.tarball.empty() ? Copy::of_installation(own_program, wanted.version)
                                : Copy::of_file(wanted.tarball, wanted.version);
}

}  // namespace

SshWork::SshWork(const LaunchWanted& wanted, const std::filesystem::path& own_program,
                 const sys::Clock& clock, const sys::Root& root)
    : wanted_(wanted),
      own_program_(own_program),
      clock_(clock),
      copy_(copy_for(wanted, own_program)) {
  const std::string own_name = sys::host_name(root);
  const host::Addresses own_addresses = host::read_addresses(root);
  for (const std::string& name : wanted.hosts) {
    waiting_.push_back(hosts_.size());
    hosts_.push_back({.name = name, .is_here = is_this_host(name, own_name, own_addresses)});
  }
}

// Nobody is asked for a password, nothing of the user's desktop goes along, and a connection that
// is shared is used but not left behind.
Words SshWork::ssh(const Host& host, const Words& there) const {
  return {"ssh",         "-T",
          "-o",          "BatchMode=yes",
          "-o",          fmt::format("ConnectTimeout={}", kConnectSeconds),
          "-o",          "LogLevel=ERROR",
          "-o",          "ServerAliveInterval=15",
          "-o",          "ControlMaster=no",
          "-o",          "ClearAllForwardings=yes",
          "-o",          "ForwardAgent=no",
          "-o",          "ForwardX11=no",
          "--",          host.name,
          as_line(there)};
}

Result<> SshWork::start_agent(std::size_t number, Children& children) {
  Host& host = hosts_[number];
  if (host.is_here) {
    host.stage = Stage::Up;
    return children.start_held(number,
                               {own_program_.string(), "serve", "--leash", "--quiet", "--port",
                                fmt::format("{}", wanted_.port)},
                               wanted_.key);
  }
  host.stage = Stage::Starting;
  const std::string program = wanted_.program.empty() ? "chokepoint" : wanted_.program;
  const std::string copy = copy_ ? copy_->name() : "";
  return children.start_held(number, ssh(host, agent_words(wanted_.port, copy, {program})),
                             wanted_.key);
}

Result<> SshWork::start_copy(std::size_t number, Children& children) {
  Host& host = hosts_[number];
  const Result<sys::Descriptor> tarball = copy_->open();
  if (!tarball) {
    return std::unexpected(tarball.error());
  }
  host.stage = Stage::Copying;
  news_.push_back(fmt::format("copying chokepoint to {}", host.name));
  return children.start_reading(number, ssh(host, copy_words(copy_->name())), tarball->get());
}

Result<> SshWork::start(std::size_t number, Children& children) {
  Host& host = hosts_[number];
  host.began_ns = clock_.monotonic_ns();
  host.told.clear();
  const bool is_to_copy = host.is_absent && !host.is_copied;
  return is_to_copy ? start_copy(number, children) : start_agent(number, children);
}

void SshWork::begin(Children& children) {
  give_up_slow_ones();
  while (!waiting_.empty() && under_way_ < kMostUnderWay) {
    const std::size_t number = waiting_.front();
    waiting_.pop_front();
    if (const Result<> started = start(number, children); !started) {
      hosts_[number].stage = Stage::Ended;
      hosts_[number].trouble = started.error();
    } else if (hosts_[number].stage != Stage::Up) {
      ++under_way_;
    }
  }
}

// It may still come, but the others no longer wait for it.
void SshWork::give_up_slow_ones() {
  for (Host& host : hosts_) {
    if (host.stage == Stage::Starting && clock_.monotonic_ns() - host.began_ns > kSlowNs) {
      host.stage = Stage::Up;
      host.trouble = Error{.kind = ErrorKind::Timeout,
                           .operation = "ssh",
                           .subject = host.name,
                           .reason = fmt::format("no agent within {} s", kSlowNs / 1'000'000'000),
                           .next_step = fmt::format("try 'ssh {} true'", host.name)};
      --under_way_;
    }
  }
}

void SshWork::said(Children::Who who, std::string_view line) {
  Host& host = hosts_[who];
  if (line == kStarts) {
    under_way_ -= host.stage == Stage::Starting ? 1 : 0;
    host.stage = Stage::Up;
    host.trouble.reset();
  } else if (line.starts_with(kAbsent)) {
    host.machine = line.substr(kAbsent.size());
  } else {
    host.told.add(line);
  }
}

void SshWork::end(Host& host, Error why) {
  host.stage = Stage::Ended;
  host.trouble = std::move(why);
}

void SshWork::wait_again(std::size_t number) {
  hosts_[number].stage = Stage::Waiting;
  waiting_.push_back(number);
}

void SshWork::copy_next(std::size_t number) {
  Host& host = hosts_[number];
  if (!copy_) {
    return end(host, {.kind = ErrorKind::NotFound,
                      .operation = "ssh",
                      .subject = host.name,
                      .reason = "there is no chokepoint that knows 'serve --leash', and the one "
                                "here is not the relocatable tarball's, to be copied",
                      .next_step = "install it there (--program PATH where it is not in PATH), or "
                                   "give the tarball: --tarball FILE"});
  }
  if (copy_->is_of_this_machine() && host.machine != own_machine()) {
    return end(host, {.kind = ErrorKind::Unsupported,
                      .operation = "ssh",
                      .subject = host.name,
                      .reason = fmt::format("there is no chokepoint, and this one is made for {}, "
                                            "that host is {}",
                                            own_machine(), host.machine),
                      .next_step = "install it there"});
  }
  host.is_absent = true;
  wait_again(number);
}

void SshWork::ended(Children::Who who, const sys::ExitStatus& status) {
  Host& host = hosts_[who];
  under_way_ -= host.stage == Stage::Starting || host.stage == Stage::Copying ? 1 : 0;
  if (host.stage == Stage::Copying && status.code == 0) {
    host.is_copied = true;
    return wait_again(who);
  }
  const bool is_absent = status.code == kAbsentCode && !host.machine.empty();
  if (is_absent && !host.is_copied) {
    return copy_next(who);
  }
  Error why = host.told.why(host.is_here ? "serve" : "ssh", host.name, status);
  if (host.stage == Stage::Copying && why.next_step.empty()) {
    why.operation = "copy chokepoint";
    why.next_step = "install it there";
  }
  end(host, std::move(why));
}

}  // namespace chokepoint::preflight
