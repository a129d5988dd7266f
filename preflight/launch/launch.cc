#include "preflight/launch/launch.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "base/cli/text.h"
#include "base/host/network.h"
#include "base/net/address.h"
#include "base/sys/descriptor.h"
#include "base/sys/root.h"
#include "preflight/launch/hosts.h"
#include "preflight/launch/launch_method.h"

namespace chokepoint::preflight {
namespace {

constexpr std::size_t kMaxReasonBytes = 300;

struct Known {
  std::string_view words;
  ErrorKind kind;
  std::string_view next_step;  // {} is the host
};

constexpr std::array kKnown{
    Known{"Permission denied", ErrorKind::Permission,
          "'ssh {}' has to work without a password: ssh-copy-id {}"},
    Known{"Too many authentication failures", ErrorKind::Permission,
          "'ssh {}' has to work without a password: ssh-copy-id {}"},
    Known{"Host key verification failed", ErrorKind::Permission,
          "'ssh {}' by hand, once, and compare the key that it shows"},
    Known{"Could not resolve hostname", ErrorKind::NotFound, "is the name right?"},
    Known{"Connection refused", ErrorKind::Refused, "does sshd run there?"},
    Known{"timed out", ErrorKind::Timeout, "is it up, and is there a way to it?"},
    Known{"No route to host", ErrorKind::Unreachable, "is it up, and is there a way to it?"},
    Known{"Network is unreachable", ErrorKind::Unreachable, "is there a way to it?"},
    Known{"Task launch for", ErrorKind::Unreachable, "'scontrol show node {}'"},
    Known{"Unable to create step", ErrorKind::Unreachable,
          "is it in this job? 'scontrol show node {}'"},
};

const Known* known_in(std::string_view line) {
  const auto found = std::ranges::find_if(
      kKnown, [&](const Known& known) { return line.find(known.words) != line.npos; });
  return found == kKnown.end() ? nullptr : &*found;
}

std::string with_host(std::string_view text, std::string_view host) {
  std::string all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t gap = std::min(text.find("{}", at), text.size());
    all += text.substr(at, gap - at);
    all += gap < text.size() ? host : "";
    at = gap + 2;
  }
  return all;
}

// srun goes on for half a minute after it has said so; ssh may speak of a way that it does not
// take.
bool is_final(std::string_view line) {
  return line.find("Task launch for") != line.npos ||
         line.find("Unable to create step") != line.npos;
}

// Who speaks is said anyway: "ssh: connect to host …".
std::string_view without_speaker(std::string_view line) {
  for (const std::string_view speaker : {"ssh: ", "chokepoint: ", "srun: error: ", "srun: "}) {
    if (line.starts_with(speaker)) {
      return line.substr(speaker.size());
    }
  }
  return line;
}

constexpr std::size_t kMaxNameBytes = 255;

bool is_harmless(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-@:%+").find(c) != std::string_view::npos;
}

bool is_name(std::string_view host) {
  const std::string_view behind_user = host.substr(host.find('@') + 1);
  return !host.empty() && host.size() <= kMaxNameBytes && !host.starts_with('-') &&
         !behind_user.empty() && !behind_user.starts_with('-') &&
         std::ranges::all_of(host, is_harmless);
}

constexpr std::size_t kMaxUnderWay = 64;
constexpr std::int64_t kSlowSeconds = 30;

// "Linux x86_64", as the script says it of its host.
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
  Result<Copy> copy = wanted.tarball.empty() ? Copy::of_installation(own_program, wanted.version)
                                             : Copy::of_file(wanted.tarball, wanted.version);
  return copy ? std::optional(std::move(*copy)) : std::nullopt;
}

Result<> check(const LaunchWanted& wanted) {
  if (wanted.key.empty() || wanted.key.find('\n') != std::string::npos) {
    return fail(ErrorKind::Usage, "", "the key", "one line is handed to the agents",
                "head -c 32 /dev/urandom | base64 makes one");
  }
  if (!wanted.tarball.empty()) {
    TRY(Copy::of_file(wanted.tarball, wanted.version));
  }
  return check_names(wanted.hosts);
}

Result<std::filesystem::path> own_program() {
  std::error_code code;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) {
    return fail(from_errno(code.value(), "find", "this program"));
  }
  return path;
}

constexpr std::size_t kForEach = 4;  // its input and output, its end, its agent's connection

class Nothing final : public Launch {
 public:
  std::optional<Error> trouble(std::size_t) override { return {}; }
};

}  // namespace

void LauncherOutput::add(std::string_view line) {
  const std::size_t begin = line.find_first_not_of(" \t\r-");
  if (begin == std::string_view::npos) {
    return;
  }
  line = line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
  last_ = cli::printable(line.substr(0, kMaxReasonBytes));
  if (first_.empty()) {
    first_ = last_;
  }
  if (known_.empty() && known_in(last_) != nullptr) {
    known_ = last_;
  }
  if (last_.starts_with("chokepoint: ")) {
    own_ = last_;
  }
}

bool LauncherOutput::is_over() const { return is_final(known_); }

