#include "base/host/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/host/kernel_text.h"
#include "base/sys/number.h"
#include "base/sys/ranks.h"

namespace chokepoint::host {
namespace {

struct Names {
  std::string_view launcher;
  std::string_view rank;
  std::string_view local_rank;
  std::string_view world_size;
};

// The nearest to the training first: torchrun is started by srun, and mpirun in a batch script,
// where Slurm has set its own already.
constexpr std::array kLauncherVariables{
    Names{"torchrun", "RANK", "LOCAL_RANK", "WORLD_SIZE"},
    Names{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
    Names{"mpirun", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE"},
    Names{"mpirun", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"},
    Names{"mpirun", "PMIX_RANK", "", ""},
    Names{"srun", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
};

using Ranks = std::array<Rank, kLauncherVariables.size()>;

std::optional<int> number_if(bool (*is_one)(std::int64_t), std::string_view value) {
  const auto number = sys::parse_number<int>(value);
  return number && is_one(*number) ? number : std::nullopt;
}

void note(std::string_view name, std::string_view value, Ranks& ranks) {
  for (std::size_t i = 0; i < kLauncherVariables.size(); ++i) {
    if (name == kLauncherVariables[i].rank) {
      ranks[i].rank = number_if(sys::is_rank, value);
    } else if (name == kLauncherVariables[i].local_rank) {
      ranks[i].local_rank = number_if(sys::is_rank, value);
    } else if (name == kLauncherVariables[i].world_size) {
      ranks[i].world_size = number_if(sys::is_world_size, value);
    }
  }
}

Ranks all_ranks(std::string_view environment) {
  Ranks ranks;
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      note(entry.substr(0, equals), entry.substr(equals + 1), ranks);
    }
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return ranks;
}

// What one launcher leaves out (PMIx the number of ranks), another with the same rank may have set.
Rank filled(Rank rank, const Ranks& ranks) {
  for (const Rank& other : ranks) {
    if (other.rank == rank.rank) {
      rank.local_rank = rank.local_rank ? rank.local_rank : other.local_rank;
      rank.world_size = rank.world_size ? rank.world_size : other.world_size;
    }
  }
  return rank;
}

RankFound nearest(const Ranks& ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].rank) {
      // A pod may be given RANK for its node; the ranks that torchrun starts there have both.
      const int local = ranks[i].local_rank ? 1 : 0;
      return {filled(ranks[i], ranks), 2 * static_cast<int>(ranks.size() - i) + local,
              kLauncherVariables[i].launcher};
    }
  }
  return {};
}

}  // namespace

RankFound find_rank(std::string_view environment) { return nearest(all_ranks(environment)); }

RankFound find_rank(const Variables& variables) {
  Ranks ranks;
  for (const Names& names : kLauncherVariables) {
    for (const std::string_view name : {names.rank, names.local_rank, names.world_size}) {
      if (const auto value = name.empty() ? std::nullopt : variables(std::string(name))) {
        note(name, *value, ranks);
      }
    }
  }
  return nearest(ranks);
}

namespace {

constexpr std::size_t kMaxJobNameBytes = 100;

// Of torchrun, and what accelerate calls them.
constexpr std::array<std::string_view, 2> kRunIdOptions{"rdzv-id", "rdzv_id"};
constexpr std::array<std::string_view, 2> kEndpointOptions{"rdzv-endpoint", "rdzv_endpoint"};
constexpr std::array<std::string_view, 4> kAddressOptions{"master-addr", "master_addr",
                                                          "main-process-ip", "main_process_ip"};
constexpr std::array<std::string_view, 4> kPortOptions{"master-port", "master_port",
                                                       "main-process-port", "main_process_port"};

std::string fit_for_a_folder(std::string_view text) {
  std::string name(text.substr(0, kMaxJobNameBytes));
  std::ranges::replace_if(
      name,
      [](char c) {
        const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
        return !is_plain;
      },
      '-');
  if (!name.empty() && name.front() == '.') {
    name.front() = '-';
  }
  return name;
}

// "--name value" or "--name=value".
std::string value_of(std::span<const std::string> command,
                     std::span<const std::string_view> options) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    std::string_view word = command[i];
    if (!word.starts_with("--")) {
      continue;
    }
    word.remove_prefix(2);
    for (const std::string_view option : options) {
      if (word == option && i + 1 < command.size()) {
        return command[i + 1];
      }
      if (word.starts_with(option) && word.substr(option.size()).starts_with('=')) {
        return std::string(word.substr(option.size() + 1));
      }
    }
  }
  return {};
}

