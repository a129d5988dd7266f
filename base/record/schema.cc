#include "base/record/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace chokepoint::record {
namespace {

constexpr const char* kSchema1 = R"sql(
CREATE TABLE session(
  id INTEGER PRIMARY KEY, role TEXT, command TEXT, node TEXT, host TEXT, boot_id TEXT, kernel TEXT,
  program TEXT, start_ns INTEGER, start_wall_ns INTEGER, seen_ns INTEGER, end_ns INTEGER,
  exit_status INTEGER, shift_ns INTEGER);
CREATE TABLE label(session INTEGER, key TEXT, value TEXT, PRIMARY KEY(session, key)) WITHOUT ROWID;
CREATE TABLE clock_anchor(session INTEGER, t_ns INTEGER, wall_ns INTEGER);
CREATE TABLE clock_offset(
  session INTEGER, t_ns INTEGER, peer TEXT, offset_ns INTEGER, error_ns INTEGER,
  round_trip_ns INTEGER);
CREATE TABLE fact(
  session INTEGER, category TEXT, subject TEXT, key TEXT, value TEXT, source TEXT);
CREATE TABLE probe(
  id INTEGER PRIMARY KEY, session INTEGER, t_ns INTEGER, kind TEXT, peer TEXT, direction TEXT,
  schema TEXT, document TEXT);
CREATE TABLE process(
  id INTEGER PRIMARY KEY, session INTEGER, pid INTEGER, parent_pid INTEGER, command TEXT,
  rank INTEGER, local_rank INTEGER, world_size INTEGER, start_ns INTEGER, end_ns INTEGER,
  exit_status INTEGER);
CREATE TABLE flow(
  id INTEGER PRIMARY KEY, session INTEGER, protocol TEXT, a_address TEXT, a_port INTEGER,
  b_address TEXT, b_port INTEGER, local_end INTEGER, process INTEGER, interface TEXT,
  start_ns INTEGER, end_ns INTEGER, handshake_seen INTEGER);
CREATE TABLE flow_total(
  flow INTEGER, direction INTEGER, packets INTEGER, bytes INTEGER, payload_bytes INTEGER,
  retransmitted_packets INTEGER, retransmitted_bytes INTEGER, fast_retransmissions INTEGER,
  timeout_retransmissions INTEGER, spurious_retransmissions INTEGER, out_of_order INTEGER,
  duplicate_acks INTEGER, zero_windows INTEGER, window_full INTEGER, congestion_marks INTEGER,
  max_in_flight_bytes INTEGER, max_window_bytes INTEGER, mss_bytes INTEGER, window_scale INTEGER,
  rtt_ms TEXT, PRIMARY KEY(flow, direction)) WITHOUT ROWID;
CREATE TABLE series(
  id INTEGER PRIMARY KEY, session INTEGER, name TEXT, subject TEXT, unit TEXT, kind INTEGER,
  source TEXT);
CREATE TABLE event(
  id INTEGER PRIMARY KEY, session INTEGER, t_ns INTEGER, kind TEXT, subject TEXT, detail TEXT);
CREATE TABLE flow_sample(
  t_ns INTEGER, bin_ns INTEGER, merged INTEGER, flow INTEGER, direction INTEGER, packets INTEGER,
  bytes INTEGER, payload_bytes INTEGER, retransmitted_packets INTEGER, retransmitted_bytes INTEGER,
  out_of_order INTEGER, duplicate_acks INTEGER, zero_windows INTEGER, window_full INTEGER,
  congestion_marks INTEGER, rtt_us INTEGER, min_rtt_us INTEGER, max_in_flight_bytes INTEGER,
  window_bytes INTEGER, min_window_bytes INTEGER);
CREATE TABLE socket_sample(
  t_ns INTEGER, bin_ns INTEGER, merged INTEGER, flow INTEGER, direction INTEGER, state INTEGER,
  congestion_state INTEGER, mss_bytes INTEGER, cwnd_packets INTEGER, ssthresh_packets INTEGER,
  rtt_us INTEGER, rtt_variance_us INTEGER, min_rtt_us INTEGER, receive_rtt_us INTEGER,
  timeout_us INTEGER, bytes_sent INTEGER, bytes_acked INTEGER, bytes_received INTEGER,
  bytes_retransmitted INTEGER, retransmits INTEGER, lost_packets INTEGER, unacked_packets INTEGER,
  reordering INTEGER, reorder_seen INTEGER, dsack_duplicates INTEGER, delivered INTEGER,
  delivered_ce INTEGER, delivery_bytes_per_s INTEGER, pacing_bytes_per_s INTEGER,
  app_limited INTEGER, busy_us INTEGER, receive_window_limited_us INTEGER,
  send_buffer_limited_us INTEGER, unsent_bytes INTEGER, send_queue_bytes INTEGER,
  receive_queue_bytes INTEGER, send_window_bytes INTEGER, receive_space_bytes INTEGER);
CREATE TABLE counter_sample(
  t_ns INTEGER, bin_ns INTEGER, merged INTEGER, series INTEGER, value REAL, peak_per_s REAL);
CREATE TABLE gauge_sample(
  t_ns INTEGER, bin_ns INTEGER, merged INTEGER, series INTEGER, value REAL, peak REAL);
CREATE TABLE step(
  start_ns INTEGER, end_ns INTEGER, merged INTEGER, number INTEGER, rank INTEGER, source INTEGER,
  samples INTEGER, busy_ns INTEGER, longest_ns INTEGER);
CREATE TABLE collective(
  start_ns INTEGER, end_ns INTEGER, merged INTEGER, number INTEGER, kind INTEGER, source INTEGER,
  rank INTEGER, communicator INTEGER, bytes INTEGER, busy_ns INTEGER, longest_ns INTEGER);
CREATE TABLE fold(
  name TEXT, level INTEGER, upto INTEGER, rows INTEGER, PRIMARY KEY(name, level)) WITHOUT ROWID;
)sql";