Error LauncherOutput::why(std::string_view program, const std::string& host,
                          const sys::ExitStatus& status) const {
  Error error{.kind = ErrorKind::Io,
              .operation = std::string(program),
              .subject = host,
              .reason = fmt::format("the agent ended, exit status {}", status.code)};
  if (last_.empty()) {
    return error;
  }
  const std::string& words = program == "ssh" ? last_ : first_;
  const std::string& telling = !known_.empty() ? known_ : !own_.empty() ? own_ : words;
  error.reason = without_speaker(telling);
  if (const Known* known = known_in(telling)) {
    error.kind = known->kind;
    error.next_step = with_host(known->next_step, host);
  }
  return error;
}

Result<> check_names(const std::vector<std::string>& hosts) {
  const auto odd = std::ranges::find_if_not(hosts, is_name);
  if (odd == hosts.end()) {
    return {};
  }
  return fail(ErrorKind::Usage, "", "'" + cli::printable(odd->substr(0, kMaxNameBytes)) + "'",
              "this is no name of a host",
              "letters, digits and ._-@:%+ make one, and it begins with no '-'");
}

bool is_this_host(const std::string& name, const std::string& own_name,
                  const host::Addresses& own_addresses) {
  if (name == "localhost" || name == own_name ||
      (!name.empty() && name == own_name.substr(0, own_name.find('.')))) {
    return true;
  }
  const Result<net::Address> address = net::Address::parse(name);
  if (!address) {
    return false;
  }
  return address->is_loopback() ||
         (own_addresses.addresses &&
          std::ranges::any_of(*own_addresses.addresses, [&](const host::InterfaceAddress& own) {
            return own.address == *address;
          }));
}

HostsWork::HostsWork(LaunchMethod method, const LaunchWanted& wanted,
                     std::filesystem::path own_program, const sys::Clock& clock,
                     const sys::Root& root)
    : way_(std::move(method)),
      wanted_(wanted),
      own_program_(std::move(own_program)),
      clock_(clock),
      copy_(copy_for(way_, wanted_, own_program_)) {
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
  return way_.can_copy ? Words{"chokepoint"} : Words{own_program_.string(), "chokepoint"};
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
      number, {.command = way_.command(host.name, there), .environment = way_.environment},
      wanted_.key);
}

Result<> HostsWork::start_copy(std::size_t number, Children& children) {
  Host& host = hosts_[number];
  TRY(const sys::Descriptor tarball, copy_->open());
  host.stage = Stage::Copying;
  news_.push_back(fmt::format("copying chokepoint to {}", host.name));
  return children.start(number, {.command = way_.command(host.name, copy_words(copy_->name())),
                                 .environment = way_.environment,
                                 .in = tarball.get()});
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
  while (!waiting_.empty() && under_way_ < kMaxUnderWay) {
    const std::size_t number = waiting_.front();
    waiting_.pop_front();
    if (const Result<> started = start(number, children); !started) {
      end(hosts_[number], started.error());
    } else if (hosts_[number].stage != Stage::Up) {
      ++under_way_;
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
                           .operation = way_.program,
                           .subject = host.name,
                           .reason = fmt::format("no agent within {} s", kSlowSeconds),
                           .next_step = "try by hand what runs there"};
      --under_way_;
    }
  }
}

void HostsWork::said(Children::Who who, std::string_view line) {
  Host& host = hosts_[who];
  if (line == kStarts) {
    under_way_ -= host.stage == Stage::Starting ? 1 : 0;
    host.stage = Stage::Up;
    host.trouble.reset();
  } else if (line.starts_with(kAbsent)) {
    host.machine = line.substr(kAbsent.size());
  } else {
    host.output.add(line);
    if (host.stage == Stage::Starting && host.output.is_over()) {
      host.trouble = host.output.why(way_.program, host.name, {});
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
              .operation = way_.program,
              .subject = host.name,
              .reason = "no chokepoint there that knows 'serve --leash'",
              .next_step = "install it there, or name it by --program PATH"};
  if (copy_) {
    error.reason +=
        fmt::format(", and this one is made for {}, not for {}", own_machine(), host.machine);
  } else if (way_.can_copy) {
    error.reason += ", and the one here is not the relocatable tarball's, which could be copied";
    error.next_step += ", or have its tarball copied: --tarball FILE";
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
  under_way_ -= was_copying || host.stage == Stage::Starting ? 1 : 0;
  if (was_copying && status.code == 0) {
    host.is_copied = true;
    return wait_again(who);
  }
  if (status.code == kAbsentCode && !host.machine.empty() && !host.is_copied) {
    return found_absent(who);
  }
  Error why = host.output.why(host.is_here ? "serve" : way_.program, host.name, status);
  if (was_copying && why.next_step.empty()) {
    why.operation = "copy chokepoint";
    why.next_step = "install it there";
  }
  end(host, std::move(why));
}

Result<std::unique_ptr<Launch>> launch(Launcher launcher, const LaunchWanted& wanted,
                                       const sys::Clock& clock, const sys::Root& root) {
  if (launcher == Launcher::None) {
    return std::make_unique<Nothing>();
  }
  TRY(check(wanted));
  TRY(const std::filesystem::path program, own_program());
  const std::size_t held = launcher == Launcher::Ssh ? wanted.hosts.size() : 1;
  TRY(sys::want_descriptors(kForEach * held));
  return LaunchThread::start(
      std::make_unique<HostsWork>(launch_method_of(launcher), wanted, program, clock, root), wanted,
      clock);
}

}  // namespace chokepoint::preflight
