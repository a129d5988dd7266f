#include "tests/analysis/export/trace_tracks.h"

#include <fmt/format.h>

#include <set>

#include "base/cli/text.h"

namespace chokepoint::analysis {
namespace {

using protozero::pbf_reader;

class TrackReader {
 public:
  explicit TrackReader(const OnFault& fault) : fault_(fault) {}

  DescribedTrack track(pbf_reader message) {
    TraceTrack own;
    std::uint64_t uuid = 0;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          uuid = message.get_uint64();
          break;
        case 2:
          own.name = text(message);
          break;
        case 3:
          process(message.get_message(), own);
          break;
        case 5:
          own.parent = message.get_uint64();
          break;
        case 8:
          counter(message.get_message(), own);
          break;
        case 11:
          fault(message.get_enum() == 3, "children in no order");
          break;
        case 12:
          message.get_int32();
          break;
        default:
          unknown("track", message);
      }
    }
    return {uuid, own};
  }

 private:
  void fault(bool is_well, const std::string& what) const { fault_(is_well, what); }
  std::string text(pbf_reader& message) const { return read_text(message, fault_); }
  void unknown(const char* where, pbf_reader& message) const {
    fault(false, fmt::format("field {} of a {} is not known", message.tag(), where));
    message.skip();
  }

  void process(pbf_reader message, TraceTrack& own) {
    own.is_process = true;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          own.pid = message.get_int32();
          break;
        case 2:
          own.command = text(message);
          break;
        case 6:
          own.name = text(message);
          break;
        case 8:
          text(message);
          break;
        default:
          unknown("process", message);
      }
    }
  }

  void counter(pbf_reader message, TraceTrack& own) {
    own.is_counter = true;
    while (message.next()) {
      if (message.tag() == 3) {
        own.unit = message.get_enum() == 3 ? "bytes" : "count";
      } else if (message.tag() == 6) {
        own.unit = text(message);
      } else {
        unknown("counter", message);
      }
    }
    fault(!own.unit.empty(), "a counter without a unit");
  }

  const OnFault& fault_;
};

}  // namespace

DescribedTrack read_track(pbf_reader message, const OnFault& fault) {
  return TrackReader(fault).track(message);
}

std::string read_text(pbf_reader& message, const OnFault& fault) {
  const auto view = message.get_view();
  std::string own(view.data(), view.size());
  fault(cli::valid_utf8(own) == own, "text that is not UTF-8: " + cli::valid_utf8(own));
  return own;
}

std::string TraceContent::path_of(std::uint64_t track) const {
  const auto found = tracks.find(track);
  if (found == tracks.end()) {
    return "?";
  }
  return (found->second.parent == 0 ? "" : path_of(found->second.parent) + "/") +
         found->second.name;
}

std::vector<TraceEvent> TraceContent::on(const std::string& path) const {
  std::set<std::uint64_t> wanted;
  for (const auto& [uuid, track] : tracks) {
    if (path_of(uuid) == path) {
      wanted.insert(uuid);
    }
  }
  std::vector<TraceEvent> found;
  for (const TraceEvent& event : events) {
    if (wanted.contains(event.track)) {
      found.push_back(event);
    }
  }
  return found;
}

}  // namespace chokepoint::analysis
