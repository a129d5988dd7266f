#include "analysis/evidence/nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "analysis/evidence/lines.h"
#include "analysis/evidence/source.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

using json::Json;

constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxTimes = std::size_t{4} << 20;
constexpr std::size_t kMaxProcesses = 1 << 16;
constexpr std::size_t kMaxInspectorGroups = 4096;  // of a process

class InspectorReader {
 public:
  explicit InspectorReader(const std::string& file) {
    evidence_.tool = Tool::Inspector;
    evidence_.file = file;
  }

  void add(std::string_view line) {
    if (line.find_first_not_of(" \t\r") == line.npos) {
      return;
    }
    const auto parsed = parsed_json(line, evidence_.file);
    if (!parsed || !parsed->is_object()) {
      ++damaged_;
      return;
    }
    const Json& header = parsed->contains("header") ? member(*parsed, "header") : *parsed;
    const Json& metadata = parsed->contains("metadata") ? member(*parsed, "metadata") : *parsed;
    const Json& times = member(*parsed, "coll_perf");
    const auto rank = whole_in(header, "rank");
    if (times.is_object() && is_rank(rank)) {
      add(header, metadata, times, *rank);
    }
  }

  void add_too_long() { ++damaged_; }

  Result<ToolFile> take() {
    for (auto& [key, process] : processes_) {
      evidence_.ranks.push_back(std::move(process.own));
    }
    if (evidence_.ranks.empty()) {
      return malformed(evidence_.file, "is NCCL Inspector's file without a collective");
    }
    if (damaged_ > 0) {
      evidence_.left_out.push_back(fmt::format("{} lines are no JSON object", damaged_));
    }
    if (left_out_ > 0) {
      evidence_.left_out.push_back(
          fmt::format("{} collectives were left out: {} are read", left_out_, kMaxTimes));
    }
    return std::move(evidence_);
  }

 private:
  struct Process {
    RankRecord own = {};
    std::int64_t ranks = 0;  // of the largest communicator
    std::map<std::string, std::uint32_t> groups = {};
  };

  void add(const Json& header, const Json& metadata, const Json& times, std::int64_t rank) {
    constexpr double kMaxTimeUs = 1e12;
    const std::string host = text_in(metadata, "hostname");
    const auto number = whole_in(times, "coll_sn");
    const auto us = number_in(times, "coll_exec_time_us");
    if (!number || *number < 0 || !us || *us < 0 || *us > kMaxTimeUs) {
      return;
    }
    if (const auto at_us = whole_in(metadata, "dump_timestamp_us");
        at_us && *at_us > 0 && *at_us < INT64_MAX / 1000) {
      evidence_.span.include(*at_us * 1000 - std::llround(*us * 1e3), *at_us * 1000);
    }
    const std::string key = fmt::format("{} {}", host, whole_in(metadata, "pid").value_or(-1));
    if (!processes_.contains(key) && processes_.size() >= kMaxProcesses) {
      ++left_out_;
      return;
    }
    Process& process = processes_[key];
    const std::int64_t ranks = whole_in(header, "n_ranks").value_or(0);
    if (ranks > process.ranks) {
      process.ranks = ranks;
      process.own.rank = rank;
      process.own.host = host;
    }
    const std::string name = text_in(header, "id") + "/" + text_in(times, "coll");
    add(process, name,
        {.number = static_cast<std::uint64_t>(*number), .length_ns = std::llround(*us * 1e3)});
  }

  void add(Process& process, const std::string& name, CollectiveTime time) {
    const auto known = process.groups.find(name);
    const bool is_new = known == process.groups.end();
    if (times_ >= kMaxTimes || (is_new && process.groups.size() >= kMaxInspectorGroups)) {
      ++left_out_;
      return;
    }
    if (is_new) {
      process.own.groups.push_back(name);
    }
    time.group = is_new ? static_cast<std::uint32_t>(process.own.groups.size() - 1) : known->second;
    process.groups.emplace(name, time.group);
    process.own.collectives.push_back(time);
    ++times_;
  }

