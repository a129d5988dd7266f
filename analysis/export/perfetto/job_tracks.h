// What the job did on a node: steps, collectives and messages, and the waiting for whoever came
// last, each in rows of its rank. One thread.
#pragma once

#include <map>
#include <utility>

#include "analysis/export/perfetto/lanes.h"
#include "analysis/export/perfetto/links.h"
#include "analysis/export/perfetto/places.h"

namespace chokepoint::analysis {

class JobTracks {
 public:
  JobTracks(ExportedRun& run, const Links& links, Places& places, TraceWriter& trace)
      : run_(run), links_(links), places_(places), trace_(trace) {}

  void add(const record::Step& step);
  void add(const record::Collective& collective);
  // For which there was no room beside those that overlap them.
  std::uint64_t left_out() const { return left_out_; }

 private:
  Lanes& lanes(Track process, const std::string& name);
  Track process_of(const record::Collective& collective);
  void add_waiting(Track process, const record::Collective& collective, const std::string& peer);

  ExportedRun& run_;
  const Links& links_;
  Places& places_;
  TraceWriter& trace_;
  std::map<std::pair<Track, std::string>, Lanes> lanes_;
  std::uint64_t left_out_ = 0;
};

}  // namespace chokepoint::analysis
