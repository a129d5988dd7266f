// chokepoint.probe.storage/1: the speed of the storage below a folder for a training job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/documents/values.h"
#include "base/host/mounts.h"
#include "base/json/fields.h"

namespace chokepoint {

namespace documents {

struct RandomReads {
  std::size_t threads = 1;
  double per_s = 0;
  math::Distribution latency_ms = {};
};

struct ProbeStorage {
  std::string folder = {};
  std::optional<host::Mount> mount = {};
  std::optional<host::Disk> disk = {};
  std::uint64_t file_bytes = 0;  // that were written
  std::optional<double> write_mb_per_s = {};
  std::optional<math::Distribution> sync_ms = {};
  std::optional<double> read_mb_per_s = {};
  bool read_cold = false;      // nothing of it was in the page cache
  bool random_direct = false;  // random reads went past the page cache
  std::vector<RandomReads> random_reads = {};
  std::vector<std::string> problems = {};
  bool interrupted = false;

  // Of storage itself, not of the page cache.
  std::optional<double> cold_read_mb_per_s() const {
    return read_cold ? read_mb_per_s : std::nullopt;
  }
};

}  // namespace documents

template <>
struct Fields<host::Mount> {
  using M = host::Mount;
  static constexpr FieldList kList{
      field("point", &M::point), field("type", &M::type, "type of the file system"),
      field("source", &M::source, "device, or export of another host"),
      computed<M>(
          "remote", [](const M& mount) { return mount.is_remote(); },
          "whether the storage is on another host"),
      computed<M>(
          "in_memory", [](const M& mount) { return mount.is_in_memory(); },
          "whether it is in memory and not on a disk")};
};

template <>
struct Fields<host::Disk> {
  using D = host::Disk;
  static constexpr FieldList kList{field("name", &D::name),
                                   field("model", &D::model).null_if_empty(),
                                   field("rotational", &D::is_rotational)};
};

template <>
struct Fields<documents::RandomReads> {
  using R = documents::RandomReads;
  static constexpr FieldList kList{
      field("threads", &R::threads, "threads that read at the same time").at_least(1),
      field("per_s", &R::per_s, "reads of 4 KiB per second, of all threads together").at_least(0),
      field("latency_ms", &R::latency_ms, "latency of a read").at_least(0)};
};

template <>
struct Fields<documents::ProbeStorage> {
  using P = documents::ProbeStorage;
  static constexpr std::string_view kSchema = "chokepoint.probe.storage/1";
  static constexpr const char* kCommand = "probe storage";
  static constexpr FieldList kList{
      field("folder", &P::folder, "folder, with links resolved"),
      field("mount", &P::mount, "mount point; null where it is not known"),
      field("disk", &P::disk, "disk; null where the folder is not on a disk of this host"),
      field("file_bytes", &P::file_bytes, "size of the file that was written"),
      field("write_mb_per_s", &P::write_mb_per_s,
            "write rate, 10^6 bytes per second; null where it failed")
          .at_least(0),
      field("sync_ms", &P::sync_ms, "latency of a small synced write; null where it failed")
          .at_least(0),
      field("read_mb_per_s", &P::read_mb_per_s,
            "read rate, 10^6 bytes per second; null where it failed")
          .at_least(0),
      field("read_cold", &P::read_cold,
            "nothing of the file was in the page cache before it was read"),
      field("random_direct", &P::random_direct, "random reads bypassed the page cache"),
      field("random_reads", &P::random_reads, "results by number of reading threads"),
      field("problems", &P::problems, "what failed, one line each"),
      field("interrupted", &P::interrupted, "ended before all was measured")};
};

}  // namespace chokepoint