  ToolFile evidence_;
  std::map<std::string, Process> processes_;
  std::size_t times_ = 0;
  std::uint64_t damaged_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace

Result<ToolFile> read_inspector(ByteSource& source, const std::string& file) {
  InspectorReader reader(file);
  LineReader lines(source, kMaxLineBytes);
  while (const auto line = lines.next()) {
    lines.was_cut() ? reader.add_too_long() : reader.add(*line);
  }
  return source.flaw().empty() ? reader.take() : malformed(file, source.flaw());
}

// What NCCL's RAS prints: JSON ("ncclras -f json", from NCCL 2.28 on) and text (ncclras, or
// "STATUS" to its socket, from 2.24 on). Ranks are ranks of their communicator; those of the
// largest one are assumed to be the job's.
//
//   {"nccl_version": "2.29.1", "timestamp": "2026-06-19 06:56:24", "communicators": [
//     {"hash": "0xae…", "size": 2, "ranks": [{"rank": 0, "host": "10.0.0.1", "pid": 7,
//      "collective_counts": {"AllReduce": 12}, …}],
//      "missing_ranks": [{"rank": 1, …, "status": {"unresponsive": true, "considered_dead":
//      false}}]}]}
//
//   #0-0 (fa93daea854b060b) MISMATCH
//     Communicator ranks have different AllGather operation counts
//     30 ranks have launched up to operation 640
//     2 ranks have launched up to operation 641
//     Rank 12 -- GPU 4 managed by process 323032 on node 10.137.190.124

namespace {

using RasState = RasRank::State;

constexpr std::size_t kMaxRasRanks = 65'536;
constexpr std::size_t kMaxCounts = 64;  // kinds of collectives

// NCCL 2.28.9 leaves out the comma before "status" of a missing rank.
std::string with_commas(std::string_view text) {
  std::string repaired;
  char last = ',';
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\n') {
      const std::size_t next = text.find_first_not_of(" \t\r\n", at);
      const bool is_value = std::isdigit(static_cast<unsigned char>(last)) != 0 || last == '"' ||
                            last == 'e' || last == 'l' || last == '}' || last == ']';
      if (next != text.npos && text[next] == '"' && is_value) {
        repaired += ',';
      }
    }
    last = std::isspace(static_cast<unsigned char>(text[at])) != 0 ? last : text[at];
    repaired += text[at];
  }
  return repaired;
}

// What most ranks have launched of each kind; of two as frequent the larger, since a rank that is
// behind holds up the others, and not the reverse.
std::map<std::string, std::int64_t> usual_counts(const Json& ranks) {
  std::map<std::string, std::map<std::int64_t, std::size_t>> seen;
  for (const Json& rank : ranks) {
    for (const auto& [kind, count] : object_in(rank, "collective_counts").items()) {
      if (const auto number = whole_of(count); number && seen.size() <= kMaxCounts) {
        ++seen[kind.substr(0, kMaxCounts)][*number];
      }
    }
  }
  std::map<std::string, std::int64_t> usual;
  for (const auto& [kind, counts] : seen) {
    usual[kind] = std::ranges::max_element(counts, {}, [](const auto& count) {
                    return std::pair(count.second, count.first);
                  })->first;
  }
  return usual;
}

class RasJson {
 public:
  explicit RasJson(ToolFile& evidence) : evidence_(evidence) {}

  void read(const Json& document) {
    const std::int64_t at_ns = wall_ns_of(text_in(document, "timestamp"));
    if (at_ns > 0) {
      evidence_.span.include(at_ns, at_ns);
    }
    const Json& list = list_in(document, "communicators");
    std::int64_t largest = 0;
    for (const Json& each : list) {
      largest = std::max(largest, whole_in(each, "size").value_or(0));
    }
    for (const Json& each : list) {
      if (whole_in(each, "size") == largest) {
        name_processes(each);
      }
    }
    for (const Json& each : list) {
      add(each, whole_in(each, "size") == largest);
    }
    leave_out_waiting();
    evidence_.ras_is_clean = !list.empty() && evidence_.ras.empty();
  }

 private:
  static std::string process_of(const Json& rank) {
    return fmt::format("{} {}", text_in(rank, "host"), whole_in(rank, "pid").value_or(-1));
  }

