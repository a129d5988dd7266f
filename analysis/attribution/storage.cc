#include "analysis/attribution/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/attribution/hosts.h"
#include "base/documents/document.h"
#include "base/documents/probe_storage.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

// Of a disk's bytes; from this on the disk counts as the job's alone.
constexpr double kMaxShareOfJob = 0.8;
constexpr double kMinShareReadAgain = 0.5;  // of the bytes read: had been in the page cache before
constexpr double kMaxPauseInWriteNs = 1e9;  // a longer pause parts two writes
constexpr double kMinWritingPercent = 50;   // of a reading's time, that the rank waited to write

double seconds_of(const Span& span) { return static_cast<double>(span.length_ns()) / 1e9; }

// The spans in which a rank waited to write; a short pause is part of one write.
Spans writes_in(const SeriesData& waits) {
  Spans writes;
  for (const Reading& reading : waits.readings) {
    const Span span{reading.t_ns - reading.bin_ns, reading.t_ns};
    if (reading.value < kMinWritingPercent) {
      continue;
    }
    if (!writes.empty() &&
        static_cast<double>(span.start_ns - writes.back().end_ns) < kMaxPauseInWriteNs) {
      writes.back().end_ns = span.end_ns;
    } else {
      writes.push_back(span);
    }
  }
  return writes;
}

class Storage {
 public:
  Storage(const DiagnosisInput& input, std::size_t node, const std::string& mount)
      : node_(input.run.nodes[node]),
        span_(input.span_of(node)),
        mount_(mount),
        disk_(fact_text(node_, "mount", mount, "disk")),
        is_nfs_(fact_text(node_, "mount", mount, "type").starts_with("nfs")) {}

  double read_bytes() const { return moved(record::kNfsReadBytes, record::kDiskReadBytes); }
  double read_again_bytes() const { return grown(node_, record::kRefaults, "", span_); }

  void add_reading(std::vector<Evidence>& evidence) const {
    add_rate(evidence, "read from", read_bytes(),
             is_nfs_ ? record::kNfsReadBytes : record::kDiskReadBytes, seconds_of(span_));
    add_load(evidence, read_bytes());
    add_possible(evidence, &documents::ProbeStorage::cold_read_mb_per_s, "it can read");
    if (read_bytes() > 0 && read_again_bytes() > 0) {
      evidence.push_back({"of what was read, dropped by the page cache shortly before",
                          std::min(100.0, 100 * read_again_bytes() / read_bytes()), "%",
                          source_of(record::kRefaults)});
    }
  }

  // While a rank waited to write.
  void add_writing(const SeriesData* waits, std::vector<Evidence>& evidence) const {
    const Spans writes = waits == nullptr ? Spans() : writes_in(*waits);
    double seconds = 0;
    double bytes = 0;
    double of_job = 0;
    const std::string_view series = is_nfs_ ? record::kNfsWrittenBytes : record::kDiskWrittenBytes;
    for (const Span& span : writes) {
      seconds += seconds_of(span);
      bytes += grown(node_, series, is_nfs_ ? mount_ : disk_, span);
      of_job += grown(node_, record::kJobWrittenBytes, "", span);
    }
    if (seconds > 0) {
      evidence.push_back({"it waited so many times", static_cast<double>(writes.size()), "",
                          source_of(record::kInputWriting)});
      evidence.push_back({"each time for", seconds / static_cast<double>(writes.size()), "s",
                          source_of(record::kInputWriting)});
      add_rate(evidence, "written meanwhile to", bytes, series, seconds);
      add_share(evidence, record::kJobWrittenBytes, of_job, bytes);
    }
    add_possible(evidence, &documents::ProbeStorage::write_mb_per_s, "it can write");
  }

