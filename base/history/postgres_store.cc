#include "base/history/postgres_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/cli/text.h"
#include "base/history/stored.h"

namespace chokepoint::history {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kSchemaVersion = 1;

constexpr milliseconds kMaxReading{60'000};
constexpr milliseconds kMaxPruning{600'000};
constexpr milliseconds kMaxMaking{10'000};

// A server that takes fewer than 5,000 rows a second is taken for one that has stopped.
milliseconds max_adding(std::size_t rows) {
  constexpr milliseconds kLeast{3000};
  constexpr std::size_t kRowsEachMs = 5;
  return kLeast + milliseconds(rows / kRowsEachMs);
}

// PostgreSQL's text form of an array: "{1,NULL,"a \"b\""}".
class ArrayText {
 public:
  void add(std::string_view text) {
    begin_element();
    text_ += '"';
    cli::each_letter(text, [this](std::string_view letter) {
      if (letter == "\"" || letter == "\\") {
        text_ += '\\';
      }
      text_ += letter == std::string_view("\0", 1) ? cli::kNoLetter : letter;
    });
    text_ += '"';
  }
  void add(std::int64_t number) {
    begin_element();
    text_ += fmt::format("{}", number);
  }
  void add(double number) {
    begin_element();
    text_ += std::isfinite(number) ? fmt::format("{}", number) : "NULL";
  }
  std::string text() && { return std::move(text_) + "}"; }

 private:
  void begin_element() { text_ += text_.size() > 1 ? "," : ""; }

  std::string text_ = "{";
};

// The arguments of chokepoint.add().
class AddedArrays {
 public:
  void add(const Row& row) {
    const Series& series = row.series;
    const Measured& measured = row.measured;
    kinds_.add(std::string_view(name_of(series.subject.kind)));
    hosts_.add(bounded(series.subject.host));
    names_.add(bounded(series.subject.name));
    peers_.add(bounded(series.subject.to));
    metrics_.add(bounded(series.metric));
    asked_.add(bounded(series.setting));
    units_.add(bounded(series.unit));
    betters_.add(static_cast<std::int64_t>(series.better));
    times_.add(measured.wall_ns);
    figures_.add(measured.value);
    spreads_.add(measured.spread.value_or(NAN));
    counts_.add(measured.count);
    origins_.add(place_of_origin(measured));
  }
  void add(const HostState& state) {
    seen_hosts_.add(bounded(state.host));
    seen_shapes_.add(shape_of(state.settings));
    seen_times_.add(state.wall_ns);
    seen_settings_.add(std::string_view(settings_text(state.settings)));
  }
  PostgresConnection::Values values() && {
    PostgresConnection::Values all;
    for (ArrayText* each :
         {&kinds_, &hosts_, &names_, &peers_, &metrics_, &asked_, &units_, &betters_, &times_,
          &figures_, &spreads_, &counts_, &origins_, &sources_, &programs_, &seen_hosts_,
          &seen_shapes_, &seen_times_, &seen_settings_}) {
      all.push_back(std::move(*each).text());
    }
    return all;
  }

 private:
  std::int64_t place_of_origin(const Measured& measured) {
    const auto [place, is_new] = places_.try_emplace(std::pair(measured.source, measured.program),
                                                     static_cast<std::int64_t>(places_.size()) + 1);
    if (is_new) {
      sources_.add(bounded(measured.source));
      programs_.add(bounded(measured.program));
    }
    return place->second;
  }

  ArrayText kinds_, hosts_, names_, peers_, metrics_, asked_, units_, betters_, times_, figures_,
      spreads_, counts_, origins_, sources_, programs_, seen_hosts_, seen_shapes_, seen_times_,
      seen_settings_;
  std::map<std::pair<std::string, std::string>, std::int64_t> places_;
};

Error of_server(Error error, const std::string& name) {
  error.subject = name;
  return error;
}

// Every subject whose first letters are those that are wanted: is_wanted() has the last word.
constexpr const char* kOfSubject =
    " AND (left(subject, 500) = left($2, 500) OR (left(subject, 500) >= left($2, 499) || ' ' AND "
    "left(subject, 500) < left($2, 499) || '!'))";

// What is wanted is sent as valid text, as rows were.
std::string clean(const std::string& text) {
  std::string all = cli::valid_utf8(text);
  std::erase(all, '\0');
  return all;
}

// Of all series or of those in $4: what is since $1, and of each the newest $3 rows before, none
// older than $2.
std::string sql_of_rows(bool is_part) {
  return fmt::format(
      "SELECT series, wall_ns, value, spread, count, origin FROM chokepoint.measured WHERE "
      "wall_ns >= $1{} UNION ALL "
      "SELECT earlier.* FROM chokepoint.series AS known CROSS JOIN LATERAL ("
      "SELECT series, wall_ns, value, spread, count, origin FROM chokepoint.measured WHERE "
      "series = known.id AND wall_ns < $1 AND wall_ns >= $2 ORDER BY wall_ns DESC LIMIT $3"
      ") AS earlier WHERE $3 > 0{}",
      is_part ? " AND series = ANY($4::integer[])" : "",
      is_part ? " AND known.id = ANY($4::integer[])" : "");
}

}  // namespace

struct PostgresStore::Found {
  bool has_history = false;
  bool may_make = false;
  std::int64_t version = 0;
};

Result<std::unique_ptr<PostgresStore>> PostgresStore::open(const std::string& url) {
  return connect(url, true);
}

Result<std::unique_ptr<PostgresStore>> PostgresStore::open_to_read(const std::string& url) {
  return connect(url, false);
}

Result<std::unique_ptr<PostgresStore>> PostgresStore::connect(const std::string& url,
                                                              bool may_make) {
  TRY(PostgresConnection connection,
      PostgresConnection::connect(url, net::Deadline::of(kMaxConnecting)));
  std::unique_ptr<PostgresStore> store(new PostgresStore(std::move(connection)));
  TRY(Found found, store->find());
  if (!found.has_history && may_make) {
    TRY(store->make(found));
    TRY(found, store->find());
  }
  const std::string& name = store->connection_.name();
  if (!found.has_history) {
    return fail(ErrorKind::NotFound, "history", name, "there is no history in this database",
                "'chokepoint history add DIR' makes one, as an account that may create a schema");
  }
  if (found.version > kSchemaVersion) {
    return fail(of_server(newer_history(found.version, kSchemaVersion), name));
  }
  return store;
}

Result<PostgresStore::Found> PostgresStore::find() {
  Found found;
  std::int64_t has_history = 0;
  std::int64_t may_make = 0;
  TRY(
      connection_.run("SELECT to_regclass('chokepoint.version') IS NOT NULL, "
                      "has_database_privilege(current_database(), 'CREATE'), "
                      "set_config('default_transaction_isolation', 'read committed', false), "
                      "set_config('jit', 'off', false)",
                      {}, kMaxConnecting, [&](const PostgresRow& row) {
                        row.read(0, has_history);
                        row.read(1, may_make);
                      }));
  found.has_history = has_history != 0;
  found.may_make = may_make != 0;
  if (found.has_history) {
    TRY(found.version, number("SELECT max(version) FROM chokepoint.version", {}, kMaxConnecting));
  }
  return found;
}

// Several programs may find none at once: the first one makes it.
Result<> PostgresStore::make(const Found& found) {
  if (!found.may_make) {
    return fail(ErrorKind::Permission, "history", connection_.name(),
                "there is no history in this database, and this account may not create a schema",
                "as one that may: psql -1 -f packaging/postgresql/schema.sql URL, or "
                "'chokepoint history add DIR'");
  }
  TRY(connection_.run_script("BEGIN; SELECT pg_advisory_xact_lock(hashtext('chokepoint.schema'))",
                             kMaxMaking));
  // to_regclass() may answer from before the wait for the lock.
  TRY(const std::int64_t made,
      number("SELECT count(*) FROM pg_namespace WHERE nspname = 'chokepoint'", {}, kMaxMaking));
  if (made == 0) {
    TRY(connection_.run_script(std::string(postgres_schema()), kMaxMaking));
  }
  return connection_.run_script("COMMIT", kMaxMaking);
}

Result<std::int64_t> PostgresStore::number(const char* sql,
                                           const PostgresConnection::Values& values,
                                           milliseconds wait) {
  std::int64_t number = 0;
  TRY(connection_.run(sql, values, wait, [&](const PostgresRow& row) { row.read(0, number); }));
  return number;
}

Result<std::int64_t> PostgresStore::add(const Batch& batch) {
  AddedArrays arrays;
  for (const Row& row : batch.rows) {
    if (std::isfinite(row.measured.value)) {
      arrays.add(row);
    }
  }
  for (const HostState& state : batch.hosts) {
    if (!state.settings.empty()) {
      arrays.add(state);
    }
  }
  return number(
      "SELECT chokepoint.add($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, "
      "$16, $17, $18, $19)",
      std::move(arrays).values(), max_adding(batch.rows.size()));
}

// The wanted series, and where each is by its identifier.
struct PostgresStore::FoundSeries {
  std::vector<MeasuredSeries> all = {};
  std::vector<std::vector<std::int64_t>> origins = {};  // of each one's points
  std::unordered_map<std::int64_t, std::size_t> places = {};
  ArrayText ids = {};

  // A row of sql_of_rows().
  void add_row(const PostgresRow& row) {
    std::int64_t id = 0;
    row.read(0, id);
    const auto place = places.find(id);
    Measured point;
    double spread = 0;
    std::int64_t origin = 0;
    row.read(1, point.wall_ns);
    row.read(2, point.value);
    row.read(3, spread);
    row.read(4, point.count);
    row.read(5, origin);
    if (place == places.end() || !std::isfinite(point.value)) {
      return;
    }
    point.spread = std::isfinite(spread) ? std::optional(spread) : std::nullopt;
    all[place->second].points.push_back(std::move(point));
    origins[place->second].push_back(origin);
  }
};

Result<PostgresStore::FoundSeries> PostgresStore::find(const Wanted& wanted) {
  FoundSeries found;
  PostgresConnection::Values names{clean(wanted.metric)};
  if (!wanted.subject.empty()) {
    names.push_back(clean(wanted.subject));
  }
  const std::string sql = fmt::format(
      "SELECT id, kind, host, name, peer, metric, setting, unit, better FROM "
      "chokepoint.series WHERE ($1 = '' OR metric = $1){} "
      "ORDER BY kind, host, name, peer, metric, setting",
      wanted.subject.empty() ? "" : kOfSubject);
  TRY(connection_.run(sql.c_str(), names, kMaxReading, [&](const PostgresRow& row) {
    std::int64_t id = 0;
    std::string kind;
    std::int64_t better = 0;
    Series read;
    row.read(0, id);
    row.read(1, kind);
    row.read(2, read.subject.host);
    row.read(3, read.subject.name);
    row.read(4, read.subject.to);
    row.read(5, read.metric);
    row.read(6, read.setting);
    row.read(7, read.unit);
    row.read(8, better);
    auto series = series_of(std::move(read), kind, better);
    if (series && is_wanted(*series, wanted)) {
      found.places[id] = found.all.size();
      found.ids.add(id);
      found.all.push_back({.series = *std::move(series)});
    }
  }));
  found.origins.resize(found.all.size());
  return found;
}

// Document and program of each row: many rows have the same, which is sent once.
Result<> PostgresStore::add_origins(FoundSeries& found) {
  std::unordered_map<std::int64_t, std::pair<SharedText, SharedText>> known;
  ArrayText ids;
  for (const std::vector<std::int64_t>& of_series : found.origins) {
    for (const std::int64_t id : of_series) {
      if (known.try_emplace(id).second) {
        ids.add(id);
      }
    }
  }
  TRY(
      connection_.run("SELECT id, source, program FROM chokepoint.origin WHERE id = "
                      "ANY($1::integer[])",
                      {std::move(ids).text()}, kMaxReading, [&](const PostgresRow& row) {
                        std::int64_t id = 0;
                        std::string source;
                        std::string program;
                        row.read(0, id);
                        row.read(1, source);
                        row.read(2, program);
                        known[id] = {std::move(source), std::move(program)};
                      }));
  for (std::size_t at = 0; at < found.all.size(); ++at) {
    for (std::size_t row = 0; row < found.origins[at].size(); ++row) {
      Measured& point = found.all[at].points[row];
      std::tie(point.source, point.program) = known[found.origins[at][row]];
    }
  }
  return {};
}

Result<std::vector<MeasuredSeries>> PostgresStore::read(const Wanted& wanted) {
  TRY(FoundSeries found, find(wanted));
  const bool is_part = !(wanted.subject + wanted.metric).empty();
  PostgresConnection::Values values{fmt::format("{}", wanted.since_ns),
                                    fmt::format("{}", wanted.before.since_ns),
                                    fmt::format("{}", wanted.before.most)};
  if (is_part) {
    values.push_back(std::move(found.ids).text());
  }
  TRY(connection_.run(sql_of_rows(is_part).c_str(), values, kMaxReading,
                      [&](const PostgresRow& row) { found.add_row(row); }));
  TRY(add_origins(found));
  std::erase_if(found.all, [](const MeasuredSeries& each) { return each.points.empty(); });
  for (MeasuredSeries& each : found.all) {
    std::ranges::sort(each.points, {}, &Measured::wall_ns);
  }
  return std::move(found.all);
}

Result<std::vector<StateSpan>> PostgresStore::states() {
  StateReader states;
  TRY(connection_.run("SELECT id, settings FROM chokepoint.content", {}, kMaxReading,
                      [&](const PostgresRow& row) {
                        std::int64_t id = 0;
                        std::string text;
                        row.read(0, id);
                        row.read(1, text);
                        states.add_content(id, text);
                      }));
  TRY(connection_.run(
      "SELECT host, first_ns, last_ns, content FROM chokepoint.state ORDER BY host, first_ns, "
      "last_ns",
      {}, kMaxReading, [&](const PostgresRow& row) {
        StateSpan span;
        std::int64_t content = 0;
        row.read(0, span.host);
        row.read(1, span.first_ns);
        row.read(2, span.last_ns);
        row.read(3, content);
        states.add(std::move(span), content);
      }));
  return states.take();
}

Result<std::int64_t> PostgresStore::prune(std::int64_t before_ns) {
  return number("SELECT chokepoint.prune($1)", {fmt::format("{}", before_ns)}, kMaxPruning);
}

// Month by month: of many rows each takes minutes. What is left of a month is written anew, for its
// pages would be read on.
Result<std::int64_t> PostgresStore::thin(std::int64_t before_ns) {
  const std::int64_t until_ns = before_ns / kDayNs * kDayNs;
  std::vector<std::string> partitions;
  TRY(
      connection_.run("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = "
                      "'chokepoint.measured'::regclass ORDER BY 1",
                      {}, kMaxReading, [&](const PostgresRow& row) {
                        std::string name;
                        row.read(0, name);
                        partitions.push_back(std::move(name));
                      }));
  std::int64_t gone = 0;
  for (const std::string& partition : partitions) {
    const std::string sql = fmt::format("WITH gone AS ({} RETURNING 1) SELECT count(*) FROM gone",
                                        sql_that_thins(partition, until_ns));
    TRY(const std::int64_t part, number(sql.c_str(), {}, kMaxPruning));
    if (part > 0) {
      TRY(connection_.run_script("VACUUM FULL " + partition, kMaxPruning));
    }
    gone += part;
  }
  return gone;
}

}  // namespace chokepoint::history