  void name_processes(const Json& communicator) {
    for (const char* list : {"ranks", "missing_ranks"}) {
      for (const Json& rank : list_in(communicator, list)) {
        const auto number = whole_in(rank, "rank");
        if (is_rank(number) && world_.size() < kMaxRasRanks) {
          world_.emplace(process_of(rank), *number);
        }
      }
    }
  }

  void add(const Json& communicator, bool is_world) {
    for (const Json& rank : list_in(communicator, "missing_ranks")) {
      const Json& status = member(rank, "status");
      const bool is_dead = member(status, "considered_dead") == Json(true) ||
                           member(rank, "considered_dead") == Json(true);
      add(communicator, rank, is_world, {.state = is_dead ? RasState::Dead : RasState::Silent});
    }
    const Json& ranks = list_in(communicator, "ranks");
    const auto usual = usual_counts(ranks);
    const auto count_of = [](const Json& rank, const std::string& kind) {
      return whole_in(member(rank, "collective_counts"), kind.c_str());
    };
    for (const auto& [kind, count] : usual) {
      std::int64_t least = count;
      for (const Json& rank : ranks) {
        least = std::min(least, count_of(rank, kind).value_or(count));
      }
      for (const Json& rank : ranks) {
        const auto own = count_of(rank, kind);
        if (own && *own > least && waiting_.size() < kMaxRasRanks) {
          waiting_.insert(process_of(rank));
        }
        if (own && *own != count) {
          add(communicator, rank, is_world,
              {.state = *own < count ? RasState::Behind : RasState::Ahead,
               .operation = kind,
               .count = *own,
               .others = count});
        }
      }
    }
  }

  void add(const Json& communicator, const Json& rank, bool is_world, RasRank found) {
    const auto number = whole_in(rank, "rank");
    if (!is_rank(number) || evidence_.ras.size() >= kMaxRasRanks) {
      return;
    }
    found.rank = *number;
    found.host = text_in(rank, "host");
    found.pid = whole_in(rank, "pid").value_or(0);
    processes_.push_back(process_of(rank));
    found.communicator = text_in(communicator, "hash");
    found.is_world = is_world;
    // Its process has a rank in the job, too.
    if (const auto world = world_.find(process_of(rank)); !is_world && world != world_.end()) {
      found.rank = world->second;
      found.is_world = true;
    }
    evidence_.ras.push_back(std::move(found));
  }

  // Who is behind in one communicator and waits in another is not whom the others wait for. Where
  // all do, they wait for each other.
  void leave_out_waiting() {
    const auto is_behind = [](const RasRank& rank) { return rank.state == RasState::Behind; };
    std::vector<RasRank> kept;
    for (std::size_t at = 0; at < evidence_.ras.size(); ++at) {
      if (!is_behind(evidence_.ras[at]) || !waiting_.contains(processes_[at])) {
        kept.push_back(evidence_.ras[at]);
      }
    }
    if (std::ranges::any_of(kept, is_behind)) {
      evidence_.ras = std::move(kept);
    }
  }

  ToolFile& evidence_;
  std::map<std::string, std::int64_t> world_;  // the job's rank of a process
  std::vector<std::string> processes_;         // of each of evidence_.ras
  std::set<std::string> waiting_;              // processes that are ahead of another one
};

// Sections "#GROUP-PLACE (HASH) INCOMPLETE|MISMATCH", behind a table of the groups.
class RasText {
 public:
  explicit RasText(ToolFile& evidence) : evidence_(evidence) {}

  void read(std::string_view text) {
    each_line(text, [&](std::string_view line) { add(line); });
    std::int64_t largest = 0;
    for (const auto& [group, size] : sizes_) {
      largest = std::max(largest, size);
    }
    for (std::size_t at = 0; at < evidence_.ras.size(); ++at) {
      evidence_.ras[at].is_world = sizes_.contains(groups_[at]) && sizes_[groups_[at]] == largest;
    }
    evidence_.ras_is_clean = !sizes_.empty() && evidence_.ras.empty() && !has_errors_;
  }

