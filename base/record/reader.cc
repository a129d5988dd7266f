#include "base/record/reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/record/opening.h"
#include "base/record/runs.h"
#include "base/sys/regular_file.h"

namespace chokepoint::record {
namespace {

// Rows with text are refused by a writer long before they take as much.
constexpr std::int64_t kMaxRowBytes = 512 << 20;
// In memory a row takes several times what it takes in the file.
constexpr std::int64_t kFreeRowBytes = 16 << 20;
constexpr std::int64_t kRowBytesPerByte = 8;

// Clamped first: a span may end at the largest number, and the sum must not overflow.
std::int64_t moved(std::int64_t t_ns, std::int64_t by_ns) {
  return std::clamp(t_ns, -kMostNumber, kMostNumber) + by_ns;
}

}  // namespace

Result<TimeSearch> TimeSearch::prepare(Database& database, const std::string& table,
                                       const std::string& end) {
  const std::string select = "SELECT rowid," + end + " FROM " + table;
  TRY(TableShape shape, TableShape::read(database, table));
  TRY(Statement forward, database.prepare(select + " WHERE rowid>=? ORDER BY rowid"));
  TRY(Statement backward, database.prepare(select + " WHERE rowid<=? ORDER BY rowid DESC"));
  return TimeSearch(std::move(forward), std::move(backward), std::move(shape));
}

template <class F>
Result<TimeSearch::Row> TimeSearch::find(Statement& rows, std::int64_t id, std::int64_t otherwise,
                                         F&& pleases) {
  rows.bind(1, id);
  Row row;
  Result<bool> found = rows.step();
  for (; found && *found; found = rows.step()) {
    rows.read(0, row.id);
    rows.read(1, row.end_ns);
    if (pleases(row.end_ns)) {
      break;
    }
  }
  rows.reset();
  if (!found) {
    return fail(found.error());
  }
  return *found ? row : Row{.id = otherwise};
}

Result<TimeSearch::Row> TimeSearch::from(std::int64_t id) {
  return find(forward_, id, shape_.last() + 1, [](std::int64_t) { return true; });
}

Result<std::int64_t> TimeSearch::first_from(std::int64_t t_ns) {
  // Rows before `low` end too early, the one at `high` does not. Rowids have gaps.
  std::int64_t low = shape_.first();
  std::int64_t high = shape_.last() + 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    TRY(const Row row, from(middle));
    if (row.id > shape_.last() || row.end_ns >= t_ns) {
      high = middle;
    } else {
      low = row.id + 1;
    }
  }
  return low;
}

Result<TimeSearch::Reach> TimeSearch::reach(Span span) {
  TRY(const std::int64_t begin, first_from(moved(span.start_ns, -kOrderWindowNs)));
  TRY(const std::int64_t end, first_from(moved(span.end_ns, kOrderWindowNs + 1)));
  TRY(const Row first, find(forward_, begin, shape_.last() + 1,
                            [&](std::int64_t end_ns) { return end_ns >= span.start_ns; }));
  TRY(const Row last,
      find(backward_, end, 0, [&](std::int64_t end_ns) { return end_ns <= span.end_ns; }));
  return Reach{first.id, last.id};
}

Result<std::int64_t> TimeSearch::rows_before(std::int64_t t_ns) {
  TRY(const std::int64_t place, first_from(t_ns));
  return shape_.rows_before(place);
}

Result<std::optional<std::int64_t>> TimeSearch::detail_from() {
  using Moment = std::optional<std::int64_t>;
  if (!shape_.is_folded()) {
    return Moment();
  }
  TRY(const Row row, from(shape_.first_in_detail()));
  return row.id <= shape_.last() ? Moment(row.end_ns) : Moment();
}

namespace {

namespace fs = std::filesystem;

Result<> check_readable(const fs::path& path) {
  TRY(const bool is_there, sys::check_regular("record", path));
  if (!is_there) {
    return fail(from_errno(ENOENT, "record", path.string()));
  }
  if (::access(path.c_str(), R_OK) != 0) {
    Error denied = from_errno(errno, "record", path.string());
    denied.next_step = "read it as the user who wrote it";
    return fail(std::move(denied));
  }
  std::error_code missing;
  return fs::file_size(path, missing) > 0 ? Result<>()
                                          : fail(ErrorKind::Malformed, "record", path.string(),
                                                 "empty", "its writer never started writing");
}

}  // namespace