// Who came when to a collective, and packets by which clocks are compared.
constexpr const char* kSchema2 = R"sql(
ALTER TABLE collective ADD COLUMN own_ready_ns INTEGER;
ALTER TABLE collective ADD COLUMN peer_ready_ns INTEGER;
ALTER TABLE collective ADD COLUMN first_data_ns INTEGER;
ALTER TABLE collective ADD COLUMN last_data_ns INTEGER;
ALTER TABLE collective ADD COLUMN waited_ns INTEGER;
ALTER TABLE collective ADD COLUMN kept_waiting_ns INTEGER;
ALTER TABLE collective ADD COLUMN flow INTEGER;
CREATE TABLE flow_mark(
  t_ns INTEGER, bin_ns INTEGER, merged INTEGER, flow INTEGER, direction INTEGER,
  sequence INTEGER);
)sql";

// What NCCL reports of a collective.
constexpr const char* kSchema3 = R"sql(
ALTER TABLE collective ADD COLUMN algorithm INTEGER;
ALTER TABLE collective ADD COLUMN protocol INTEGER;
ALTER TABLE collective ADD COLUMN channels INTEGER;
ALTER TABLE collective ADD COLUMN peer INTEGER;
ALTER TABLE collective ADD COLUMN enqueued_ns INTEGER;
ALTER TABLE collective ADD COLUMN gpu_wait_ns INTEGER;
ALTER TABLE collective ADD COLUMN network_wait_ns INTEGER;
ALTER TABLE collective ADD COLUMN peer_wait_ns INTEGER;
ALTER TABLE collective ADD COLUMN flush_wait_ns INTEGER;
)sql";

// What a connection carries, and whether it is the job's.
constexpr const char* kSchema4 = R"sql(
ALTER TABLE flow ADD COLUMN content TEXT;
ALTER TABLE flow ADD COLUMN job INTEGER;
)sql";

}  // namespace

Migrations migrations() {
  static const std::array<std::string, kSchemaVersion> steps{kSchema1, kSchema2, kSchema3,
                                                             kSchema4};
  return steps;
}