 private:
  void add(std::string_view line) {
    const auto words = words_of(line);
    if (words.empty()) {
      return;
    }
    if (words.front().starts_with('#') && words.size() >= 2) {
      begin_section(words);
    } else if (words.front() == "Rank" && words.size() >= 4 && words[2] == "--") {
      add_rank(line, words);
    } else if (line.find("different") != line.npos && line.find("operation counts") != line.npos) {
      operation_ = word_behind(line, "different");
    } else if (line.find("launched up to operation") != line.npos) {
      add_count(line, words);
    } else if (words.size() >= 8 && section_.empty()) {
      add_group(words);
    }
  }

  //   Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
  //       #  in group  per comm  per node  per comm  in group
  void add_group(const std::vector<std::string_view>& words) {
    constexpr std::size_t kSize = 4;
    constexpr std::size_t kErrors = 7;
    const auto group = sys::parse_number<std::int64_t>(words[0]);
    const auto size = sys::parse_number<std::int64_t>(words[kSize]);
    if (group && size && sizes_.size() < kMaxRasRanks) {
      sizes_[*group] = *size;
      has_errors_ = has_errors_ || words[kErrors] != "OK";
    }
  }

  void begin_section(const std::vector<std::string_view>& words) {
    std::string_view number = words.front().substr(1);
    number = number.substr(0, std::min(number.find('-'), number.size()));
    group_ = sys::parse_number<std::int64_t>(number).value_or(-1);
    std::string_view hash = words[1];
    hash = hash.starts_with('(') ? hash.substr(1, hash.find(')') - 1) : std::string_view();
    if (group_ < 0 || hash.empty()) {
      return;
    }
    section_ = hash;
    operation_.clear();
    most_ = 0;
    most_ranks_ = -1;
    count_ = 0;
  }

  // "30 ranks have launched up to operation 640": the ranks of fewer are listed behind theirs.
  void add_count(std::string_view line, const std::vector<std::string_view>& words) {
    const auto ranks = sys::parse_number<std::int64_t>(words[0]);
    const auto count =
        sys::parse_number<std::int64_t>(word_behind(line, "launched up to operation"));
    if (!ranks || !count) {
      return;
    }
    count_ = *count;
    if (*ranks > most_ranks_) {
      most_ranks_ = *ranks;
      most_ = *count;
    }
  }

  // Only ranks unlike most are listed; of several counts each list stands behind its own.
  void add_rank(std::string_view line, const std::vector<std::string_view>& words) {
    const auto rank = sys::parse_number<std::int64_t>(words[1]);
    if (section_.empty() || !is_rank(rank) || evidence_.ras.size() >= kMaxRasRanks) {
      return;
    }
    RasRank found{.rank = *rank,
                  .host = std::string(word_behind(line, "on node")),
                  .pid = sys::parse_number<std::int64_t>(word_behind(line, "process")).value_or(0),
                  .communicator = section_};
    if (!operation_.empty()) {
      if (count_ == most_) {
        return;
      }
      found.state = count_ < most_ ? RasState::Behind : RasState::Ahead;
      found.operation = operation_;
      found.count = count_;
      found.others = most_;
    }
    groups_.push_back(group_);
    evidence_.ras.push_back(std::move(found));
  }

  ToolFile& evidence_;
  std::map<std::int64_t, std::int64_t> sizes_;  // of a group's communicators
  std::vector<std::int64_t> groups_;            // of each of evidence_.ras
  std::string section_;
  std::int64_t group_ = -1;
  std::string operation_;
  std::int64_t count_ = 0;
  std::int64_t most_ = 0;
  std::int64_t most_ranks_ = -1;
  bool has_errors_ = false;
};

}  // namespace

Result<ToolFile> read_ras(std::string_view text, const std::string& file) {
  ToolFile evidence{.tool = Tool::Ras, .file = file};
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos || text[begin] != '{') {
    RasText(evidence).read(text);
    if (evidence.ras.empty() && !evidence.ras_is_clean) {
      evidence.left_out.emplace_back("names no rank that is unlike the others");
    }
    return evidence;
  }
  Result<Json> document = parsed_json(text, file);
  if (!document) {
    document = parsed_json(with_commas(text), file);
  }
  if (!document) {
    return std::unexpected(document.error());
  }
  RasJson(evidence).read(*document);
  return evidence;
}

}  // namespace chokepoint::analysis
