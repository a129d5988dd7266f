#include "base/record/collector.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/record/opening.h"
#include "base/record/reader.h"
#include "base/record/runs.h"
#include "base/sys/descriptor.h"
#include "base/sys/file.h"
#include "base/sys/regular_file.h"

namespace chokepoint::record {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kPartMode = 0640;

// Identifies a record by its first session: boot, start and node.
std::string identity_of(const fs::path& file) {
  const Result<Reader> reader = Reader::open(file);
  if (!reader || reader->sessions().empty()) {
    return "";
  }
  const Session& first = reader->sessions().front();
  return fmt::format("{} {} {}", first.boot_id, first.start_wall_ns, first.node);
}

std::string part_name(const std::string& record, const std::string& source) {
  std::string name = fmt::format(".{}@{}.part", record, source);
  std::ranges::replace(name, '/', '-');
  return name;
}

void add_beginning(const fs::path& file, const std::string& name, std::vector<Beginning>& all) {
  std::error_code failed;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(file, failed));
  // What a sender made has no holes, and the hash of a file goes over its whole length.
  if (failed || bytes - sys::stored_bytes(file) > kMaxZeros) {
    return;
  }
  if (const auto hash = hash_of(file, bytes)) {
    all.push_back({.name = name, .bytes = bytes, .hash = *hash});
  }
}

}  // namespace

Collector::Collector(fs::path folder) : folder_(std::move(folder)) {
  const auto records = record_files(folder_);
  for (const fs::path& record : records ? *records : std::vector<fs::path>()) {
    add_beginning(record, record.filename(), whole_);
  }
}

std::vector<Beginning> Collector::beginnings(const std::string& source) const {
  std::vector<Beginning> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    const std::size_t at = name.find(".db@");
    if (at != std::string::npos && name == part_name(name.substr(1, at + 2), source)) {
      add_beginning(entry->path(), name.substr(1, at + 2), found);
    }
  }
  std::ranges::copy_if(whole_, std::back_inserter(found), [&](const Beginning& whole) {
    return std::ranges::find(found, whole.name, &Beginning::name) == found.end();
  });
  return found;
}

namespace {

// Where a record goes: the place of an older state of it, else the first name that is free.
fs::path place_for(const fs::path& folder, const std::string& name, const std::string& identity) {
  const std::string stem = fs::path(name).stem();
  fs::path place = folder / name;
  std::error_code failed;
  for (int number = 2; fs::exists(place, failed) && identity_of(place) != identity; ++number) {
    place = folder / fmt::format("{}-{}.db", stem, number);
  }
  return place;
}

Result<> write_all(const sys::Descriptor& file, std::string_view bytes) {
  return sys::write_whole(file, bytes) ? Result<>() : fail(from_errno(errno, "collect", "write"));
}

// With the first bytes of a record that is here whole, for the rest to follow.
Result<sys::Descriptor> begin_part(const fs::path& part, const fs::path& whole,
                                   std::int64_t bytes) {
  TRY(const bool is_begun, sys::check_regular("collect", part));
  TRY(sys::Descriptor file, sys::open_regular("collect", part, O_RDWR | O_CREAT, kPartMode));
  if (!is_begun && bytes > 0) {
    TRY(const sys::Descriptor source, sys::open_regular("collect", whole, O_RDONLY));
    TRY(sys::copy_stored(source, file, "collect", part));
  }
  if (ftruncate(file.get(), bytes) != 0 || lseek(file.get(), 0, SEEK_END) != bytes) {
    return fail(from_errno(errno, "collect", part.string()));
  }
  return file;
}

}  // namespace

Result<Collected> Collector::take(BundleReader& bundle, const BundleEntry& entry,
                                  const std::string& source) {
  const fs::path part = folder_ / part_name(entry.name, source);
  TRY(sys::want_room(folder_, entry.bytes - entry.from, "collect",
                     "make room, or collect into another folder with --out"));
  TRY(const sys::Descriptor file, begin_part(part, folder_ / entry.name, entry.from));
  TRY(bundle.take(entry, [&](std::string_view bytes) { return write_all(file, bytes); }));
  std::error_code failed;
  TRY(const std::string hash, hash_of(part, entry.bytes));
  if (hash != entry.hash) {
    fs::remove(part, failed);
    return fail(ErrorKind::Malformed, "", entry.name, "did not arrive as it was sent",
                "collect it again");
  }
  const std::string identity = identity_of(part);
  if (identity.empty()) {
    fs::remove(part, failed);
    return fail(ErrorKind::Malformed, "", entry.name, "is no record that this version can read");
  }
  const std::lock_guard guard(mutex_);
  const fs::path place = place_for(folder_, entry.name, identity);
  if (is_being_written(place)) {
    return fail(ErrorKind::Busy, "", place.string(), "is being written here",
                "collect into another folder with --out");
  }
  fs::rename(part, place, failed);
  if (failed) {
    return fail(from_errno(failed.value(), "collect", place.string()));
  }
  return Collected{.file = place.filename(),
                   .source = source,
                   .bytes = entry.bytes,
                   .sent_bytes = entry.bytes - entry.from,
                   .is_live = entry.is_live};
}

}  // namespace chokepoint::record
