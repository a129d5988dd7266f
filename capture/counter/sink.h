// What samplers write to: the series of the record, by name and subject, events, and what could not
// be seen. A series asked for again is the same one, so what comes back goes on where it was. One
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/counter/series.h"

namespace chokepoint::capture::counter {

class Sink {
 public:
  // The writer outlives it.
  explicit Sink(record::Writer& writer)
      : writer_(&writer), producer_(writer.producer("counters")) {}
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  // References stay good as long as the sink.
  Counter& counter(const SeriesName& name, Keep keep = Keep::OnceChanged, Wrap wrap = Wrap::Never);
  Level& level(const SeriesName& name, double tolerance = 0);
  Share& share(const SeriesName& name, double tolerance);

  // What other samplers saw last: a counter's growth, a share. Nothing where they saw none.
  std::optional<double> growth_per_s(std::string_view name, const std::string& subject) const;
  std::optional<double> latest_share(std::string_view name, const std::string& subject) const;

  // `detail` is JSON.
  void event(std::int64_t now_ns, std::string_view kind, std::string_view subject,
             std::string detail);
  // Told once, however often it is found.
  void remark(const std::string& text);
  const std::vector<std::string>& remarks() const { return remarks_; }

  // What is still kept back, into the record.
  void flush();

 private:
  using Key = std::pair<std::string, std::string>;

  Track track(const SeriesName& name, record::SeriesKind kind);

  record::Writer* writer_;
  record::Producer producer_;
  std::map<Key, Counter> counters_;
  std::map<Key, Level> levels_;
  std::map<Key, Share> shares_;
  std::vector<std::string> remarks_;
  std::set<std::string> remarked_;
};

}  // namespace chokepoint::capture::counter