 private:
  double moved(std::string_view by_nfs, std::string_view by_disk) const {
    return is_nfs_         ? grown(node_, by_nfs, mount_, span_)
           : disk_.empty() ? 0
                           : grown(node_, by_disk, disk_, span_);
  }
  std::string source_of(std::string_view series) const {
    return fmt::format("{} of {}", series, node_.name);
  }

  void add_rate(std::vector<Evidence>& evidence, std::string_view what, double bytes,
                std::string_view series, double seconds) const {
    if (bytes > 0 && seconds > 0) {
      evidence.push_back({fmt::format("{} {}", what, is_nfs_ ? "the server" : disk_),
                          bytes / 1e6 / seconds, "MB/s", source_of(series)});
    }
  }

  // How busy the disk was, and for which programs; how soon the server replied.
  void add_load(std::vector<Evidence>& evidence, double bytes) const {
    if (is_nfs_) {
      const double requests = grown(node_, record::kNfsRequests, mount_, span_);
      const double resent = grown(node_, record::kNfsResent, mount_, span_);
      if (requests > 0) {
        evidence.push_back({"the server answered a request within",
                            grown(node_, record::kNfsRoundTrips, mount_, span_) / 1e6 / requests,
                            "ms", source_of(record::kNfsRoundTrips)});
      }
      if (resent > 0) {
        evidence.push_back(
            {"requests that were sent again", resent, "", source_of(record::kNfsResent)});
      }
    } else if (!disk_.empty() && bytes > 0) {
      const double busy_s = grown(node_, record::kDiskBusy, disk_, span_) / 1e9;
      evidence.push_back({fmt::format("{} {}", disk_, kAtWork),
                          std::min(100.0, 100 * busy_s / seconds_of(span_)), "%",
                          source_of(record::kDiskBusy)});
      add_share(evidence, record::kJobReadBytes, grown(node_, record::kJobReadBytes, "", span_),
                bytes);
    }
  }

  // Of a disk's bytes, where most are others'.
  void add_share(std::vector<Evidence>& evidence, std::string_view by_job, double of_job,
                 double bytes) const {
    if (!is_nfs_ && bytes > 0 && node_.find(by_job, "") != nullptr &&
        of_job < kMaxShareOfJob * bytes) {
      evidence.push_back(
          {"of these bytes, those of the job", 100 * of_job / bytes, "%", source_of(by_job)});
    }
  }

  // By the newest probe there.
  template <class Which>
  void add_possible(std::vector<Evidence>& evidence, Which which, const char* what) const {
    std::optional<double> most;
    std::int64_t newest_ns = 0;
    for (const record::Probe& each : node_.probes) {
      if (each.kind != "storage" || each.t_ns < newest_ns) {
        continue;
      }
      const auto probe = documents::read_text<documents::ProbeStorage>(each.document);
      const bool is_of_mount = probe && probe->mount && probe->mount->point == mount_;
      if (const auto rate = is_of_mount ? std::invoke(which, *probe) : std::nullopt) {
        newest_ns = each.t_ns;
        most = rate;
      }
    }
    if (most) {
      evidence.push_back({what, most, "MB/s", "probe storage on " + node_.name});
    }
  }

  const NodeData& node_;
  Span span_;
  std::string mount_;
  std::string disk_;
  bool is_nfs_;
};

}  // namespace

void add_reading(const DiagnosisInput& input, std::size_t node, const std::string& mount,
                 std::vector<Evidence>& evidence) {
  Storage(input, node, mount).add_reading(evidence);
}

void add_writing(const DiagnosisInput& input, std::size_t node, const std::string& mount,
                 const SeriesData* waits, std::vector<Evidence>& evidence) {
  Storage(input, node, mount).add_writing(waits, evidence);
}

bool is_read_again(const DiagnosisInput& input, std::size_t node, const std::string& mount) {
  const Storage storage(input, node, mount);
  return storage.read_bytes() > 0 &&
         storage.read_again_bytes() >= kMinShareReadAgain * storage.read_bytes();
}

}  // namespace chokepoint::analysis