Reader::Reader(fs::path path, Database database, std::optional<PrivateFolder> copy,
               std::optional<Error> damage)
    : path_(std::move(path)),
      copy_(std::move(copy)),
      database_(std::move(database)),
      damage_(std::move(damage)) {}

Result<Reader> Reader::open(const fs::path& path) {
  TRY(check_readable(path));
  Result<Opened> opened = open_to_read(path);
  if (opened && opened->content == Content::Empty) {
    opened = fail(ErrorKind::Malformed, "record", "", "holds nothing yet",
                  "its writer never started writing, or its -wal is missing: then " +
                      std::string(kCopyAgain) + ", or use 'chokepoint collect'");
  }
  if (!opened) {
    Error error = opened.error();
    error.operation = "record";
    // What lies beside the record has a name of its own.
    if (!error.subject.starts_with(path.string())) {
      error.subject = path.string();
    }
    if (error.kind == ErrorKind::Malformed && error.next_step.empty()) {
      error.reason = "not a run record (" + error.reason + ")";
      error.next_step = "leave only run records in the folder";
    }
    return fail(std::move(error));
  }
  Reader reader(path, std::move(opened->database), std::move(opened->copy),
                std::move(opened->damage));
  const Result<> loaded = reader.load();
  return loaded || reader.damage_ ? Result<Reader>(std::move(reader)) : fail(loaded.error());
}

Result<> Reader::load() {
  node_ = path_.stem().string();
  Result<std::vector<Session>> sessions = all<Session>();
  Result<std::vector<ClockAnchor>> anchors = all<ClockAnchor>();
  if (sessions && !sessions->empty()) {
    node_ = sessions->back().node;
    sessions_ = std::move(*sessions);
  }
  if (anchors) {
    anchors_ = std::move(*anchors);
    std::ranges::sort(anchors_, {}, &ClockAnchor::t_ns);
  }
  return sessions && anchors ? Result<>() : fail(sessions ? anchors.error() : sessions.error());
}

std::int64_t Reader::wall_ns(std::int64_t t_ns) const {
  if (anchors_.empty()) {
    return 0;
  }
  auto anchor = std::ranges::upper_bound(anchors_, t_ns, {}, &ClockAnchor::t_ns);
  anchor -= anchor == anchors_.begin() ? 0 : 1;
  return anchor->wall_ns + (t_ns - anchor->t_ns);
}

Result<Snapshot> Reader::snapshot() {
  const Result<> begun = database_.run("BEGIN");
  return begun ? Result<Snapshot>(Snapshot(database_)) : failed(begun.error());
}

std::int64_t Reader::most_bytes_in_memory() const {
  return std::min(kMaxRowBytes, kFreeRowBytes + kRowBytesPerByte * database_.bytes());
}

Error Reader::too_large(const std::string& table) {
  return fail(ErrorKind::Malformed, "record", "",
              "the rows of the table '" + table + "' are larger than those of any record")
      .error();
}

std::unexpected<Error> Reader::failed(Error error) const {
  error.subject = path_.string();
  // Whatever SQLite calls what it meets behind a cut: it is the cut.
  error.kind = damage_ ? ErrorKind::Malformed : error.kind;
  if (error.kind == ErrorKind::Malformed && error.next_step.empty()) {
    error.next_step = kCopyAgain;
  }
  return fail(std::move(error));
}

namespace fs = std::filesystem;

Result<Run> open_run(const fs::path& folder) {
  TRY(const std::vector<fs::path> files, record_files(folder));
  if (files.empty()) {
    return fail(ErrorKind::NotFound, "record", folder.string(), "holds no run record (*.db)",
                "give the folder that --out named; 'chokepoint runs' lists those here");
  }
  Run run;
  for (const fs::path& file : files) {
    Result<Reader> reader = Reader::open(file);
    if (reader) {
      run.nodes.push_back(std::move(*reader));
    } else {
      run.unreadable.push_back(reader.error());
    }
  }
  std::ranges::sort(run.nodes, {},
                    [](const Reader& node) -> const std::string& { return node.node(); });
  return run;
}

}  // namespace chokepoint::record
