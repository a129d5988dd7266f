#include "preflight/judge/limits.h"

#include <fmt/format.h>
#include <fnmatch.h>

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <variant>

#include "base/cli/text.h"
#include "base/documents/bounds.h"
#include "base/sys/file.h"

namespace chokepoint::preflight {
namespace {

// A key of the file, for its reader and its writer: what may stand there and the comment above it.
struct LimitKey {
  std::string_view section = {};
  std::string_view name = {};
  std::variant<double Limits::*, std::optional<double> Limits::*> member = {};
  double least = 0;
  double most = 0;
  double example = 0;  // written in a comment if the limit is unset
  std::string_view comment = {};
};

struct LimitSection {
  std::string_view name = {};
  std::string_view comment = {};
};

constexpr std::string_view kHostsKey = "hosts";  // [[hosts]] name, rate_mbps
constexpr std::string_view kHostName = "name";
constexpr std::string_view kHostRate = "rate_mbps";
constexpr std::string_view kDoctorSection = "doctor";
constexpr std::string_view kDoctorKey = "take";

constexpr double kMaxMbps = 10'000'000;  // 10 Tb/s, in Mb/s
using documents::kMaxMs;

constexpr std::array kSections = {
    LimitSection{"link", "What a link between two hosts of one network has to carry."},
    LimitSection{"wan", "Paths that leave the local network."},
    LimitSection{"loss", "Packets of UDP at a low rate, with nothing else on."},
    LimitSection{"latency", "Round trips with nothing else on."},
    LimitSection{"mtu", "The largest packet."},
    LimitSection{"clock", "Hosts' clocks against the cluster's median."},
    LimitSection{"host", "What a host itself must not hold back."},
    LimitSection{"uplink", "What groups of hosts share."},
    LimitSection{"rdma", "RDMA where both hosts have an active port."},
    LimitSection{"collective", "The collective over all hosts."},
    LimitSection{"baseline", "What is worse than last time (--baseline)."},
};

constexpr std::array kKeys = {
    LimitKey{"link", "rate_mbps", &Limits::link_rate_mbps, 1, kMaxMbps, 10000,
             "What every host's link carries. Needed where NICs do not know, as in virtual\n"
             "machines; where they do, the smaller counts, and a port that came up slower is\n"
             "a finding. [[hosts]] says it for some hosts."},
    LimitKey{"link", "share", &Limits::link_share, 0.01, 1, 0,
             "Of that a TCP test has to reach so much: headers take 6 % with packets of 1500\n"
             "bytes, and a short test does not begin at full speed."},
    LimitKey{"link", "critical_share", &Limits::link_critical_share, 0, 1, 0,
             "Below this share it is CRITICAL, else WARNING."},
    LimitKey{"link", "peer_share", &Limits::link_peer_share, 0.01, 1, 0,
             "If the rate is not known: minimum share of the throughput that most hosts\nreach "
             "with others. For four hosts and more."},
    LimitKey{"link", "steady_share", &Limits::link_steady_share, 0.01, 1, 0,
             "The same where it is as slow alone as beside others and no processor is busy: that\n"
             "is no noise."},
    LimitKey{"link", "few_share", &Limits::link_few_share, 0.01, 1, 0,
             "The same where fewer hosts can be compared, or it was not tested alone. A link of\n"
             "few hosts that is steady needs peer_share."},
    LimitKey{"wan", "rtt_ms", &Limits::wan_rtt_ms, 0.001, kMaxMs, 0,
             "From this round trip on a path counts as WAN: ports' rates promise nothing there."},
    LimitKey{"wan", "rate_mbps", &Limits::wan_rate_mbps, 0.001, kMaxMbps, 1000,
             "What one connection of hosts gets over it."},
    LimitKey{"loss", "percent", &Limits::loss_percent, 0, 100, 0,
             "More loss than this is a finding, if enough packets were sent to be significant."},
    LimitKey{"loss", "critical_percent", &Limits::loss_critical_percent, 0, 100, 0,
             "From here on it is CRITICAL."},
    LimitKey{
        "loss", "false_alarm", &Limits::loss_false_alarm, 1e-12, 0.5, 0,
        "How likely a preflight may be to call a cluster lossy that is just within the limit."},
    LimitKey{"latency", "lan_ms", &Limits::latency_lan_ms, 0, kMaxMs, 0,
             "The median round trip within a local network."},
    LimitKey{"latency", "p99_ms", &Limits::latency_p99_ms, 0, kMaxMs, 5,
             "Of a hundred round trips in a local network the slowest but one. Not judged unless "
             "set."},
    LimitKey{"mtu", "bytes", &Limits::mtu_bytes, 576, 65536, 9000,
             "What every interface must have. Unset: the same within a network."},
    LimitKey{"clock", "offset_ms", &Limits::clock_offset_ms, 0, kMaxMs, 0,
             "Records of several hosts are laid side by side by their clocks."},
    LimitKey{"clock", "critical_ms", &Limits::clock_critical_ms, 0, kMaxMs * 24, 0,
             "From here on certificates and Slurm's munge begin to fail."},
    LimitKey{"host", "window_share", &Limits::window_share, 0.01, 1, 0,
             "A flow that waited so much of its time for a buffer is limited by it."},
    LimitKey{"host", "cpu_percent", &Limits::cpu_percent, 1, 100, 0,
             "A core this busy limits the flows it serves."},
    LimitKey{"host", "slot_share", &Limits::slot_share, 0.01, 1, 0,
             "A PCIe slot that carries less than this share of its port's rate is CRITICAL."},
    LimitKey{"uplink", "share", &Limits::uplink_share, 0.01, 1, 0,
             "Of what the pairs carry alone they must carry so much all at once."},
    LimitKey{"rdma", "share", &Limits::rdma_share, 0.01, 1, 0,
             "Of the ports' rate a write must reach so much."},
    LimitKey{"collective", "bus_mbps", &Limits::collective_mbps, 0.001, kMaxMbps, 5000,
             "Bus bandwidth that the collective must reach. Not judged unless set."},
    LimitKey{"baseline", "worse_percent", &Limits::baseline_worse_percent, 0, 100, 0,
             "Throughput that fell by more, and beyond what the runs themselves vary."},
    LimitKey{"baseline", "latency_ms", &Limits::baseline_latency_ms, 0, kMaxMs, 0,
             "A round trip that grew by more than this and by half."},
};

constexpr std::array<std::string_view, 3> kTaken = {"nothing", "critical", "warning"};

std::optional<DoctorTaken> doctor_taken_named(std::string_view name) {
  for (std::size_t index = 0; index < kTaken.size(); ++index) {
    if (kTaken[index] == name) {
      return static_cast<DoctorTaken>(index);
    }
  }
  return std::nullopt;
}

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
constexpr std::string_view kOperation = "limits";
constexpr std::string_view kNextStep = "'chokepoint preflight --print-limits' shows all of them";

// Where a mistake is: the file's name and the line.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  Result<Limits> read(const toml::table& document);
  std::unexpected<Error> wrong(const toml::source_region& where, std::string_view reason) const {
    return fail(ErrorKind::Usage, kOperation, fmt::format("{} line {}", file_, where.begin.line),
                reason, kNextStep);
  }

