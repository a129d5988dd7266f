// The tables that CSV and JSON contain (all of a record but the writer's notes on folding) and how
// a row becomes cells. A table has the record's columns under their names; before them stand the
// same moments on the run's common clock: `t_s` for `t_ns`. Templates and constants.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/export/exported_run.h"
#include "analysis/load/run_data.h"
#include "base/record/tables.h"

namespace chokepoint::analysis {

template <class Row>
struct ExportedTable {
  using Of = Row;
  const char* name;  // of the file and in JSON
};

constexpr std::tuple kExportedTables{ExportedTable<record::Session>{"sessions"},
                                     ExportedTable<record::Label>{"labels"},
                                     ExportedTable<record::ClockAnchor>{"clock_anchors"},
                                     ExportedTable<record::ClockOffset>{"clock_offsets"},
                                     ExportedTable<record::Fact>{"facts"},
                                     ExportedTable<record::Probe>{"probes"},
                                     ExportedTable<record::Process>{"processes"},
                                     ExportedTable<record::Flow>{"flows"},
                                     ExportedTable<record::FlowTotal>{"flow_totals"},
                                     ExportedTable<record::Series>{"series"},
                                     ExportedTable<record::Event>{"events"},
                                     ExportedTable<record::Step>{"steps"},
                                     ExportedTable<record::Collective>{"collectives"},
                                     ExportedTable<record::FlowSample>{"flow_samples"},
                                     ExportedTable<record::SocketSample>{"socket_samples"},
                                     ExportedTable<record::CounterSample>{"counters"},
                                     ExportedTable<record::GaugeSample>{"gauges"},
                                     ExportedTable<record::FlowMark>{"flow_marks"}};

// Calls visit(table) for each.
template <class F>
void each_table(F&& visit) {
  std::apply([&](const auto&... table) { (visit(table), ...); }, kExportedTables);
}

template <class Field>
constexpr bool is_moment(const Field& field) {
  return field.fold == Fold::Start || field.fold == Fold::End;
}

struct Column {
  std::string name = {};
  std::string text = {};  // what it means, in a few words
};

template <class Row>
std::vector<Column> columns_of() {
  std::vector<Column> moments;
  std::vector<Column> columns;
  each_field<Row>([&](const auto& field) {
    columns.push_back({field.name, field.text});
    if (is_moment(field)) {
      constexpr std::size_t kUnit = 2;  // "ns"
      std::string name = field.name;
      moments.push_back({name.replace(name.size() - kUnit, kUnit, "s"),
                         std::string(field.name) + " on the run's common clock"});
    }
  });
  moments.insert(moments.end(), columns.begin(), columns.end());
  return moments;
}

// Appends the cells of a row with commas between them. Form is how a format writes text and unknown
// values: void Form::text(std::string&, std::string_view); Form::kUnknown.
template <class Form>
class Cells {
 public:
  Cells(std::string& out, const RunClock& clock, std::size_t node)
      : out_(out), clock_(clock), node_(node) {}

  template <class Row>
  void row(const Row& row) {
    each_field<Row>([&](const auto& field) {
      if (is_moment(field)) {
        moment(row.*(field.member));
      }
    });
    each_field<Row>([&](const auto& field) { cell(row.*(field.member)); });
  }

  void cell(std::string_view text) {
    next();
    Form::text(out_, text);
  }
  void cell(std::int64_t value) {
    next();
    const fmt::format_int text(value);
    out_.append(text.data(), text.size());
  }
  void cell(double value) {
    next();
    if (std::isfinite(value)) {
      fmt::format_to(std::back_inserter(out_), "{}", value + 0.0);  // -0 is 0
    } else {
      out_ += Form::kUnknown;
    }
  }
  void cell(record::Figure value) { value.known() ? cell(value.value()) : unknown(); }
  template <class Code>
    requires std::is_enum_v<Code>
  void cell(Code code) {
    const std::string_view word = word_of(code);
    word.empty() ? cell(static_cast<std::int64_t>(code)) : cell(word);
  }
  // A node's time, on the run's common clock.
  void seconds(std::int64_t t_ns) {
    next();
    append_seconds(out_, clock_.since_start_ns(node_, t_ns));
  }
  void unknown() {
    next();
    out_ += Form::kUnknown;
  }

 private:
  template <class Moment>
  void moment(const Moment& value) {
    if constexpr (std::is_same_v<Moment, record::Figure>) {
      value.known() ? moment(value.value()) : unknown();
    } else if constexpr (std::is_same_v<Moment, std::int64_t>) {
      seconds(value);
    }
  }
  void next() {
    if (!is_first_) {
      out_ += ',';
    }
    is_first_ = false;
  }

  std::string& out_;
  const RunClock& clock_;
  std::size_t node_;
  bool is_first_ = true;
};

}  // namespace chokepoint::analysis