// A requeued job has its number again, and so have the steps of one job.
std::string slurm_job(const Variables& variables) {
  std::string name = variables("SLURM_JOB_ID").value_or("");
  const auto number = [&](const char* variable) {
    return sys::parse_non_negative<int>(variables(variable).value_or("")).value_or(0);
  };
  if (!name.empty() && number("SLURM_STEP_ID") > 0) {
    name += fmt::format(".{}", number("SLURM_STEP_ID"));
  }
  if (!name.empty() && number("SLURM_RESTART_COUNT") > 0) {
    name += fmt::format("-restart{}", number("SLURM_RESTART_COUNT"));
  }
  return name;
}

}  // namespace

JobName find_job(const Variables& variables, std::span<const std::string> command) {
  const auto given = [&](const std::string& value, const char* variable) {
    return value.empty() ? variables(variable).value_or("") : value;
  };
  if (const std::string number = slurm_job(variables); !number.empty()) {
    return {.text = fit_for_a_folder(number)};
  }
  // Without one, torchrun sets "none".
  const std::string id = given(value_of(command, kRunIdOptions), "TORCHELASTIC_RUN_ID");
  if (!id.empty() && id != "none") {
    return {.text = fit_for_a_folder(id)};
  }
  if (const std::string space = variables("PMIX_NAMESPACE").value_or(""); !space.empty()) {
    return {.text = fit_for_a_folder(space)};
  }
  std::string place = value_of(command, kEndpointOptions);
  if (place.empty()) {
    place = given(value_of(command, kAddressOptions), "MASTER_ADDR");
    const std::string port = given(value_of(command, kPortOptions), "MASTER_PORT");
    place += place.empty() || port.empty() ? "" : "-" + port;
  }
  return {.text = fit_for_a_folder(place), .is_unique = place.empty()};
}

std::vector<std::string> ssh_to(const std::string& host) {
  std::vector<std::string> words{"ssh", "-T"};
  for (const char* option :
       {"BatchMode=yes", "ConnectTimeout=10", "LogLevel=ERROR", "ServerAliveInterval=15",
        "ControlMaster=no", "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no"}) {
    words.insert(words.end(), {"-o", option});
  }
  words.insert(words.end(), {"--", host});
  return words;
}

