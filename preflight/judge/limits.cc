#include "preflight/judge/limits.h"

#include <fmt/format.h>
#include <fnmatch.h>

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "base/cli/text.h"
#include "preflight/judge/limit_keys.h"

namespace chokepoint::preflight {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 20;
constexpr std::string_view kOperation = "limits";
constexpr std::string_view kNextStep = "'chokepoint preflight --print-limits' shows all of them";

// Where a mistake is told from: the file's name and the line.
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
  for (const LimitSection& section : limit_sections()) {
    names.emplace_back(section.name);
  }
  return names;
}

std::vector<std::string> names_of_keys(std::string_view section) {
  std::vector<std::string> names;
  for (const LimitKey& key : limit_keys()) {
    if (key.section == section) {
      names.emplace_back(key.name);
    }
  }
  return names;
}

const LimitKey* key_named(std::string_view section, std::string_view name) {
  for (const LimitKey& key : limit_keys()) {
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
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return std::unexpected(from_errno(errno, kOperation, file.string()));
  }
  std::string text(kLargestFile + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (stream.bad() || text.size() > kLargestFile) {
    return fail(ErrorKind::Usage, kOperation, file.string(), "is no file of limits", kNextStep);
  }
  return limits_in(text, file.string());
}

}  // namespace chokepoint::preflight