Result<Content> identify(Database& database, std::int64_t newest) {
  TRY(const std::int64_t application, database.number("PRAGMA application_id"));
  TRY(const std::int64_t version, database.number("PRAGMA user_version"));
  TRY(const std::int64_t tables, database.number("SELECT count(*) FROM sqlite_schema"));
  if (tables == 0 && application == 0) {
    return Content::Empty;
  }
  if (application != kApplicationId) {
    return fail(ErrorKind::Malformed, "record", "", "an SQLite file, but not of chokepoint",
                "leave only run records in the folder");
  }
  if (version > newest) {
    return fail(ErrorKind::Newer, "record", "",
                fmt::format("schema {}, this version knows up to {}", version, newest),
                "read it with the version of chokepoint that wrote it, or a later one");
  }
  return version == newest ? Content::Current : Content::Older;
}

namespace {

// A table's columns as SQLite lists them: name, type, default, place in the key, whether generated.
struct TableColumns {
  std::string table;
  std::string columns;
};
using Columns = std::vector<TableColumns>;

Result<std::string> columns_of(Database& database, const std::string& table) {
  TRY(Statement rows, database.prepare("PRAGMA table_xinfo(" + table + ")"));
  std::string columns;
  TRY(rows.each([&] {
    std::array<std::string, 6> texts;
    for (std::size_t at = 0; at < texts.size(); ++at) {
      rows.read(static_cast<int>(at) + 1, texts.at(at));
      columns += texts.at(at) + ' ';
    }
    columns += '\n';
  }));
  return columns;
}

Result<Columns> declared_columns(std::int64_t version) {
  TRY(Database database, Database::in_memory());
  TRY(migrate(database, migrations().first(static_cast<std::size_t>(version))));
  TRY(Statement tables, database.prepare("SELECT name FROM sqlite_schema WHERE type='table'"));
  Columns declared;
  TRY(tables.each([&] { tables.read(0, declared.emplace_back().table); }));
  for (TableColumns& each : declared) {
    TRY(each.columns, columns_of(database, each.table));
  }
  return declared;
}

// Made once a process, each where a record of that schema is met.
template <std::int64_t Version>
const Result<Columns>& columns_of_schema() {
  static const Result<Columns> columns = declared_columns(Version);
  return columns;
}

const Result<Columns>& columns_of_version(std::int64_t version) {
  constexpr auto kAll = []<std::int64_t... Before>(std::integer_sequence<std::int64_t, Before...>) {
    return std::array{&columns_of_schema<Before + 1>...};
  }(std::make_integer_sequence<std::int64_t, kSchemaVersion>());
  return kAll.at(static_cast<std::size_t>(version - 1))();
}

std::unexpected<Error> not_a_record(const std::string& reason) {
  return fail(ErrorKind::Malformed, "record", "", reason,
              "do not trust this file: chokepoint does not write such a one");
}

// A name from the file is shown only where it cannot harm a terminal.
std::string with_name(const std::string& what, const std::string& name) {
  const bool is_plain_name =
      !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](unsigned char letter) {
        return std::isalnum(letter) != 0 || letter == '_';
      });
  return is_plain_name ? what + " '" + name + "'" : what;
}

bool makes_a_table(const std::string& sql) {
  constexpr std::string_view kStart = "CREATE TABLE";
  return sql.size() > kStart.size() && std::ranges::equal(sql.substr(0, kStart.size()), kStart,
                                                          [](unsigned char left, char right) {
                                                            return std::toupper(left) == right;
                                                          });
}

// What SQLite makes of an entry is decided by its SQL, so that is looked at, too.
Result<> check_entry(const std::string& type, const std::string& name, const std::string& sql) {
  if (type == "view" || type == "trigger") {
    return not_a_record(with_name("has the " + type, name) + "; a run record has tables only");
  }
  if (type == "table") {
    return makes_a_table(sql) ? Result<>()
                              : not_a_record(with_name("has the virtual table", name) +
                                             "; a run record has tables only");
  }
  return type == "index" ? Result<>() : not_a_record("has a schema that makes no sense");
}

}  // namespace

