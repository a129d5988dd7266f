#include "analysis/commands/capture_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <ranges>
#include <utility>

#include "base/record/reader.h"
#include "base/record/schema.h"
#include "base/sys/process.h"
#include "base/sys/regular_file.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "/proc/self/exe";
// A capture of a day, read at a tenth of the usual speed.
constexpr std::chrono::hours kMostTime{2};
constexpr std::size_t kMostOutput = std::size_t{1} << 20;
constexpr std::size_t kMostNameLength = 60;

using Magic = std::array<std::uint8_t, 4>;

// Both byte orders of pcap, with micro- and nanoseconds; pcapng; zstd.
constexpr std::array<Magic, 6> kMagics{{{0xa1, 0xb2, 0xc3, 0xd4},
                                        {0xd4, 0xc3, 0xb2, 0xa1},
                                        {0xa1, 0xb2, 0x3c, 0x4d},
                                        {0x4d, 0x3c, 0xb2, 0xa1},
                                        {0x0a, 0x0d, 0x0d, 0x0a},
                                        {0x28, 0xb5, 0x2f, 0xfd}}};
constexpr std::array<std::uint8_t, 2> kGzip{0x1f, 0x8b};

// As a node is called: "job" of "/tmp/job.pcap.zst".
std::string name_of_file(const std::string& file) {
  std::string name = fs::path(file).filename();
  name = name.substr(0, name.find('.', 1));
  std::ranges::replace_if(
      name, [](char c) { return (std::isalnum(static_cast<unsigned char>(c)) == 0) && c != '-'; },
      '-');
  name.resize(std::min(name.size(), kMostNameLength));
  return name.empty() ? "capture" : name;
}

// "chokepoint: capture: job.pcap: …" without what only repeats the command's name.
std::string reason_in(const std::string& told) {
  constexpr std::string_view kPrefix = "chokepoint: capture: ";
  std::string reason;
  for (std::size_t at = 0; at < told.size();) {
    const std::size_t end = std::min(told.find('\n', at), told.size());
    const std::string line = told.substr(at, end - at);
    if (line.starts_with(kPrefix)) {
      reason = line.substr(kPrefix.size());
    }
    at = end + 1;
  }
  return reason;
}

// Of a record in this folder.
bool has_flows(const fs::path& folder, const std::string& node) {
  Result<record::Run> run = record::open_run(folder);
  for (std::size_t place = 0; run && place < run->nodes.size(); ++place) {
    record::Reader& reader = run->nodes[place];
    if (reader.node() == node) {
      const auto flows = reader.all<record::Flow>();
      return flows && !flows->empty();
    }
  }
  return false;
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

bool is_capture_file(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) {
    return false;
  }
  Magic begin{};
  const Result<sys::Descriptor> file = sys::open_named("read", path);
  const Result<std::string> head =
      file ? sys::read_up_to(*file, begin.size(), "read", path) : std::unexpected(file.error());
  if (!head || head->size() < begin.size()) {
    return false;
  }
  std::ranges::transform(*head | std::views::take(begin.size()), begin.begin(),
                         [](char byte) { return static_cast<unsigned char>(byte); });
  return std::ranges::count(kMagics, begin) > 0 || (begin[0] == kGzip[0] && begin[1] == kGzip[1]);
}

Result<bool> are_captures(const std::vector<std::string>& words) {
  const auto captures = std::ranges::count_if(words, is_capture_file);
  if (captures == std::ssize(words)) {
    return captures > 0;
  }
  if (words.size() > 1) {
    return fail(ErrorKind::Usage, "", words[1], "only captures may be several",
                "give one run, or nothing but captures of the job");
  }
  return false;
}

Result<> take_tool_files(std::vector<std::string>& words, GivenFiles& given) {
  if (given.with.empty()) {
    return {};
  }
  std::vector<std::string> left;
  for (const std::string& word : words) {
    std::error_code failed;
    const fs::path path(word);
    const bool may_be = fs::is_regular_file(path, failed) && path.extension() != ".db";
    // A profiler compresses its traces, too: "trace.json.gz".
    const bool is_text = path.extension() == ".gz" && path.stem().extension() == ".json";
    TRY(const bool is_captured, may_be && !is_text ? are_captures({word}) : Result<bool>(!is_text));
    (is_captured ? left : given.with).push_back(word);
  }
  words = std::move(left);
  return {};
}

Result<CapturedRecords> CapturedRecords::read(const std::vector<std::string>& files) {
  TRY(sys::TemporaryFolder folder, sys::TemporaryFolder::make("chokepoint-capture"));
  CapturedRecords records(std::move(folder), record::shell_line(files));
  for (const std::string& file : files) {
    TRY(records.add(file));
  }
  return records;
}

// Of a file that is cut off, what was read until there is in the record.
Result<> CapturedRecords::add(const std::string& file) {
  std::string node = name_of_file(file);
  std::error_code failed;
  for (int number = 2; fs::exists(folder_.path() / (node + ".db"), failed); ++number) {
    node = fmt::format("{}-{}", name_of_file(file), number);
  }
  TRY(const sys::Captured told,
      sys::capture_output(
          {.command = {kProgram, "capture", "-r", fs::absolute(file, failed), "--record", folder(),
                       "--node", node, "--quiet", "--top", "0"},
           .environment = {sys::tie_to_this_process()}},
          kMostTime, kMostOutput));
  if (told.status.code == 0) {
    return {};
  }
  const std::string reason = reason_in(told.err);
  Error error = reason.empty() ? fail(ErrorKind::Malformed, "", file, "cannot be read").error()
                               : fail(ErrorKind::Malformed, "", reason, "").error();
  if (!has_flows(folder(), node)) {
    return fail(std::move(error));
  }
  troubles_.push_back(std::move(error));
  return {};
}

void CapturedRecords::name(DiagnosedRun& run) const {
  Diagnosis& diagnosis = run.inquiry.diagnosis;
  diagnosis.run = names_;
  const auto rename = [&](Verdict& verdict) {
    for (Advice& advice : verdict.advice) {
      replace_all(advice.command, folder(), names_);
    }
  };
  rename(diagnosis.verdict);
  std::ranges::for_each(diagnosis.others, rename);
  run.troubles.insert(run.troubles.begin(), troubles_.begin(), troubles_.end());
}

Result<DiagnosedRun> diagnose_captures(const CapturedRecords& records,
                                       const DiagnoseOptions& options, const GivenFiles& given) {
  TRY(DiagnosedRun run, diagnose_unconfirmed(records.folder(), options, given));
  records.name(run);
  return run;
}

}  // namespace chokepoint::analysis
