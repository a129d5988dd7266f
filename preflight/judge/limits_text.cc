#include <fmt/format.h>

#include "preflight/judge/limit_keys.h"

namespace chokepoint::preflight {
namespace {

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
  for (const LimitKey& key : limit_keys()) {
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
      kDoctorSection, kDoctorKey, name_of(limits.doctor_taken));
}

}  // namespace

std::string limits_text(const Limits& limits) {
  std::string text =
      "# Limits of chokepoint preflight. What is left out is as it stands here.\n"
      "# Rates in Mb/s (10^6 bit/s), shares of 1.\n";
  for (const LimitSection& section : limit_sections()) {
    text += section_of(section, limits);
  }
  return text + doctor_of(limits) + hosts_of(limits);
}

}  // namespace chokepoint::preflight