Result<> check_schema(Database& database, std::int64_t newest) {
  TRY(const std::int64_t version, database.number("PRAGMA user_version"));
  if (version < 1 || version > std::min(newest, kSchemaVersion)) {
    return not_a_record(fmt::format("has the schema number {}, which no record has", version));
  }
  TRY(Statement entries, database.prepare("SELECT type,name,sql FROM sqlite_schema"));
  Result<> fine;
  TRY(entries.each([&] {
    std::array<std::string, 3> texts;
    for (std::size_t at = 0; at < texts.size(); ++at) {
      entries.read(static_cast<int>(at), texts.at(at));
    }
    fine = fine ? check_entry(texts[0], texts[1], texts[2]) : fine;
  }));
  TRY(fine);
  const Result<Columns>& declared = columns_of_version(version);
  if (!declared) {
    return fail(declared.error());
  }
  for (const TableColumns& each : *declared) {
    TRY(const std::string columns, columns_of(database, each.table));
    if (columns != each.columns) {
      return not_a_record(columns.empty()
                              ? fmt::format("has no table '{}'", each.table)
                              : fmt::format("the table '{}' has other columns than schema {}",
                                            each.table, version));
    }
  }
  return {};
}

Result<> migrate(Database& database, Migrations steps) {
  const auto newest = static_cast<std::int64_t>(steps.size());
  TRY(const Content content, identify(database, newest));
  if (content == Content::Current) {
    return {};
  }
  const std::int64_t version = database.number("PRAGMA user_version").value_or(0);
  std::string sql = "BEGIN IMMEDIATE;";
  for (const std::string& step : steps.subspan(static_cast<std::size_t>(version))) {
    sql += step;
  }
  sql += fmt::format("PRAGMA application_id={};PRAGMA user_version={};COMMIT;", kApplicationId,
                     newest);
  const Result<> done = database.run(sql);
  if (!done) {
    database.rollback();
  }
  return done;
}

namespace {

bool is_plain(const std::string& argument) {
  return !argument.empty() && std::ranges::all_of(argument, [](unsigned char letter) {
    return std::isalnum(letter) != 0 ||
           std::string("_-./=:,@%+").find(static_cast<char>(letter)) != std::string::npos;
  });
}

std::string quoted(const std::string& argument) {
  if (is_plain(argument)) {
    return argument;
  }
  std::string text = "'";
  for (const char letter : argument) {
    text += letter == '\'' ? "'\\''" : std::string(1, letter);
  }
  return text + "'";
}

// The monotonic clock begins anew with each boot: the difference follows from the wall clock, and
// no time is given twice even where that was set back.
std::int64_t shift_of(const Session& session, const std::vector<Session>& before) {
  if (before.empty()) {
    return 0;
  }
  const Session& last = before.back();
  if (!session.boot_id.empty() && session.boot_id == last.boot_id) {
    return last.shift_ns;
  }
  const std::int64_t by_wall =
      last.start_ns + (session.start_wall_ns - last.start_wall_ns) - session.start_ns;
  const std::int64_t least = last.seen_ns + 1 - session.start_ns;
  return std::max(by_wall, least);
}

}  // namespace

std::string shell_line(std::span<const std::string> arguments) {
  std::string line;
  for (const std::string& argument : arguments) {
    line += (line.empty() ? "" : " ") + quoted(argument);
  }
  return line;
}

Session begin_session(Session session, const std::vector<Session>& before, const sys::Root& root,
                      const sys::Clock& clock) {
  session.host = root.text("/proc/sys/kernel/hostname").value_or("");
  session.kernel = root.text("/proc/sys/kernel/osrelease").value_or("");
  session.boot_id = root.text("/proc/sys/kernel/random/boot_id").value_or("");
  session.start_ns = clock.monotonic_ns();
  session.start_wall_ns = clock.wall_ns();
  session.shift_ns = shift_of(session, before);
  session.start_ns += session.shift_ns;
  session.seen_ns = session.start_ns;
  return session;
}

}  // namespace chokepoint::record
