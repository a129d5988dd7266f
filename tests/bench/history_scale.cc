// How many rows a second a history takes, and how long a year of it takes to read. Made-up
// preflights of a cluster are added, spread over a year that ends now:
//
//   each path of two hosts   throughput_mbps, rtt_ms
//   each host                checks_critical, checks_warning, and how it is set up
//
// usage: history_scale [PREFLIGHTS [HOSTS]]    (1500 preflights of 32 hosts)
//
// PostgreSQL runs in a server of its own with the settings that it comes with; SQLite gets a
// preflight a day. Prints a line of JSON for each measurement.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/history/postgres_store.h"
#include "base/history/sqlite_store.h"
#include "tests/base/history/postgres_server.h"

namespace chokepoint::history {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kYearNs = 31'536'000'000'000'000;

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

std::string host_name(int number) { return fmt::format("gpu{:03}.example.org", number); }

void add_row(Batch& batch, Subject subject, const char* metric, const char* unit, double value,
             std::int64_t wall_ns) {
  batch.rows.push_back({.series = {.subject = std::move(subject),
                                   .metric = metric,
                                   .setting = "test=tcp streams=4",
                                   .unit = unit,
                                   .better = documents::Better::More},
                        .measured = {.wall_ns = wall_ns,
                                     .value = value,
                                     .source = fmt::format("preflight-{}.json", wall_ns),
                                     .program = "chokepoint 0.1.0"}});
}

Batch preflight(int hosts, std::int64_t wall_ns) {
  Batch batch;
  double noise = static_cast<double>(wall_ns % 1'000'003) / 1'000'003;
  for (int from = 0; from < hosts; ++from) {
    const std::string host = host_name(from);
    for (int to = 0; to < hosts; ++to) {
      if (from != to) {
        noise = std::fmod(noise * 997 + 0.1, 1.0);
        const Subject path{.kind = SubjectKind::Path, .host = host, .to = host_name(to)};
        add_row(batch, path, "throughput_mbps", "Mb/s", 94'000 + 500 * noise, wall_ns);
        add_row(batch, path, "rtt_ms", "ms", 0.1 + noise / 100, wall_ns);
      }
    }
    for (const char* metric : {"checks_critical", "checks_warning"}) {
      add_row(batch, {.kind = SubjectKind::Host, .host = host}, metric, "", 0, wall_ns);
    }
    batch.hosts.push_back({.host = host,
                           .wall_ns = wall_ns,
                           .settings = {{"gpu", {{"driver", "550"}}}, {"nic", {{"mtu", "9000"}}}}});
  }
  return batch;
}

// Ends the program where something fails: what was measured then means nothing.
template <class T>
T value_of(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "{}\n", describe(result.error()));
    std::exit(1);
  }
  return *std::move(result);
}

std::int64_t add_year(const char* name, Store& store, int preflights, int hosts) {
  const std::int64_t now_ns = std::chrono::system_clock::now().time_since_epoch().count();
  std::int64_t rows = 0;
  double longest_s = 0;
  double adding_s = 0;
  for (int at = 0; at < preflights; ++at) {
    const Batch batch = preflight(hosts, now_ns - kYearNs + kYearNs / preflights * at);
    const auto began = Clock::now();
    rows += value_of(store.add(batch));
    const double took_s = seconds_since(began);
    adding_s += took_s;
    longest_s = std::max(longest_s, took_s);
  }
  fmt::print(
      "{{\"store\": \"{}\", \"preflights\": {}, \"rows\": {}, \"rows_per_s\": {:.0f}, "
      "\"longest_preflight_s\": {:.3f}}}\n",
      name, preflights, rows, static_cast<double>(rows) / adding_s, longest_s);
  return rows;
}

void read(const char* name, Store& store, const char* what, const Wanted& wanted) {
  constexpr int kTimes = 3;
  for (int at = 0; at < kTimes; ++at) {
    const auto began = Clock::now();
    const std::vector<MeasuredSeries> all = value_of(store.read(wanted));
    const double took_s = seconds_since(began);
    std::size_t rows = 0;
    for (const MeasuredSeries& each : all) {
      rows += each.points.size();
    }
    fmt::print("{{\"store\": \"{}\", \"read\": \"{}\", \"rows\": {}, \"s\": {:.3f}}}\n", name, what,
               rows, took_s);
  }
}

void read_all_kinds(const char* name, Store& store) {
  const std::string host = host_name(3);
  read(name, store, "one host", {.subject = host});
  read(name, store, "one path, one figure",
       {.subject = host + " > " + host_name(4), .metric = "throughput_mbps"});
  const std::int64_t since_ns =
      std::chrono::system_clock::now().time_since_epoch().count() - kYearNs / 12;
  read(name, store, "30 days of all", {.since_ns = since_ns});
  // As 'chokepoint history' reads it.
  const Wanted lately{.since_ns = since_ns,
                      .before = {.since_ns = since_ns - kYearNs / 4, .most = 300}};
  read(name, store, "30 days of all and what is before", lately);
  const auto began = Clock::now();
  const std::int64_t gone = value_of(store.thin(since_ns));
  fmt::print("{{\"store\": \"{}\", \"thinned\": {}, \"s\": {:.3f}}}\n", name, gone,
             seconds_since(began));
  read(name, store, "the same, once older rows are thinned", lately);
}

void measure_postgres(int preflights, int hosts) {
  const auto server = PostgresServer::make(true);
  if (!server) {
    fmt::print(stderr, "no server of PostgreSQL is installed\n");
    return;
  }
  const std::string url = server->url("history");
  const auto store = value_of(PostgresStore::open(url));
  const std::int64_t rows = add_year("postgresql", *store, preflights, hosts);
  auto connection =
      value_of(PostgresConnection::connect(url, net::Deadline::of(std::chrono::seconds(5))));
  std::int64_t bytes = 0;
  const auto sized = connection.run(
      "SELECT sum(pg_total_relation_size(inhrelid))::bigint FROM pg_inherits WHERE inhparent = "
      "'chokepoint.measured'::regclass",
      {}, std::chrono::seconds(10), [&](const PostgresRow& row) { row.read(0, bytes); });
  fmt::print("{{\"store\": \"postgresql\", \"bytes_per_row\": {:.0f}}}\n",
             sized ? static_cast<double>(bytes) / static_cast<double>(rows) : 0.0);
  read_all_kinds("postgresql", *store);
}

void measure_sqlite(int hosts) {
  constexpr int kDays = 365;
  const auto folder = value_of(sys::TemporaryFolder::make("history"));
  const auto file = folder.path() / "history.db";
  std::int64_t rows = 0;
  {
    const auto store = value_of(SqliteStore::open(file));
    rows = add_year("sqlite", *store, kDays, hosts);
  }
  fmt::print("{{\"store\": \"sqlite\", \"bytes_per_row\": {:.0f}}}\n",
             static_cast<double>(std::filesystem::file_size(file)) / static_cast<double>(rows));
  const auto store = value_of(SqliteStore::open(file));
  read("sqlite", *store, "all", {});
  read_all_kinds("sqlite", *store);
}

}  // namespace
}  // namespace chokepoint::history

int main(int count, char** words) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // also where it goes to a file
  const int preflights = count > 1 ? std::atoi(words[1]) : 1500;
  const int hosts = count > 2 ? std::atoi(words[2]) : 32;
  chokepoint::history::measure_sqlite(hosts);
  chokepoint::history::measure_postgres(preflights, hosts);
}
