// Every row of a record against what CSV and JSON say of it.
#include "analysis/export/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "analysis/export/formats.h"
#include "tests/analysis/export/made_export.h"

namespace chokepoint::analysis {
namespace {

using nlohmann::json;

// Rows of cells, as RFC 4180 has them.
std::vector<std::vector<std::string>> parsed(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::vector<std::string>> rows{{""}};
  bool is_quoted = false;
  for (char letter = 0; file.get(letter);) {
    std::string& cell = rows.back().back();
    if (letter == '"') {
      if (is_quoted && file.peek() == '"') {
        cell += static_cast<char>(file.get());
      } else {
        is_quoted = !is_quoted;
      }
    } else if (letter == ',' && !is_quoted) {
      rows.back().emplace_back();
    } else if (letter == '\r' && !is_quoted) {
      EXPECT_EQ(file.get(), '\n');
      rows.push_back({""});
    } else {
      EXPECT_TRUE(letter != '\n' || is_quoted) << path;
      cell += letter;
    }
  }
  EXPECT_FALSE(is_quoted) << path;
  EXPECT_EQ(rows.back(), std::vector<std::string>{""}) << path;  // a line end behind the last
  rows.pop_back();
  return rows;
}

std::string text_of_cell(std::int64_t value) { return std::to_string(value); }
std::string text_of_cell(record::Figure value) {
  return value.known() ? std::to_string(value.value()) : "";
}
std::string text_of_cell(double value) { return std::isfinite(value) ? json(value).dump() : ""; }
std::string text_of_cell(const std::string& value) { return value; }
template <class Code>
  requires std::is_enum_v<Code>
std::string text_of_cell(Code code) {
  return std::string(word_of(code));
}

bool is_same(const std::string& wanted, const std::string& cell) {
  if (wanted == cell) {
    return true;
  }
  return !wanted.empty() && !cell.empty() &&
         cell.find_first_not_of("0123456789.e+-") == std::string::npos &&
         std::stod(wanted) == std::stod(cell);
}

class ExportTables : public testing::Test {
 protected:
  void SetUp() override { make_full_run(run_); }
  std::filesystem::path folder() const { return run_.folder(); }
  std::filesystem::path tables() const { return run_.folder() / "tables"; }

  template <class Row>
  static std::vector<Row> rows_of(record::Reader& reader) {
    std::vector<Row> rows = *reader.all<Row>();
    return rows;
  }

  // Compares the record's own columns of a row, by their names.
  template <class Row>
  static void compare(const Row& row, const std::function<std::string(const std::string&)>& cell) {
    each_field<Row>([&](const auto& field) {
      const std::string wanted = text_of_cell(row.*(field.member));
      EXPECT_TRUE(is_same(wanted, cell(field.name)))
          << field.name << ": " << wanted << " but " << cell(field.name);
    });
  }