 private:
  Result<> read_section(const std::string& name, const toml::table& section);
  Result<> read_doctor(const toml::table& section);
  Result<> read_hosts(const toml::node& node);
  Result<HostRate> read_host(const toml::table& table) const;
  Result<double> read_number(std::string_view name, const toml::node& node, double least,
                             double most) const;
  std::unexpected<Error> unknown(const toml::key& key, std::string_view where,
                                 const std::vector<std::string>& known) const;

  std::string file_;
  Limits limits_ = {};
};

std::vector<std::string> names_of_sections() {
  std::vector<std::string> names = {std::string(kHostsKey), std::string(kDoctorSection)};
  for (const LimitSection& section : kSections) {
    names.emplace_back(section.name);
  }
  return names;
}

std::vector<std::string> names_of_keys(std::string_view section) {
  std::vector<std::string> names;
  for (const LimitKey& key : kKeys) {
    if (key.section == section) {
      names.emplace_back(key.name);
    }
  }
  return names;
}

const LimitKey* key_named(std::string_view section, std::string_view name) {
  for (const LimitKey& key : kKeys) {
    if (key.section == section && key.name == name) {
      return &key;
    }
  }
  return nullptr;
}

void put(Limits& limits, const LimitKey& key, double value) {
  std::visit([&](auto member) { limits.*member = value; }, key.member);
}

std::unexpected<Error> Reader::unknown(const toml::key& key, std::string_view where,
                                       const std::vector<std::string>& known) const {
  const std::string meant = cli::nearest(key.str(), known);
  return wrong(key.source(),
               fmt::format("no such key{}: '{}'{}", where, cli::printable(key.str()),
                           meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant)));
}

