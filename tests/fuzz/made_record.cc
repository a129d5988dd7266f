#include "tests/fuzz/made_record.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>
#include <variant>

#include "base/record/names.h"
#include "base/record/row.h"
#include "base/record/series_table.h"
#include "tests/analysis/run_maker.h"

namespace chokepoint::fuzz {
namespace {

namespace fs = std::filesystem;
using analysis::NodeMaker;
using record::Direction;

constexpr double kStepMs = 100;
constexpr std::int64_t kSteps = 8;
constexpr double kLengthMs = kStepMs * static_cast<double>(kSteps);
constexpr std::size_t kMostEdits = 24;

std::string subject_of(std::string_view series) {
  const std::string_view group = series.substr(0, series.find('.'));
  return group == "gpu" || group == "pcie"          ? "0000:3b:00.0"
         : group == "rdma" || group == "infiniband" ? "mlx5_0/1"
         : group == "core" || group == "softnet"    ? "cpu0"
         : group == "nic" || group == "job"         ? "eth0"
                                                    : "all";
}

void add_series(NodeMaker& node) {
  for (const record::SeriesDescription& series : record::series_table()) {
    const std::string name = std::string(series.name) + (series.is_family ? "x" : "");
    const std::vector<analysis::Value> values{{.ms = 0, .value = 1},
                                              {.ms = kLengthMs / 2, .value = 5e6, .bin_ms = 100},
                                              {.ms = kLengthMs, .value = 9e6, .bin_ms = 100}};
    if (series.kind == record::SeriesKind::Counter) {
      node.counter(name, subject_of(name), values);
    } else {
      node.gauge(name, subject_of(name), values);
    }
  }
}

void add_flow(NodeMaker& node, std::int64_t flow, std::int64_t own_way) {
  for (const auto way : {Direction::AToB, Direction::BToA}) {
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      const double end_ms = static_cast<double>(step) * kStepMs;
      node.traffic(flow, way,
                   {.from_ms = end_ms - 60,
                    .to_ms = end_ms,
                    .bytes_per_s = 25e6,
                    .bin_ms = 20,
                    .like = {.retransmitted_packets = 1,
                             .rtt_us = 900,
                             .min_rtt_us = 100,
                             .max_in_flight_bytes = 60'000,
                             .window_bytes = 65'536}});
      node.push(record::FlowMark{
          .t_ns = node.at_ms(end_ms - 60), .flow = flow, .direction = way, .sequence = step * 100});
    }
  }
  record::SocketSample last{.state = 1,
                            .congestion_state = 0,
                            .mss_bytes = 1448,
                            .cwnd_packets = 10,
                            .rtt_us = 900,
                            .min_rtt_us = 100,
                            .bytes_sent = 1'000'000,
                            .bytes_acked = 1'000'000,
                            .bytes_received = 1'000'000,
                            .retransmits = 3,
                            .unacked_packets = 8,
                            .delivered = 700,
                            .busy_us = 400'000,
                            .receive_window_limited_us = 100'000,
                            .send_buffer_limited_us = 100'000,
                            .unsent_bytes = 100'000,
                            .send_queue_bytes = 120'000,
                            .send_window_bytes = 65'536};
  record::SocketSample first = last;
  first.bytes_sent = first.bytes_acked = first.bytes_received = 0;
  first.busy_us = first.receive_window_limited_us = first.send_buffer_limited_us = 0;
  node.sockets(flow, Direction(own_way),
               {.from_ms = 0, .to_ms = kLengthMs, .every_ms = 50, .first = first, .last = last});
}

void add_collectives(NodeMaker& node, std::int64_t rank, std::int64_t flow) {
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const double end_ms = static_cast<double>(step + 1) * kStepMs;
    const std::int64_t ready_ns = node.at_ms(end_ms - 60 - static_cast<double>(rank) * 5);
    node.push(record::Collective{.start_ns = ready_ns,
                                 .end_ns = node.at_ms(end_ms),
                                 .number = step,
                                 .kind = record::CollectiveKind::AllReduce,
                                 .bytes = 1'000'000,
                                 .own_ready_ns = ready_ns,
                                 .peer_ready_ns = node.at_ms(end_ms - 58),
                                 .first_data_ns = node.at_ms(end_ms - 57),
                                 .last_data_ns = node.at_ms(end_ms),
                                 .waited_ns = 1'000'000,
                                 .kept_waiting_ns = 1'000'000,
                                 .flow = flow});
    node.push(record::Collective{.start_ns = ready_ns,
                                 .end_ns = node.at_ms(end_ms - 30),
                                 .number = step,
                                 .kind = step % 2 == 0 ? record::CollectiveKind::AllGather
                                         : rank == 0   ? record::CollectiveKind::Send
                                                       : record::CollectiveKind::Receive,
                                 .source = record::CollectiveSource::Nccl,
                                 .rank = rank,
                                 .communicator = 77,
                                 .bytes = 500'000,
                                 .algorithm = record::CollectiveAlgorithm::Ring,
                                 .protocol = record::CollectiveProtocol::Simple,
                                 .channels = 2,
                                 .peer = 1 - rank,
                                 .enqueued_ns = ready_ns,
                                 .gpu_wait_ns = 1'000'000,
                                 .network_wait_ns = 4'000'000,
                                 .peer_wait_ns = 2'000'000});
  }
}

constexpr const char* kProbe =
    R"({"schema":"chokepoint.probe.tcp/1","peer":{"host":"b","address":"10.0.0.2","name":"b"},)"
    R"("direction":"send","throughput_mbps":900,"verdict":{"kind":"link"},)"
    R"("rtt_ms":{"min":0.1,"median":0.2}})";

void add_words(NodeMaker& node, const std::string& peer) {
  node.add(record::Label{.key = "setup", .value = "2x1"});
  node.add(record::Label{.key = "samples_per_step", .value = "64"});
  node.event(100, record::kDropped, "made", R"({"reason":"full","rows":5,"until_ns":7})");
  node.event(200, record::kPacketsDropped, "eth0", R"({"kernel":5,"interface":0})");
  node.event(250, "interface-down", "eth0");
  node.event(300, "interface-up", "eth0");
  node.event(350, "mark", "epoch", R"({"rank":0})");
  node.fact("gpu", "0000:3b:00.0", "name", "H100");
  node.fact("nic", "eth0", "pci_mbps", "16000");
  node.fact("rdma", "mlx5_0/1", "interface", "eth0");
  node.fact("not-seen", "packets", "reason", "no privilege");
  node.add(record::Probe{.t_ns = node.at_ms(1),
                         .kind = "tcp",
                         .peer = peer,
                         .direction = "send",
                         .schema = "chokepoint.probe.tcp/1",
                         .document = kProbe});
  node.add(record::ClockOffset{.t_ns = node.at_ms(1),
                               .peer = peer,
                               .offset_ns = 500,
                               .error_ns = 2000,
                               .round_trip_ns = 4000});
}

void fill(NodeMaker& node, std::int64_t rank) {
  const std::string own = rank == 0 ? "10.0.0.1" : "10.0.0.2";
  const std::string other = rank == 0 ? "10.0.0.2" : "10.0.0.1";
  const std::string own_port = rank == 0 ? "4000" : "5000";
  const std::string other_port = rank == 0 ? "5000" : "4000";
  const std::int64_t flow = node.flow(own + ":" + own_port, other + ":" + other_port);
  add_flow(node, flow, 0);
  const std::int64_t roce = node.add(record::Flow{.protocol = "roce",
                                                  .a_address = own,
                                                  .a_port = 4791,
                                                  .b_address = other,
                                                  .b_port = 4791,
                                                  .local_end = 0,
                                                  .interface = "eth0"});
  add_flow(node, roce, 0);
  add_collectives(node, rank, flow);
  node.steps({.count = kSteps, .length_ms = kStepMs});
  node.steps({.count = kSteps, .length_ms = kStepMs, .source = record::StepSource::Output});
  add_series(node);
  add_words(node, rank == 0 ? "b" : "a");
}

std::string content_of(const fs::path& file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  return content.str();
}

struct Table {
  std::string name;
  std::vector<std::string> columns = {};
  std::vector<std::string> numbers = {};  // those of the columns that hold whole numbers
  bool has_rowid = true;
};

template <class Row>
Table table_of() {
  Table table{.name = Fields<Row>::kTable};
  each_field<Row>([&]<class T>(const Field<Row, T>& field) {
    table.columns.emplace_back(field.name);
    if (!std::is_same_v<T, std::string> && !std::is_floating_point_v<T>) {
      table.numbers.emplace_back(field.name);
    }
  });
  table.has_rowid = table.name != "label" && table.name != "flow_total";
  return table;
}

template <class... Rows>
std::vector<Table> tables_of(const std::variant<Rows...>* /*the rows' types*/) {
  return {table_of<Rows>()...};
}

const std::vector<Table>& tables() {
  static const std::vector<Table> kAll = [] {
    std::vector<Table> all = tables_of(static_cast<const record::Entity*>(nullptr));
    const std::vector<Table> samples = tables_of(static_cast<const record::Sample*>(nullptr));
    all.insert(all.end(), samples.begin(), samples.end());
    return all;
  }();
  return kAll;
}

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr auto kNumbers = std::to_array<std::int64_t>({0,
                                                       1,
                                                       -1,
                                                       2,
                                                       record::kMostNs,
                                                       -record::kMostNs,
                                                       record::kMostNs - 1,
                                                       record::kMostNs / 2,
                                                       record::kMostNumber,
                                                       -record::kMostNumber,
                                                       record::kMostNumber - 1,
                                                       INT64_MAX,
                                                       INT64_MIN,
                                                       std::int64_t{1} << 53,
                                                       std::int64_t{1} << 31,
                                                       std::int64_t{1} << 32,
                                                       INT32_MAX,
                                                       kSecondNs,
                                                       -kSecondNs,
                                                       3600 * kSecondNs,
                                                       86'400 * kSecondNs,
                                                       std::int64_t{1} << 60,
                                                       1'000'000,
                                                       65'535});
constexpr auto kReals = std::to_array<double>(
    {0.0, -0.0, 1e308, -1e308, 5e-324, std::numeric_limits<double>::infinity(),
     -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN(), 9.3e18,
     -9.3e18, 1e-9, 0.5});
constexpr auto kTexts = std::to_array<std::string_view>(
    {"",
     "a",
     "b",
     "tcp",
     "roce",
     "udp",
     "eth0",
     "10.0.0.1",
     "10.0.0.2",
     "fe80::1%eth0",
     "::ffff:10.0.0.1",
     "not-seen",
     "gpu",
     "nic",
     "speed_mbps",
     "1e308",
     "-1",
     "nan",
     "{}",
     "[]",
     R"({"rows":9223372036854775807,"until_ns":-9223372036854775808})",
     "\x1b[2J\xff\n\"<",
     "train",
     "samples_per_step",
     "1e999",
     "interface-down",
     "mark",
     "epoch",
     "0000:3b:00.0",
     "chokepoint.probe.udp/1",
     "chokepoint.probe.path/1",
     "chokepoint.probe.latency/1",
     R"({"min":1e308,"median":-1e308,"p99":null,"max":"x","mean":0,"count":1e30})"});

using Value = std::variant<std::int64_t, double, std::string>;

Value value_of(Bytes& bytes) {
  switch (bytes.below(8)) {
    case 0:
      return kNumbers.at(bytes.below(kNumbers.size()));
    case 1:
      return bytes.number();
    case 2:
      return kReals.at(bytes.below(kReals.size()));
    case 3:
      return std::bit_cast<double>(bytes.number());
    case 4:
      return std::string(kTexts.at(bytes.below(kTexts.size())));
    case 5:
      return bytes.text();
    case 6: {
      // A power of ten, either sign: what adds up and what multiplies.
      const std::uint8_t power = bytes.byte();
      std::int64_t value = power >= 128 ? -1 : 1;
      for (int left = power % 19; left > 0; --left) value *= 10;
      return value;
    }
    default:
      return static_cast<std::int64_t>(static_cast<std::int8_t>(bytes.byte()));
  }
}

std::string rows_of(const Table& table, Bytes& bytes) {
  const std::uint8_t which = bytes.byte();
  if (!table.has_rowid || which < 64) return "1";
  if (which < 96) return fmt::format("rowid % 2 = {}", which % 2);
  if (which < 128) return fmt::format("rowid > {}", which - 96);
  return fmt::format("rowid = {}", which - 127);
}

std::string sql_of(const Table& table, Bytes& bytes, bool& wants_value) {
  const std::uint8_t kind = bytes.byte() % 16;
  const std::string rows = rows_of(table, bytes);
  const std::string& column = table.columns.at(bytes.below(table.columns.size()));
  const auto set = [&](const std::string& to) {
    return fmt::format("UPDATE OR REPLACE {} SET {} = {} WHERE {}", table.name, column, to, rows);
  };
  wants_value = kind < 12;
  if (kind < 7) return set("?1");
  if (kind < 9) return set(column + " + ?1");
  if (kind < 10) return set(column + " * ?1");
  if (kind < 12) return set(table.has_rowid ? column + " + rowid * ?1" : "?1");
  if (kind < 13) return set(table.columns.at(bytes.below(table.columns.size())));
  if (kind < 14) return fmt::format("DELETE FROM {} WHERE {}", table.name, rows);
  std::string names;
  for (const std::string& each : table.columns) {
    if (each != "id") names += (names.empty() ? "" : ",") + each;
  }
  return fmt::format("INSERT OR REPLACE INTO {0}({1}) SELECT {1} FROM {0} WHERE {2}", table.name,
                     names, rows);
}

}  // namespace

std::uint8_t Bytes::byte() {
  if (left_.empty()) return 0;
  const std::uint8_t first = left_.front();
  left_ = left_.subspan(1);
  return first;
}

std::int64_t Bytes::number() {
  std::uint64_t value = 0;
  for (int count = 0; count < 8; ++count) value = value << 8U | byte();
  return static_cast<std::int64_t>(value);
}

std::string Bytes::text() {
  const std::size_t size = std::min<std::size_t>(byte(), left_.size());
  const std::string text(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(size));
  left_ = left_.subspan(size);
  return text;
}

MadeRecord::MadeRecord()
    : folder_(fs::temp_directory_path() / fmt::format("chokepoint-fuzz-readers-{}", getpid())) {
  analysis::RunMaker run;
  fill(run.node({.name = "a", .address = "10.0.0.1", .rank = 0, .length_ms = kLengthMs}), 0);
  fill(run.node({.name = "b",
                 .address = "10.0.0.2",
                 .rank = 1,
                 .start_ns = 5'000'000'000'000,
                 .length_ms = kLengthMs}),
       1);
  run.finish();
  for (const auto& entry : fs::directory_iterator(run.folder())) {
    if (entry.path().extension() == ".db") {
      files_.push_back({entry.path().filename(), content_of(entry.path())});
    }
  }
  if (files_.size() != 2) std::abort();
  fs::create_directories(folder_);
}

MadeRecord::~MadeRecord() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void MadeRecord::restore() const {
  for (const auto& entry : fs::directory_iterator(folder_)) fs::remove_all(entry);
  for (const File& file : files_) {
    std::ofstream(folder_ / file.name, std::ios::binary)
        .write(file.content.data(), static_cast<std::streamsize>(file.content.size()));
  }
}

std::vector<MadeRecord::Column> MadeRecord::number_columns() {
  std::vector<Column> all;
  for (const Table& table : tables()) {
    for (const std::string& column : table.numbers) all.push_back({table.name, column});
  }
  return all;
}

void MadeRecord::set(const Column& column, std::int64_t value, const std::string& rows) const {
  auto database = record::Database::open(folder_ / files_.front().name, record::Access::Write);
  if (!database || !database->run("PRAGMA synchronous=OFF")) std::abort();
  // A row whose key is there already is left out.
  std::ignore = database->run(fmt::format("UPDATE OR IGNORE {} SET {} = {} WHERE {}", column.table,
                                          column.name, value, rows));
}

void MadeRecord::edit(Bytes& bytes) const {
  std::vector<record::Database> databases;
  for (const File& file : files_) {
    auto database = record::Database::open(folder_ / file.name, record::Access::Write);
    if (!database || !database->run("PRAGMA synchronous=OFF; BEGIN")) std::abort();
    databases.push_back(*std::move(database));
  }
  for (std::size_t count = 0; count < kMostEdits && !bytes.empty(); ++count) {
    const std::uint8_t where = bytes.byte();
    const Table& table = tables().at(bytes.below(tables().size()));
    bool wants_value = false;
    const std::string sql = sql_of(table, bytes, wants_value);
    const Value value = wants_value ? value_of(bytes) : Value{};
    for (std::size_t node = 0; node < databases.size(); ++node) {
      if ((where & (1U << node)) != 0) continue;
      auto statement = databases[node].prepare(sql);
      if (!statement) std::abort();
      if (wants_value) std::visit([&](const auto& each) { statement->bind(1, each); }, value);
      std::ignore = statement->run();
    }
  }
  for (record::Database& database : databases) {
    if (!database.run("COMMIT")) std::abort();
  }
}

}  // namespace chokepoint::fuzz
