// A host whose files change between ticks, watched by all samplers or by one, and the record of it.
#pragma once

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "capture/counter/sampler.h"
#include "tests/base/record/record_folder.h"

namespace chokepoint::capture::counter {

constexpr std::int64_t kSecond = 1'000'000'000;

class Watching : public record::RecordFolder {
 protected:
  template <class Row>
  struct Found {
    std::map<std::pair<std::string, std::string>, std::vector<Row>> rows = {};

    std::vector<Row> of(const std::string& name, const std::string& subject) const {
      const auto found = rows.find({name, subject});
      return found == rows.end() ? std::vector<Row>() : found->second;
    }
    // Values, in the order of time.
    std::vector<double> values(const std::string& name, const std::string& subject) const {
      std::vector<double> values;
      for (const Row& row : of(name, subject)) {
        values.push_back(row.value);
      }
      return values;
    }
    // Times since the clock's beginning, in milliseconds.
    std::vector<double> times_ms(const std::string& name, const std::string& subject) const {
      std::vector<double> times;
      for (const Row& row : of(name, subject)) {
        times.push_back(static_cast<double>(row.t_ns - kSecond) / 1e6);
      }
      return times;
    }
  };

  Sink& sink() {
    if (!sink_) {
      sink_ = std::make_unique<Sink>(*writer_);
    }
    return *sink_;
  }

  // One reading, then time passes.
  void sample(const std::unique_ptr<Sampler>& sampler, std::int64_t then_pass_ns = kSecond) {
    sampler->sample({clock_.monotonic_ns(), processes_}, sink());
    clock_.advance(then_pass_ns);
  }

  // Ends the record. What can be asked of it afterwards stays good.
  void close() {
    if (sink_) {
      sink_->flush();
      sink_.reset();
    }
    EXPECT_EQ(writer_->close().dropped, 0U);
    record::Reader reader = open_reader();
    std::map<std::int64_t, std::pair<std::string, std::string>> names;
    series_ = reader.all<record::Series>().value();
    for (const record::Series& series : series_) {
      names[series.id] = {series.name, series.subject};
    }
    for (const auto& row : rows<record::CounterSample>(reader)) {
      counters_.rows[names.at(row.series)].push_back(row);
    }
    for (const auto& row : rows<record::GaugeSample>(reader)) {
      gauges_.rows[names.at(row.series)].push_back(row);
    }
    events_ = reader.all<record::Event>().value();
  }

  std::vector<std::string> kinds_of_events() const {
    std::vector<std::string> kinds;
    for (const record::Event& event : events_) {
      kinds.push_back(event.kind + " " + event.subject);
    }
    return kinds;
  }

  fakes::HostTree tree_ = fakes::HostTree::from_text("");
  job::JobProcesses processes_;
  std::unique_ptr<record::Writer> writer_ = open_writer();
  std::unique_ptr<Sink> sink_;
  Found<record::CounterSample> counters_;
  Found<record::GaugeSample> gauges_;
  std::vector<record::Series> series_;
  std::vector<record::Event> events_;
};

}  // namespace chokepoint::capture::counter