namespace {

constexpr std::size_t kMaxNameBytes = 255;
constexpr std::size_t kMaxDigits = 9;
constexpr std::string_view kDigits = "0123456789";

std::unexpected<Error> no_list(std::string_view part, std::string_view why) {
  constexpr std::size_t kShown = 64;
  return fail(ErrorKind::Usage, "", fmt::format("'{}'", part.substr(0, kShown)), why,
              "write hosts as in gpu[001-016,20],login1");
}

std::unexpected<Error> too_many(std::string_view part) {
  return no_list(part, fmt::format("more than {} hosts", kMaxListedHosts));
}

bool is_foreign(char c) { return static_cast<unsigned char>(c) <= ' ' || c == '\x7f'; }

bool is_digits(std::string_view text) {
  return !text.empty() && text.size() <= kMaxDigits &&
         text.find_first_not_of(kDigits) == std::string_view::npos;
}

// Up to the comma that is in no bracket.
std::string_view first_item(std::string_view list) {
  bool inside = false;
  const auto end = std::ranges::find_if(list, [&](char c) {
    inside = c == '[' || (inside && c != ']');
    return c == ',' && !inside;
  });
  return list.substr(0, static_cast<std::size_t>(end - list.begin()));
}

// "007-009" or "12", onto the values.
Result<> append_range(std::string_view range, std::vector<std::string>& values) {
  const std::string_view first = range.substr(0, range.find('-'));
  const std::string_view last =
      first.size() == range.size() ? first : range.substr(first.size() + 1);
  if (!is_digits(first) || !is_digits(last)) {
    return no_list(range, "neither a number nor a range of numbers");
  }
  const std::int64_t from = sys::parse_non_negative<int>(first).value_or(0);
  const std::int64_t to = sys::parse_non_negative<int>(last).value_or(0);
  if (to < from) {
    return no_list(range, "a range counts upwards");
  }
  if (static_cast<std::size_t>(to - from) + values.size() >= kMaxListedHosts) {
    return too_many(range);
  }
  for (std::int64_t number = from; number <= to; ++number) {
    values.push_back(fmt::format("{:0{}}", number, first.size()));
  }
  return {};
}

Result<std::vector<std::string>> values_of(std::string_view inside) {
  std::vector<std::string> values;
  for (std::size_t at = 0; at <= inside.size();) {
    const std::size_t end = std::min(inside.find(',', at), inside.size());
    TRY(append_range(inside.substr(at, end - at), values));
    at = end + 1;
  }
  return values;
}

// Each name with each value after it.
std::vector<std::string> combined(const std::vector<std::string>& names,
                                  const std::vector<std::string>& values) {
  std::vector<std::string> all;
  all.reserve(names.size() * values.size());
  for (const std::string& name : names) {
    for (const std::string& value : values) {
      all.push_back(name + value);
    }
  }
  return all;
}

// The next part of an item: letters as they stand, or what a bracket holds.
Result<std::vector<std::string>> take_part(std::string_view& rest, std::string_view item) {
  if (rest.front() != '[') {
    const std::string_view letters = rest.substr(0, rest.find('['));
    rest.remove_prefix(letters.size());
    return std::vector{std::string(letters)};
  }
  const std::size_t close = rest.find(']');
  if (close == std::string_view::npos) {
    return no_list(item, "a bracket is not closed");
  }
  const std::string_view inside = rest.substr(1, close - 1);
  rest.remove_prefix(close + 1);
  return values_of(inside);
}

Result<std::vector<std::string>> names_of(std::string_view item) {
  if (item.empty()) {
    return no_list(item, "a host without a name");
  }
  if (std::ranges::any_of(item, is_foreign)) {
    return no_list("", "a space or control character in a host's name");
  }
  std::vector<std::string> names{""};
  for (std::string_view rest = item; !rest.empty();) {
    TRY(const std::vector<std::string> values, take_part(rest, item));
    if (names.size() * values.size() > kMaxListedHosts) {
      return too_many(item);
    }
    if (names.front().size() + values.front().size() > kMaxNameBytes) {
      return no_list(item, fmt::format("a name of more than {} characters", kMaxNameBytes));
    }
    names = combined(names, values);
  }
  if (names.front().find(']') != std::string::npos) {
    return no_list(item, "a bracket is closed that was not opened");
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> hosts_of(std::string_view list) {
  std::vector<std::string> hosts;
  for (bool is_more = true; is_more;) {
    const std::string_view item = first_item(list);
    TRY(const std::vector<std::string> names, names_of(item));
    if (hosts.size() + names.size() > kMaxListedHosts) {
      return too_many(item);
    }
    hosts.insert(hosts.end(), names.begin(), names.end());
    is_more = item.size() < list.size();
    list.remove_prefix(item.size() + (is_more ? 1 : 0));
  }
  return hosts;
}

std::optional<std::string> first_host(std::string_view list) {
  const Result<std::vector<std::string>> hosts = hosts_of(list);
  return hosts ? std::optional(hosts->front()) : std::nullopt;
}

}  // namespace chokepoint::host
