#include "analysis/evidence/benchmarks.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "analysis/evidence/source.h"
#include "base/documents/bounds.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

using json::Json;

constexpr std::size_t kMaxSizes = 512;
constexpr std::size_t kMaxHosts = 4096;

// A device's name may be any bytes, and those that are no UTF-8 would throw.
std::string text_of(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct BenchmarkName {
  std::string_view program;
  const char* collective;  // as a record calls it
};

constexpr std::array kPrograms{BenchmarkName{"all_reduce", "all-reduce"},
                               BenchmarkName{"all_gather", "all-gather"},
                               BenchmarkName{"reduce_scatter", "reduce-scatter"},
                               BenchmarkName{"alltoall", "all-to-all"},
                               BenchmarkName{"broadcast", "broadcast"},
                               BenchmarkName{"reduce", "reduce"},
                               BenchmarkName{"gather", "gather"},
                               BenchmarkName{"scatter", "scatter"}};

// Of "…/all_reduce_perf -b 8": the text may be a job's whole output.
std::string collective_in(std::string_view text) {
  for (std::size_t at = text.find("_perf"); at != text.npos; at = text.find("_perf", at + 1)) {
    for (const BenchmarkName& each : kPrograms) {
      const std::string_view before = text.substr(0, at);
      if (before.ends_with(each.program)) {
        const std::string_view rest = before.substr(0, before.size() - each.program.size());
        if (rest.empty() ||
            (std::isalnum(static_cast<unsigned char>(rest.back())) == 0 && rest.back() != '_')) {
          return each.collective;
        }
      }
    }
  }
  return "";
}

// By the factor between its two bandwidths, which is 2(n-1)/n of an all-reduce and (n-1)/n of a
// reduce-scatter: for programs of before 2.17, which do not print their own name.
std::string collective_by(double factor, std::size_t ranks, std::string_view reduction) {
  constexpr double kMaxFactorError = 0.02;
  if (ranks < 3 || reduction == "none" || reduction.empty()) {
    return "";
  }
  const double scatter = static_cast<double>(ranks - 1) / static_cast<double>(ranks);
  return std::abs(factor - 2 * scatter) < kMaxFactorError ? "all-reduce"
         : std::abs(factor - scatter) < kMaxFactorError   ? "reduce-scatter"
                                                          : "";
}

// As "mpirun --tag-output" and "srun -l" put it before each line: "[1,0]<stdout>:", "0: ".
std::string_view without_tag(std::string_view line) {
  constexpr std::size_t kMaxTagBytes = 40;
  const std::size_t tag = line.find(">:");
  if (line.starts_with('[') && tag < kMaxTagBytes) {
    return line.substr(tag + 2);
  }
  const std::size_t end = line.find_first_not_of("0123456789", line.find_first_not_of(' '));
  return end != line.npos && line.substr(end).starts_with(": ") ? line.substr(end + 2) : line;
}

struct SizeRow {
  double bytes = 0;
  double time_us = 0;
  double algbw_gbs = 0;
  double busbw_gbs = 0;
  std::int64_t wrong = 0;
  std::string reduction = {};
};

constexpr double kMbpsPerGbs = 8e3;

class NcclTestsReader {
 public:
  NcclTestsReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<ToolFile> read() {
    each_line(text_, [&](std::string_view line) { add(line); });
    if (rows_.empty()) {
      return malformed(file_, "is nccl-tests' output without a line of results");
    }
    std::string collective = collective_in(text_);
    collective = collective.empty() ? collective_in(file_) : collective;
    const SizeRow& largest = rows_.back();
    if (largest.algbw_gbs <= 0) {
      return malformed(file_, "is nccl-tests' output of sizes too small for a bandwidth");
    }
    if (collective.empty()) {
      collective = collective_by(largest.busbw_gbs / largest.algbw_gbs, ranks_, largest.reduction);
    }
    if (collective.empty()) {
      return malformed(file_,
                       "is nccl-tests' output that does not say which collective: name the file "
                       "after the program, as in all_reduce_perf.txt");
    }
    return evidence(collective);
  }

 private:
  void add(std::string_view line) {
    std::vector<std::string_view> words = words_of(without_tag(line));
    if (words.empty()) {
      return;
    }
    if (words.front().starts_with('#')) {
      add_comment(words);
    } else if (!columns_.empty() && rows_.size() < kMaxSizes) {
      add_row(words);
    }
  }

  //   #  Rank  0 Group  0 Pid    855 on host-a device  0 [0xa4] NVIDIA A100-SXM4-80GB
  //   #       size         count      type   redop    root     time   algbw   busbw #wrong …
  void add_comment(std::vector<std::string_view> words) {
    if (words.front() == "#") {
      words.erase(words.begin());
    } else {
      words.front().remove_prefix(1);
    }
    if (!words.empty() && words.front() == "size") {
      columns_.assign(words.begin(), words.end());
      return;
    }
    const auto on = std::ranges::find(words, "on");
    if (words.size() > 2 && words.front() == "Rank" && on != words.end() &&
        std::next(on) != words.end()) {
      ++ranks_;
      const std::string host(*std::next(on));
      if (hosts_.size() < kMaxHosts && std::ranges::find(hosts_, host) == hosts_.end()) {
        hosts_.push_back(host);
      }
    }
  }

  std::optional<double> number_at(const std::vector<std::string_view>& words,
                                  std::size_t column) const {
    const auto number =
        column < words.size() ? sys::parse_non_negative<double>(words[column]) : std::nullopt;
    return number && std::isfinite(*number) ? number : std::nullopt;
  }

  // Out of place and in place: the faster of them is what can be reached.
  void add_row(const std::vector<std::string_view>& words) {
    constexpr double kMaxBytes = 1e15;
    SizeRow row{.bytes = number_at(words, 0).value_or(0)};
    for (std::size_t column = 0; column + 2 < columns_.size(); ++column) {
      if (columns_[column] == "redop" && column < words.size()) {
        row.reduction = words[column];
      }
      const auto time = number_at(words, column);
      const auto algbw = number_at(words, column + 1);
      const auto busbw = number_at(words, column + 2);
      constexpr double kMinUs = 1e-3;
      constexpr double kMaxUs = 1e12;
      constexpr double kMaxGbs = 1e6;
      const bool is_sane = time && algbw && busbw && *time >= kMinUs && *time < kMaxUs &&
                           *algbw < kMaxGbs && *busbw < kMaxGbs;
      if (columns_[column] != "time" || !is_sane) {
        continue;
      }
      if (row.time_us <= 0 || *time < row.time_us) {
        row.time_us = *time;
        row.algbw_gbs = *algbw;
        row.busbw_gbs = *busbw;
      }
      if (column + 3 < columns_.size() && columns_[column + 3] == "#wrong") {
        row.wrong += whole_at(words, column + 3);
      }
    }
    if (row.bytes > 0 && row.bytes < kMaxBytes && row.time_us > 0) {
      rows_.push_back(row);
    }
  }

  // Of a count, or of "N/A" where nothing was checked.
  static std::int64_t whole_at(const std::vector<std::string_view>& words, std::size_t column) {
    constexpr std::int64_t kMaxWrong = 1'000'000'000'000;
    const auto count =
        column < words.size() ? sys::parse_number<std::int64_t>(words[column]) : std::nullopt;
    return std::clamp<std::int64_t>(count.value_or(0), 0, kMaxWrong);
  }

  ToolFile evidence(const std::string& collective) const {
    Json document{{"schema", "chokepoint.collective/1"},
                  {"collective", collective},
                  {"sizes", Json::array()}};
    if (ranks_ > 0) {
      document["ranks"] = ranks_;
    }
    MeasuredCollective measured{.collective = collective, .ranks = ranks_};
    for (const SizeRow& row : rows_) {
      measured.sizes.push_back({.bytes = row.bytes,
                                .time_us = row.time_us,
                                .bus_mbps = row.busbw_gbs * kMbpsPerGbs,
                                .wrong = row.wrong});
      if (row.algbw_gbs <= 0) {
        continue;  // two decimals are printed
      }
      document["sizes"].push_back({{"bytes", static_cast<std::uint64_t>(row.bytes)},
                                   {"algbw_mbps", row.algbw_gbs * kMbpsPerGbs},
                                   {"busbw_mbps", row.busbw_gbs * kMbpsPerGbs}});
    }
    GivenProbe probe{.file = file_,
                     .host = hosts_.empty() ? "" : hosts_.front(),
                     .row = {.kind = "collective",
                             .direction = collective,
                             .schema = "chokepoint.collective/1",
                             .document = text_of(document)}};
    return {.tool = Tool::NcclTests,
            .file = file_,
            .collectives = {std::move(measured)},
            .ceilings = {probe},
            .hosts = hosts_};
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<std::string> columns_;
  std::vector<SizeRow> rows_;
  std::vector<std::string> hosts_;
  std::size_t ranks_ = 0;
};

// "00:00:…:255:255:10:00:00:157": decimal bytes, an IPv4 address in the end of an IPv6 one.
std::string address_of_gid(std::string_view text) {
  constexpr std::size_t kBytes = 16;
  constexpr std::size_t kMappedFrom = 12;
  std::array<std::uint8_t, kBytes> bytes{};
  const auto words = words_of(text, ":");
  if (words.size() != kBytes) {
    return "";
  }
  for (std::size_t at = 0; at < kBytes; ++at) {
    const auto byte = sys::parse_number<std::uint8_t>(words[at]);
    if (!byte) {
      return "";
    }
    bytes.at(at) = *byte;
  }
  const bool is_mapped = std::ranges::all_of(bytes.begin(), bytes.begin() + kMappedFrom - 2,
                                             [](std::uint8_t byte) { return byte == 0; }) &&
                         bytes[kMappedFrom - 2] == 0xff && bytes[kMappedFrom - 1] == 0xff;
  std::array<char, INET6_ADDRSTRLEN> address{};
  inet_ntop(is_mapped ? AF_INET : AF_INET6, bytes.data() + (is_mapped ? kMappedFrom : 0),
            address.data(), address.size());
  return address.data();
}

// The title, "RDMA_Write BW Test" or "Send BW Test".
std::string operation_in(std::string_view text) {
  for (const auto& [title, operation] : {std::pair("RDMA_Write", "write"),
                                         {"RDMA_Read", "read"},
                                         {"Send", "send"},
                                         {"Atomic", "fetch_and_add"}}) {
    const std::size_t at = text.find(std::string(title) + " ");
    if (at != text.npos && text.substr(at, 48).find("BW Test") != text.npos) {
      return operation;
    }
  }
  return "";
}

class PerftestReader {
 public:
  PerftestReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<ToolFile> read() {
    each_line(text_, [&](std::string_view line) { add(line); });
    if (average_mbps_ <= 0) {
      return malformed(file_, is_latency_
                                  ? "is perftest's output of latencies, which are no ceiling"
                                  : "is perftest's output without a line of results");
    }
    const std::string operation = operation_in(text_);
    const std::string device(word_behind(text_, "Device"));
    if (device.empty() || operation.empty()) {
      return malformed(file_, "is perftest's output without its head, which names test and device");
    }
    const Json document{{"schema", "chokepoint.rdma/1"},
                        {"operation", operation},
                        {"metric", "bw"},
                        {"device", device},
                        {"message_bytes", bytes_},
                        {"average_mbps", average_mbps_},
                        {"peak_mbps", peak_mbps_}};
    GivenProbe probe{.file = file_,
                     .peer_address = remote_,
                     .own_address = local_,
                     .device = device,
                     .row = {.kind = "rdma",
                             .peer = remote_,
                             .direction = operation == "read" ? "receive" : "send",
                             .schema = "chokepoint.rdma/1",
                             .document = text_of(document)}};
    return ToolFile{.tool = Tool::Perftest, .file = file_, .ceilings = {probe}};
  }

 private:
  void add(std::string_view line) {
    if (line.find("local address") != line.npos) {
      is_local_ = true;
    } else if (line.find("remote address") != line.npos) {
      is_local_ = false;
    }
    if (const std::string_view gid = word_behind(line, "GID:"); !gid.empty()) {
      (is_local_ ? local_ : remote_) = address_of_gid(gid);
    }
    const auto words = words_of(line);
    if (!words.empty() && words.front() == "#bytes") {
      // Gb are 10^9 bits, MB are 2^20 bytes: perftest's own choice.
      to_mbps_ = line.find("BW average[Gb/sec]") != line.npos   ? 1e3
                 : line.find("BW average[MB/sec]") != line.npos ? 8 * 1.048576
                                                                : 0;
      is_latency_ = line.find("t_typical") != line.npos;
    } else if (to_mbps_ > 0 && words.size() >= 4) {
      add_row(words);
    }
  }

  //   #bytes     #iterations    BW peak    BW average   MsgRate
  void add_row(const std::vector<std::string_view>& words) {
    const auto bytes = sys::parse_non_negative<std::int64_t>(words[0]);
    const auto peak = sys::parse_non_negative<double>(words[2]);
    const auto average = sys::parse_non_negative<double>(words[3]);
    if (bytes && peak && average && *average * to_mbps_ > average_mbps_ &&
        *average * to_mbps_ < documents::kMaxMbps) {
      bytes_ = *bytes;
      average_mbps_ = *average * to_mbps_;
      peak_mbps_ = std::min(*peak * to_mbps_, documents::kMaxMbps);
    }
  }

  std::string_view text_;
  const std::string& file_;
  bool is_local_ = true;
  bool is_latency_ = false;
  std::string local_;
  std::string remote_;
  double to_mbps_ = 0;
  std::int64_t bytes_ = 0;
  double average_mbps_ = 0;
  double peak_mbps_ = 0;
};

}  // namespace

Result<ToolFile> read_nccl_tests(std::string_view text, const std::string& file) {
  return NcclTestsReader(text, file).read();
}

Result<ToolFile> read_perftest(std::string_view text, const std::string& file) {
  return PerftestReader(text, file).read();
}

}  // namespace chokepoint::analysis
