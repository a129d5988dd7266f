#include "preflight/judge/presence.h"

#include <fmt/format.h>

#include <map>

#include "preflight/judge/shell.h"
#include "preflight/judge/words.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

struct Words {
  std::string_view found = {};
  std::string_view why = {};
};

Words words_for(Presence presence) {
  switch (presence) {
    case Presence::Unresolved:
      return {"its name leads nowhere", "no address is known for this name here"};
    case Presence::Unreachable:
      return {"no answer", "the host is down, its cable is out, or a firewall drops packets"};
    case Presence::NoAgent:
      return {"up, and no agent listens", "'chokepoint serve' is not running there"};
    case Presence::Refused:
      return {"its agent let nobody in",
              "the keys differ, or another preflight is at work on this host"};
    case Presence::Strange:
      return {"what answers is no agent of this version",
              "another program has the port, or its chokepoint speaks another protocol"};
    case Presence::Lost:
      return {"lost in the midst of it", "the host, its agent or its link went away"};
    case Presence::Present:
      break;
  }
  return {};
}

std::string step_for(const HostResult& host) {
  const std::string name = shell_word(host.name);
  switch (host.presence) {
    case Presence::Unresolved:
      return with_note("getent hosts " + name, "mend the name server's entry or /etc/hosts");
    case Presence::Unreachable:
      return with_note(fmt::format("ping -c 3 {0}; chokepoint probe path {0}", name),
                       "then look at its console");
    case Presence::NoAgent:
      return on_host(host.name, "chokepoint serve --key-file KEY");
    case Presence::Refused:
      return with_note(
          on_host(host.name, "sha256sum KEY") + "; sha256sum KEY; pgrep -af 'chokepoint preflight'",
          "give both the same key; the last shows another preflight");
    case Presence::Strange:
      return on_host(host.name, "chokepoint --version; ss -ltnp");
    case Presence::Lost:
      return on_host(host.name, "uptime; dmesg -T | tail -n 50; journalctl -n 50");
    case Presence::Present:
      break;
  }
  return "";
}

Finding absent(const HostResult& host, HostIndex index) {
  const Words words = words_for(host.presence);
  Finding finding;
  finding.place = Place::Host;
  finding.hosts = {index};
  finding.check = {.id = "host.present",
                   .status = Status::Critical,
                   .subject = host.name,
                   .found = std::string(words.found),
                   .wanted = "takes part",
                   .why = std::string(words.why),
                   .next_step = step_for(host)};
  if (!host.lost_during.empty()) {
    finding.check.found += " during " + host.lost_during;
  }
  if (host.error) {
    finding.check.why += fmt::format(" ({})", describe(*host.error));
  }
  return finding;
}

}  // namespace

void judge_presence(JudgeContext& desk) {
  std::size_t present = 0;
  for (HostIndex host = 0; host < desk.scene.hosts(); ++host) {
    if (desk.scene.is_present(host)) {
      ++present;
    } else {
      desk.findings.push_back(absent(desk.scene.host(host), host));
    }
  }
  if (present > 0) {
    Finding finding;
    finding.check = {.id = "host.present", .status = Status::Pass, .subject = "cluster"};
    finding.check.found =
        fmt::format("{} of {}", counted(present, "host", "hosts"), desk.scene.hosts());
    desk.findings.push_back(std::move(finding));
  }
}

void judge_versions(JudgeContext& desk) {
  const std::string& here = desk.scene.measured().program;
  std::map<std::string, std::vector<HostIndex>> others;
  for (HostIndex host = 0; host < desk.scene.hosts(); ++host) {
    const std::string& program = desk.scene.host(host).program;
    if (!here.empty() && !program.empty() && program != here) {
      others[program].push_back(host);
    }
  }
  for (const auto& [program, hosts] : others) {
    Finding finding;
    finding.place = Place::Host;
    finding.hosts = hosts;
    finding.check = {
        .id = "host.version",
        .status = Status::Warning,
        .subject = names_of(desk.scene, hosts),
        .found = program,
        .wanted = here + ", as here",
        .why = "two versions may measure and judge differently",
        .next_step = with_note(on_host(desk.scene.name(hosts[0]), "chokepoint --version"),
                               "install the same version on all hosts")};
    desk.findings.push_back(std::move(finding));
  }
}

}  // namespace chokepoint::preflight