Result<double> Reader::read_number(std::string_view name, const toml::node& node, double least,
                                   double most) const {
  const std::optional<double> value = node.is_number() ? node.value<double>() : std::nullopt;
  if (!value) {
    return wrong(node.source(), fmt::format("'{}' must be a number", name));
  }
  const bool within = *value >= least && *value <= most;  // no NaN is
  if (!within) {
    return wrong(node.source(), fmt::format("'{}' must be from {} to {}", name, least, most));
  }
  return *value;
}

Result<> Reader::read_section(const std::string& name, const toml::table& section) {
  for (const auto& [key, node] : section) {
    const LimitKey* known = key_named(name, key.str());
    if (known == nullptr) {
      return unknown(key, fmt::format(" in [{}]", name), names_of_keys(name));
    }
    TRY(const auto value, read_number(known->name, node, known->least, known->most));
    put(limits_, *known, value);
  }
  return {};
}

Result<> Reader::read_doctor(const toml::table& section) {
  for (const auto& [key, node] : section) {
    if (key.str() != kDoctorKey) {
      return unknown(key, " in [doctor]", {std::string(kDoctorKey)});
    }
    const auto word = node.value_exact<std::string>();
    const auto taken = word ? doctor_taken_named(*word) : std::nullopt;
    if (!taken) {
      return wrong(node.source(), "'take' must be \"warning\", \"critical\" or \"nothing\"");
    }
    limits_.doctor_taken = *taken;
  }
  return {};
}

Result<HostRate> Reader::read_host(const toml::table& table) const {
  HostRate rate;
  for (const auto& [key, node] : table) {
    if (key.str() == kHostName) {
      const auto name = node.value_exact<std::string>();
      if (!name || name->empty()) {
        return wrong(node.source(), "'name' must be a host's name or a pattern of it");
      }
      rate.pattern = *name;
    } else if (key.str() == kHostRate) {
      const LimitKey* bounds = key_named("link", kHostRate);
      TRY(const auto value, read_number(kHostRate, node, bounds->least, bounds->most));
      rate.mbps = value;
    } else {
      return unknown(key, " in [[hosts]]", {std::string(kHostName), std::string(kHostRate)});
    }
  }
  if (rate.pattern.empty() || rate.mbps <= 0) {
    return wrong(table.source(), "[[hosts]] needs both 'name' and 'rate_mbps'");
  }
  return rate;
}

Result<> Reader::read_hosts(const toml::node& node) {
  const toml::array* hosts = node.as_array();
  if (hosts == nullptr || !hosts->is_homogeneous(toml::node_type::table)) {
    return wrong(node.source(), "'hosts' must be written as [[hosts]], once for each pattern");
  }
  for (const toml::node& host : *hosts) {
    auto rate = read_host(*host.as_table());
    if (!rate) {
      return std::unexpected(rate.error());
    }
    limits_.host_rates.push_back(*std::move(rate));
  }
  return {};
}