  RunMaker run_;
};

TEST_F(ExportTables, CsvHasEveryNumberOfTheRecord) {
  std::size_t compared = 0;
  with_export(folder(), {}, [&](ExportedRun& run) {
    ASSERT_TRUE(write_csv(run, tables()));
    each_table([&](const auto& table) {
      using Row = typename std::remove_cvref_t<decltype(table)>::Of;
      const auto rows = parsed(tables() / (std::string(table.name) + ".csv"));
      std::map<std::string, std::size_t> columns;
      for (std::size_t place = 0; place < rows[0].size(); ++place) {
        columns[rows[0][place]] = place;
      }
      std::size_t line = 1;
      for (std::size_t node = 0; node < run.nodes(); ++node) {
        for (const Row& row : rows_of<Row>(run.reader(node))) {
          ASSERT_LT(line, rows.size()) << table.name;
          ASSERT_EQ(rows[line].size(), rows[0].size());
          EXPECT_EQ(rows[line][0], run.data().nodes[node].name);
          compare(row, [&](const std::string& name) { return rows[line][columns.at(name)]; });
          ++line;
          ++compared;
        }
      }
      EXPECT_EQ(line, rows.size()) << table.name;
    });
  });
  EXPECT_GT(compared, 600U);
}

TEST_F(ExportTables, JsonHasEveryNumberOfTheRecord) {
  const std::string text = exported_text(folder(), [](ExportedRun& run, cli::Output& out) {
    write_json(run, {{"schema", "chokepoint.export/1"}}, out);
  });
  const json document = json::parse(text);
  EXPECT_EQ(document["schema"], "chokepoint.export/1");
  std::size_t compared = 0;
  with_export(folder(), {}, [&](ExportedRun& run) {
    ASSERT_EQ(document["nodes"].size(), run.nodes());
    for (std::size_t node = 0; node < run.nodes(); ++node) {
      each_table([&](const auto& table) {
        using Row = typename std::remove_cvref_t<decltype(table)>::Of;
        const json& own = document["nodes"][node]["tables"][table.name];
        std::map<std::string, std::size_t> columns;
        for (const auto& name : own["columns"]) {
          columns.emplace(name, columns.size());
        }
        const std::vector<Row> rows = rows_of<Row>(run.reader(node));
        ASSERT_EQ(own["rows"].size(), rows.size()) << table.name;
        for (std::size_t line = 0; line < rows.size(); ++line) {
          compare(rows[line], [&](const std::string& name) {
            const json& cell = own["rows"][line][columns.at(name)];
            return cell.is_null() ? "" : cell.is_string() ? cell.get<std::string>() : cell.dump();
          });
          ++compared;
        }
      });
    }
  });
  EXPECT_GT(compared, 600U);
}

TEST_F(ExportTables, SecondsAreOfOneClock) {
  with_export(folder(), {}, [&](ExportedRun& run) { ASSERT_TRUE(write_csv(run, tables())); });
  const auto rows = parsed(tables() / "steps.csv");
  EXPECT_EQ(rows[0][1], "start_s");
  ASSERT_EQ(rows.size(), 41U);
  for (std::size_t step = 0; step < 20; ++step) {
    // b's own clock is a second ahead.
    EXPECT_NEAR(std::stod(rows[1 + step][1]), static_cast<double>(step) * 0.1, 1e-3);
    EXPECT_NEAR(std::stod(rows[21 + step][1]), static_cast<double>(step) * 0.1, 1e-3);
  }
  const auto nodes = parsed(tables() / "nodes.csv");
  EXPECT_EQ(nodes.size(), 3U);
  EXPECT_EQ(std::stod(nodes[2][9]) - std::stod(nodes[1][9]), 1e9);
}

TEST_F(ExportTables, EveryColumnIsExplained) {
  with_export(folder(), {}, [&](ExportedRun& run) { ASSERT_TRUE(write_csv(run, tables())); });
  const auto texts = parsed(tables() / "columns.csv");
  std::map<std::pair<std::string, std::string>, std::pair<std::string, std::string>> explained;
  for (const auto& row : texts) {
    ASSERT_EQ(row.size(), 4U);
    EXPECT_NE(row[3], "") << row[0] << " " << row[1];
    explained.try_emplace({row[0], row[1]}, row[2], row[3]);
  }
  for (const auto& file : std::filesystem::directory_iterator(tables())) {
    const std::string name = file.path().filename().string();
    const auto rows = parsed(file.path());
    for (const std::string& column : rows[0]) {
      EXPECT_TRUE(name == "columns.csv" || explained.contains({name, column})) << name << column;
    }
  }
  using Explained = std::pair<std::string, std::string>;
  EXPECT_EQ((explained[{"collectives.csv", "protocol"}]),
            (Explained{"", "protocol that NCCL used"}));
  EXPECT_EQ((explained[{"flows.csv", "protocol"}]), (Explained{"", "tcp, udp, roce"}));
  EXPECT_EQ((explained[{"probes.csv", "peer"}]), (Explained{"", "the other host"}));
  EXPECT_EQ((explained[{"flow_samples.csv", "rtt_us"}]), (Explained{"us", "mean round trip"}));
  EXPECT_EQ((explained[{"steps.csv", "start_s"}]),
            (Explained{"s", "start_ns on the run's common clock"}));
  EXPECT_EQ((explained[{"socket_samples.csv", "bytes_sent"}].first), "bytes");
  EXPECT_EQ((explained[{"socket_samples.csv", "delivery_bytes_per_s"}].first), "bytes/s");
  EXPECT_EQ((explained[{"socket_samples.csv", "merged"}].first), "");
}

TEST_F(ExportTables, ReadingsSayWhatTheyAreOf) {
  with_export(folder(), {}, [&](ExportedRun& run) { ASSERT_TRUE(write_csv(run, tables())); });
  const auto rows = parsed(tables() / "counters.csv");
  const std::vector<std::string> tail(rows[1].end() - 3, rows[1].end());
  EXPECT_EQ(tail, (std::vector<std::string>{"nic.sent_bytes", "eth0", "bytes"}));
}

TEST_F(ExportTables, ACutLeavesWhatEndsWithin) {
  with_export(folder(), Span{500'000'000, 1'000'000'000},
              [&](ExportedRun& run) { ASSERT_TRUE(write_csv(run, tables())); });
  EXPECT_EQ(parsed(tables() / "steps.csv").size(), 1U + 12U);
  EXPECT_EQ(parsed(tables() / "flows.csv").size(), 1U + 2U);  // what is there to be referred to
  EXPECT_FALSE(std::filesystem::exists(tables() / "probes.csv"));
}

TEST_F(ExportTables, AStopLeavesNothing) {
  Result<record::Run> records = record::open_run(folder());
  RunMaker long_run;
  NodeMaker& node = long_run.node({});
  const std::int64_t flow = node.flow("10.0.0.1:4000", "10.0.0.2:5000");
  node.traffic(flow, record::Direction::AToB,
               {.from_ms = 0, .to_ms = 9000, .bytes_per_s = 1e6, .bin_ms = 1});
  long_run.finish();
  Result<record::Run> of_long = record::open_run(long_run.folder());
  ExportWatch watch;
  watch.is_stopped = [] { return true; };
  ExportedRun run("made", *of_long, {}, watch);
  const auto written = write_csv(run, tables());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::Interrupted);
  EXPECT_FALSE(std::filesystem::exists(tables()));
}

}  // namespace
}  // namespace chokepoint::analysis
