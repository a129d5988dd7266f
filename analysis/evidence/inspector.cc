// NCCL Inspector's files: a JSON object a line, one collective of one rank each, of which the form
// of NCCL 2.28 has "header" and "metadata" and that of others the same fields beside "coll_perf".
//
//   {"header": {"id": "0x7f…", "rank": 0, "n_ranks": 8, "nnodes": 1},
//    "metadata": {"dump_timestamp_us": …, "hostname": "a", "pid": 7, …},
//    "coll_perf": {"coll": "AllReduce", "coll_sn": 12, "coll_msg_size_bytes": 1048576,
//                  "coll_exec_time_us": 412, …}}
//
// A rank is one in its communicator. The job's own is that in the largest communicator of its
// process, which is taken for the job's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "analysis/evidence/source.h"

namespace chokepoint::analysis {
namespace {

using json::Json;

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kMostTimes = std::size_t{4} << 20;
constexpr std::size_t kMostProcesses = 1 << 16;
constexpr std::size_t kMostInspectorGroups = 4096;  // of a process

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
          fmt::format("{} collectives were left out: {} are read", left_out_, kMostTimes));
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
    constexpr double kLongestUs = 1e12;
    const std::string host = text_in(metadata, "hostname");
    const auto number = whole_in(times, "coll_sn");
    const auto us = number_in(times, "coll_exec_time_us");
    if (!number || *number < 0 || !us || *us < 0 || *us > kLongestUs) {
      return;
    }
    if (const auto at_us = whole_in(metadata, "dump_timestamp_us");
        at_us && *at_us > 0 && *at_us < INT64_MAX / 1000) {
      evidence_.span.include(*at_us * 1000 - std::llround(*us * 1e3), *at_us * 1000);
    }
    const std::string key = fmt::format("{} {}", host, whole_in(metadata, "pid").value_or(-1));
    if (!processes_.contains(key) && processes_.size() >= kMostProcesses) {
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
    keep(process, name,
         {.number = static_cast<std::uint64_t>(*number), .length_ns = std::llround(*us * 1e3)});
  }

  void keep(Process& process, const std::string& name, CollectiveTime time) {
    const auto known = process.groups.find(name);
    const bool is_new = known == process.groups.end();
    if (kept_ >= kMostTimes || (is_new && process.groups.size() >= kMostInspectorGroups)) {
      ++left_out_;
      return;
    }
    if (is_new) {
      process.own.groups.push_back(name);
    }
    time.group = is_new ? static_cast<std::uint32_t>(process.own.groups.size() - 1) : known->second;
    process.groups.emplace(name, time.group);
    process.own.collectives.push_back(time);
    ++kept_;
  }

  ToolFile evidence_;
  std::map<std::string, Process> processes_;
  std::size_t kept_ = 0;
  std::uint64_t damaged_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace

Result<ToolFile> read_inspector(ByteSource& source, const std::string& file) {
  constexpr std::size_t kPiece = std::size_t{256} << 10;
  InspectorReader reader(file);
  std::vector<char> piece(kPiece);
  std::string line;
  bool is_too_long = false;
  for (std::size_t got = source.read(piece); got > 0; got = source.read(piece)) {
    for (std::string_view rest(piece.data(), got); !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      is_too_long = is_too_long || line.size() + end > kLongestLine;
      if (!is_too_long) {
        line += rest.substr(0, end);
      }
      if (end < rest.size()) {
        is_too_long ? reader.add_too_long() : reader.add(line);
        line.clear();
        is_too_long = false;
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  if (!source.flaw().empty()) {
    return malformed(file, source.flaw());
  }
  is_too_long ? reader.add_too_long() : reader.add(line);
  return reader.take();
}

}  // namespace chokepoint::analysis