Result<Limits> Reader::read(const toml::table& document) {
  const std::vector<std::string> known = names_of_sections();
  for (const auto& [key, node] : document) {
    const std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return unknown(key, "", known);
    }
    const toml::table* section = node.as_table();
    if (section == nullptr && name != kHostsKey) {
      return wrong(node.source(), fmt::format("'{0}' must be a table: [{0}]", name));
    }
    TRY(name == kHostsKey        ? read_hosts(node)
        : name == kDoctorSection ? read_doctor(*section)
                                 : read_section(name, *section));
  }
  return limits_;
}

std::string comment_of(std::string_view text) {
  std::string lines = "# ";
  for (const char letter : text) {
    lines += letter;
    if (letter == '\n') {
      lines += "# ";
    }
  }
  return lines + "\n";
}

// TOML's basic string; what does not print stands by its number.
std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      result += '\\';
    }
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) {
      result += fmt::format("\\u{:04X}", static_cast<unsigned>(letter));
    } else {
      result += letter;
    }
  }
  return result + "\"";
}

std::string line_of(const LimitKey& key, const Limits& limits) {
  if (const auto* member = std::get_if<double Limits::*>(&key.member)) {
    return fmt::format("{} = {}\n", key.name, limits.**member);
  }
  const auto& value = limits.*std::get<std::optional<double> Limits::*>(key.member);
  return value ? fmt::format("{} = {}\n", key.name, *value)
               : fmt::format("# {} = {}\n", key.name, key.example);
}

std::string section_of(const LimitSection& section, const Limits& limits) {
  std::string text = fmt::format("\n{}[{}]\n", comment_of(section.comment), section.name);
  for (const LimitKey& key : kKeys) {
    if (key.section == section.name) {
      text += comment_of(key.comment) + line_of(key, limits);
    }
  }
  return text;
}

std::string hosts_of(const Limits& limits) {
  std::string text =
      "\n# Links of some hosts, by name; * and ? stand for letters. The first that matches "
      "counts.\n";
  if (limits.host_rates.empty()) {
    return text + "# [[hosts]]\n# name = \"gpu*\"\n# rate_mbps = 25000\n";
  }
  for (const HostRate& rate : limits.host_rates) {
    text += fmt::format("[[{}]]\n{} = {}\n{} = {}\n", kHostsKey, kHostName,
                        toml_string(rate.pattern), kHostRate, rate.mbps);
  }
  return text;
}

std::string doctor_of(const Limits& limits) {
  return fmt::format(
      "\n# What each host's doctor says.\n[{}]\n"
      "# \"warning\": WARNING and CRITICAL are findings here, too; \"critical\"; \"nothing\".\n"
      "{} = \"{}\"\n",
      kDoctorSection, kDoctorKey, kTaken.at(static_cast<std::size_t>(limits.doctor_taken)));
}

}  // namespace

std::optional<double> link_rate_of(const Limits& limits, const std::string& host) {
  for (const HostRate& rate : limits.host_rates) {
    if (fnmatch(rate.pattern.c_str(), host.c_str(), 0) == 0) {
      return rate.mbps;
    }
  }
  return limits.link_rate_mbps;
}

Result<Limits> limits_in(std::string_view toml, const std::string& file) {
  const toml::parse_result document = toml::parse(toml, file);
  Reader reader(file);
  if (!document) {
    return reader.wrong(document.error().source(), cli::printable(document.error().description()));
  }
  return reader.read(document.table());
}

Result<Limits> read_limits(const std::filesystem::path& file) {
  Result<std::string> text = sys::read_input(file, kMaxFileBytes, kOperation);
  if (!text) {
    if (text.error().code == 0) {
      text.error().next_step = kNextStep;
    }
    return std::unexpected(text.error());
  }
  return limits_in(*text, file.string());
}

std::string limits_text(const Limits& limits) {
  std::string text =
      "# Limits of chokepoint preflight. What is left out is as it stands here.\n"
      "# Rates in Mb/s (10^6 bit/s), shares of 1.\n";
  for (const LimitSection& section : kSections) {
    text += section_of(section, limits);
  }
  return text + doctor_of(limits) + hosts_of(limits);
}

}  // namespace chokepoint::preflight
