#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "base/host/launcher.h"
#include "base/net/address.h"
#include "base/sys/file.h"
#include "preflight/commands/preflight.h"

namespace chokepoint::preflight {
namespace {

using coordinator::HostWanted;
using Hosts = std::vector<HostWanted>;

constexpr std::size_t kMaxFileBytes = 16 << 20;

Result<> add(Hosts& all, const std::string& word, std::uint16_t port) {
  TRY(Hosts more, hosts_in(word, port));
  std::ranges::move(more, std::back_inserter(all));
  return {};
}

Result<std::string> content_of(const std::string& path) {
  Result<std::string> content = sys::read_input(path, kMaxFileBytes, "");
  if (!content) {
    content.error().subject = "--hosts-file " + path;
    content.error().next_step = "give a file with a host on each line";
  }
  return content;
}

// A host on each line, as mpirun's files have it: what follows the name ("slots=4") and comments
// are left alone.
Result<Hosts> hosts_in_file(const std::string& path, std::uint16_t port) {
  TRY(const std::string content, content_of(path));
  Hosts all;
  std::istringstream lines(content);
  for (std::string line; std::getline(lines, line);) {
    std::string word;
    std::istringstream words(line.substr(0, line.find('#')));
    if (words >> word) {
      TRY(add(all, word, port));
    }
  }
  return all;
}

Result<Hosts> given_hosts(const HostFlags& flags, const cli::Environment& environment) {
  const auto port = static_cast<std::uint16_t>(flags.port);
  Hosts all;
  for (const std::string& word : flags.hosts) {
    TRY(add(all, word, port));
  }
  if (!flags.file.empty()) {
    Result<Hosts> more = hosts_in_file(flags.file, port);
    if (!more) {
      return more;
    }
    std::ranges::move(*more, std::back_inserter(all));
  }
  if (!flags.hosts.empty() || !flags.file.empty()) {
    return all;
  }
  const auto job = environment("SLURM_JOB_NODELIST");
  return job ? hosts_in(*job, port) : all;
}

std::optional<std::string> named_twice(const Hosts& hosts) {
  std::set<std::pair<std::string, std::uint16_t>> seen;
  for (const HostWanted& host : hosts) {
    if (!seen.emplace(host.name, host.port).second) {
      return host.name;
    }
  }
  return std::nullopt;
}

struct ListWithPort {
  std::string list;
  std::uint16_t port = 0;
};

// "name:5211" or "gpu[01-16]:5211": the port is that of all of them.
Result<ListWithPort> split(const std::string& word, std::uint16_t port) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos) {
    return ListWithPort{.list = word, .port = port};
  }
  // The list in front may hold brackets, in which a port is none.
  const Result<net::HostPort> tail = net::parse_host_port("x" + word.substr(colon), port);
  if (!tail || tail->host != "x") {
    return fail(ErrorKind::Usage, "", word, "not a host and port", "give HOST or HOST:PORT");
  }
  return ListWithPort{.list = word.substr(0, colon), .port = tail->port};
}

// "root@gpu1": the user is ssh's matter alone.
HostWanted without_user(const std::string& name, std::uint16_t port) {
  const std::size_t at = name.rfind('@');
  return at == std::string::npos
             ? HostWanted{.name = name, .port = port}
             : HostWanted{.name = name.substr(at + 1), .port = port, .user = name.substr(0, at)};
}

// Addresses have colons of their own and are no lists.
std::optional<HostWanted> plain_address(const std::string& word, std::uint16_t port) {
  HostWanted host = without_user(word, port);
  const Result<net::HostPort> plain = net::parse_host_port(host.name, port);
  if (!plain || !net::Address::parse(plain->host)) {
    return std::nullopt;
  }
  host.name = plain->host;
  host.port = plain->port;
  return host;
}

}  // namespace

Result<Hosts> hosts_in(const std::string& word, std::uint16_t port) {
  if (const std::optional<HostWanted> address = plain_address(word, port)) {
    return Hosts{*address};
  }
  TRY(const ListWithPort parts, split(word, port));
  TRY(const std::vector<std::string> names, host::hosts_of(parts.list));
  Hosts hosts;
  for (const std::string& name : names) {
    hosts.push_back(without_user(name, parts.port));
    if (hosts.back().name.empty()) {
      return fail(ErrorKind::Usage, "", name, "not a host", "give HOST or USER@HOST");
    }
  }
  return hosts;
}

Result<Hosts> wanted_hosts(const HostFlags& flags, const cli::Environment& environment) {
  Result<Hosts> hosts = given_hosts(flags, environment);
  if (!hosts) {
    return hosts;
  }
  if (hosts->empty()) {
    return fail(ErrorKind::Usage, "", "", "no host is named",
                "name two hosts or more, give --hosts-file, or run it inside a Slurm job");
  }
  if (hosts->size() == 1) {
    return fail(ErrorKind::Usage, "", "",
                fmt::format("{} is the only host that is named", hosts->front().name),
                "name another one; 'chokepoint doctor' looks at one host");
  }
  if (const std::optional<std::string> twice = named_twice(*hosts)) {
    return fail(ErrorKind::Usage, "", "", *twice + " is named twice", "name each host once");
  }
  return hosts;
}

}  // namespace chokepoint::preflight
