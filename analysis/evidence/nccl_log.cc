#include "analysis/evidence/nccl_log.h"

#include <algorithm>

#include "analysis/evidence/source.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMaxLoggedProcesses = 65'536;
constexpr std::size_t kMaxNames = 64;  // of a process: devices, interfaces, variables

void keep(std::set<std::string>& names, std::string_view name) {
  if (!name.empty() && names.size() < kMaxNames) {
    names.emplace(name.substr(0, kMaxFieldBytes));
  }
}

std::optional<std::string_view> text_behind(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  return at == text.npos ? std::nullopt : std::optional(text.substr(at + label.size()));
}

// "[0]eth0:10.0.0.34<0> [1]eth1:…", "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>".
void add_numbered(std::string_view text, std::set<std::string>& names) {
  for (const std::string_view word : words_of(text.substr(0, text.find(';')))) {
    const std::size_t end = word.find(']');
    const bool is_numbered = word.starts_with('[') && end != word.npos &&
                             sys::parse_number<std::int64_t>(word.substr(1, end - 1)).has_value();
    const std::string_view name = is_numbered ? word.substr(end + 1) : "";
    keep(names, name.substr(0, name.find(':')));
  }
}

// "NET/IB/0/GDRDMA", "NET/Socket/0", "P2P/CUMEM", "SHM/direct/direct".
void add_channel(std::string_view route, NcclProcess& process) {
  const auto parts = words_of(route, "/");
  if (parts.front() == "NET" && parts.size() >= 3) {
    ++process.network_channels;
    if (process.network.empty()) {
      process.network = parts[1].substr(0, kMaxFieldBytes);
    }
    process.direct_channels += route.find("/GDRDMA") == route.npos ? 0 : 1;
    keep(process.devices_used, parts[2].substr(0, parts[2].find('(')));
  } else if (parts.front() == "P2P") {
    ++process.peer_channels;
  } else if (parts.front() == "SHM") {
    ++process.memory_channels;
  }
}

// "comm 0x55cc8aa86c70 rank 0 nranks 16 cudaDev 0 …": the largest communicator is the job's.
void add_communicator(std::string_view text, NcclProcess& process) {
  const auto rank = sys::parse_number<std::int64_t>(word_behind(text, " rank"));
  const std::string_view lower = word_behind(text, " nranks");
  const auto ranks =
      sys::parse_number<std::int64_t>(lower.empty() ? word_behind(text, " nRanks") : lower);
  if (is_rank(rank) && ranks && *ranks > process.ranks) {
    process.rank = rank;
    process.ranks = *ranks;
  }
}

void add_text(std::string_view text, NcclProcess& process) {
  if (const auto network = text_behind(text, "Using network ")) {
    process.network = network->substr(0, std::min<std::size_t>(network->find(' '), kMaxFieldBytes));
  } else if (const auto interfaces = text_behind(text, "NET/Socket : Using ")) {
    add_numbered(*interfaces, process.interfaces);
  } else if (const auto devices = text_behind(text, "NET/IB : Using ")) {
    add_numbered(*devices, process.rdma_devices);
  } else if (const auto value = text_behind(text, " set by environment to ")) {
    const std::string name(text.substr(0, text.find(' ')));
    if (process.variables.size() < kMaxNames) {
      process.variables[name.substr(0, kMaxFieldBytes)] =
          value->substr(0, std::min(value->find_last_not_of(". ") + 1, kMaxFieldBytes));
    }
  } else if (text.find("P2P is disabled between") != text.npos) {
    process.is_peer_to_peer_refused = true;
  } else if (const auto refused = text_behind(text, "GPU Direct RDMA Disabled for HCA ")) {
    const auto quoted = words_of(*refused, "'");  // "0 'mlx5_0'"
    keep(process.no_gpu_direct, quoted.size() > 1 ? quoted[1] : quoted.front());
  } else if (const auto route = text_behind(text, "] via ")) {
    if (!route->empty()) {
      add_channel(route->substr(0, route->find(' ')), process);
    }
  } else if (text.find("nranks ") != text.npos || text.find("nRanks ") != text.npos) {
    add_communicator(text, process);
  }
}

// "gpu1:920:1145", also behind another's label, as in "[1,4]<stdout>:gpu1:920:1145".
struct Origin {
  std::string_view host;
  std::string_view pid;
};

std::optional<Origin> origin_of(std::string_view word) {
  const std::size_t last = word.rfind(':');
  const std::size_t middle = last == word.npos || last == 0 ? word.npos : word.rfind(':', last - 1);
  if (middle == word.npos || middle == 0) {
    return std::nullopt;
  }
  const std::string_view pid = word.substr(middle + 1, last - middle - 1);
  if (!sys::parse_number<std::int64_t>(pid) ||
      !sys::parse_number<std::int64_t>(word.substr(last + 1))) {
    return std::nullopt;
  }
  const std::string_view host = word.substr(0, middle);
  const std::size_t label = host.rfind(':');
  return Origin{.host = label == host.npos ? host : host.substr(label + 1), .pid = pid};
}

}  // namespace

NcclProcess* NcclLog::process_of(std::string_view before) {
  for (const std::string_view word : words_of(before)) {
    const auto origin = origin_of(word);
    if (!origin || origin->host.empty()) {
      continue;
    }
    const std::string key =
        std::string(origin->host.substr(0, kMaxFieldBytes)) + ":" + std::string(origin->pid);
    const auto known = processes_.find(key);
    if (known != processes_.end()) {
      return &known->second;
    }
    if (processes_.size() >= kMaxLoggedProcesses) {
      return nullptr;
    }
    NcclProcess& made = processes_[key];
    made.host = origin->host.substr(0, kMaxFieldBytes);
    return &made;
  }
  // A log of one process, from which host and process were cut: "[3]" is its GPU.
  const std::vector<std::string_view> words = words_of(before);
  const bool is_cut = words.size() == 1 && words.front().starts_with('[');
  return is_cut && processes_.size() < kMaxLoggedProcesses
             ? &processes_[std::string(words.front().substr(0, kMaxFieldBytes))]
             : nullptr;
}

void NcclLog::add(std::string_view line) {
  constexpr std::string_view kVersion = "NCCL version ";
  constexpr std::string_view kMark = " NCCL INFO ";
  if (!line.contains("NCCL ")) {  // most lines, and quickly found
    return;
  }
  const std::size_t info = line.find(kMark);
  const std::size_t at = info == line.npos ? line.find(" NCCL WARN ") : info;
  if (at == line.npos) {
    if (line.starts_with(kVersion)) {
      version_ = word_behind(line, "NCCL version").substr(0, kMaxFieldBytes);
    }
    return;
  }
  NcclProcess* const process = process_of(line.substr(0, at));
  if (process == nullptr) {
    return;
  }
  const std::string_view text = line.substr(at + kMark.size());
  if (text.starts_with(kVersion)) {
    process->version = word_behind(text, "NCCL version").substr(0, kMaxFieldBytes);
  } else {
    add_text(text, *process);
  }
}

std::vector<NcclProcess> NcclLog::take() {
  std::vector<NcclProcess> all;
  for (auto& [key, process] : processes_) {
    if (process.version.empty()) {
      process.version = version_;
    }
    all.push_back(std::move(process));
  }
  processes_.clear();
  return all;
}

}  // namespace chokepoint::analysis
