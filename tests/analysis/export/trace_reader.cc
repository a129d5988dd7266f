#include "tests/analysis/export/trace_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include <protozero/pbf_reader.hpp>

#include "base/cli/text.h"
#include "tests/analysis/export/trace_tracks.h"

namespace chokepoint::analysis {
namespace {

using protozero::pbf_reader;
using Names = std::map<std::uint64_t, std::string>;

class TraceReader {
 public:
  TraceContent read(std::string_view bytes) {
    pbf_reader trace(bytes.data(), bytes.size());
    while (trace.next()) {
      if (trace.tag() == 1) {
        packet(trace.get_message());
      } else {
        unknown("trace", trace);
      }
    }
    for (const auto& [track, open] : open_) {
      fault(open.empty(),
            fmt::format("{} is left open on {}", open.size(), content_.path_of(track)));
    }
    return std::move(content_);
  }

 private:
  void fault(bool is_well, const std::string& what) {
    constexpr std::size_t kMost = 100;
    if (!is_well && content_.faults.size() < kMost) {
      content_.faults.push_back(what);
    }
  }
  void unknown(const char* where, pbf_reader& message) {
    fault(false, fmt::format("field {} of a {} is not known", message.tag(), where));
    message.skip();
  }
  std::string text(pbf_reader& message) {
    return read_text(message,
                     [this](bool is_well, const std::string& what) { fault(is_well, what); });
  }

  struct Parts {
    std::optional<std::uint64_t> time;
    std::optional<pbf_reader> event;
    std::optional<pbf_reader> descriptor;
    bool has_clock = false;
    std::uint32_t sequence = 0;
    std::uint32_t flags = 0;
  };

  void packet(pbf_reader message) {
    Parts parts;
    while (message.next()) {
      switch (message.tag()) {
        case 6:
          clock(message.get_message());
          parts.has_clock = true;
          break;
        case 8:
          parts.time = message.get_uint64();
          break;
        case 10:
          parts.sequence = message.get_uint32();
          break;
        case 11:
          parts.event = message.get_message();
          break;
        case 12:
          interned(message.get_message());
          break;
        case 13:
          parts.flags = message.get_uint32();
          break;
        case 60:
          parts.descriptor = message.get_message();
          break;
        default:
          unknown("packet", message);
      }
    }
    check(parts);
  }

  void check(const Parts& parts) {
    constexpr std::uint32_t kCleared = 1;
    fault(parts.sequence != 0, "a packet without a sequence");
    fault(is_first_ == ((parts.flags & kCleared) != 0),
          "state is cleared at the first packet alone");
    is_first_ = false;
    if (parts.descriptor) {
      track(*parts.descriptor);
    }
    if (parts.event) {
      event(*parts.event, parts);
    }
    fault(parts.descriptor || parts.event || parts.has_clock, "a packet of nothing");
  }

  void clock(pbf_reader message) {
    while (message.next()) {
      if (message.tag() != 1) {
        unknown("clock snapshot", message);
        continue;
      }
      pbf_reader one = message.get_message();
      while (one.next()) {
        one.tag() == 1   ? fault(one.get_uint32() < 64, "a clock of its own")
        : one.tag() == 2 ? fault(one.get_uint64() > 0, "a clock at 0")
                         : unknown("clock", one);
      }
    }
  }

  void interned(pbf_reader message) {
    while (message.next()) {
      if (message.tag() != 2 && message.tag() != 3) {
        unknown("interned data", message);
        continue;
      }
      Names& names = message.tag() == 2 ? names_ : note_names_;
      pbf_reader entry = message.get_message();
      std::uint64_t number = 0;
      std::string name;
      while (entry.next()) {
        entry.tag() == 1   ? void(number = entry.get_uint64())
        : entry.tag() == 2 ? void(name = text(entry))
                           : unknown("name", entry);
      }
      fault(number > 0 && names.emplace(number, name).second,
            fmt::format("name {} is given twice", number));
    }
  }

  void track(const pbf_reader& message) {
    const DescribedTrack described = read_track(
        message, [this](bool is_well, const std::string& what) { fault(is_well, what); });
    const TraceTrack& own = described.track;
    fault(!own.name.empty(), fmt::format("track {} has no name", described.uuid));
    fault(own.is_process == (own.parent == 0), own.name + " belongs to no process");
    fault(!own.is_process || (own.pid > 0 && pids_.insert(own.pid).second),
          "two processes of one number");
    fault(own.parent == 0 || content_.tracks.contains(own.parent),
          "the parent of " + own.name + " was not described before");
    fault(described.uuid > 0 && content_.tracks.emplace(described.uuid, own).second,
          fmt::format("track {} is described twice", described.uuid));
  }

  void note(pbf_reader message, TraceEvent& event) {
    std::string name;
    std::string value;
    while (message.next()) {
      switch (message.tag()) {
        case 1:
          name = named(note_names_, message.get_uint64());
          break;
        case 4:
          value = fmt::format("{}", message.get_int64());
          break;
        case 5:
          value = fmt::format("{}", message.get_double());
          break;
        case 6:
          value = text(message);
          break;
        default:
          unknown("note", message);
      }
    }
    fault(event.notes.emplace(name, value).second, "two notes " + name);
  }

  std::string named(const Names& names, std::uint64_t number) {
    const auto found = names.find(number);
    fault(found != names.end(), fmt::format("name {} was not given before", number));
    return found == names.end() ? "" : found->second;
  }

  void event(pbf_reader message, const Parts& parts) {
    constexpr std::uint32_t kNeedsState = 2;
    TraceEvent own;
    bool has_number = false;
    int values = 0;
    while (message.next()) {
      switch (message.tag()) {
        case 4:
          note(message.get_message(), own);
          has_number = true;
          break;
        case 9:
          own.type = message.get_enum();
          break;
        case 10:
          own.name = named(names_, message.get_uint64());
          has_number = true;
          break;
        case 11:
          own.track = message.get_uint64();
          break;
        case 23:
          own.name = text(message);
          break;
        case 30:
          own.value = static_cast<double>(message.get_int64());
          ++values;
          break;
        case 44:
          own.value = message.get_double();
          ++values;
          break;
        case 47:
          own.links.push_back(message.get_fixed64());
          break;
        default:
          unknown("event", message);
      }
    }
    fault(!has_number || (parts.flags & kNeedsState) != 0, "names by number without saying so");
    fault(parts.time.has_value(), "an event without a time");
    own.time_ns = parts.time.value_or(0);
    place(own, values);
    content_.events.push_back(std::move(own));
  }

  void place(const TraceEvent& event, int values) {
    const auto track = content_.tracks.find(event.track);
    if (track == content_.tracks.end()) {
      return fault(false, fmt::format("track {} was not described before", event.track));
    }
    const std::string where = content_.path_of(event.track);
    fault((event.type == 4) == track->second.is_counter, where + " is of another kind");
    fault(values == (event.type == 4 ? 1 : 0) && std::isfinite(event.value), where + " has values");
    fault(event.type == 2 || event.type == 4 || !event.name.empty(), where + ": no name");
    fault(event.type >= 1 && event.type <= 4, where + ": no type");
    std::uint64_t& last = last_[event.track];
    fault((event.type == 3 || event.time_ns >= last) && event.time_ns > 0,
          where + " goes back in time");
    last = event.time_ns;
    std::vector<std::uint64_t>& open = open_[event.track];
    if (event.type == 1) {
      fault(open.empty() || event.time_ns >= open.back(), where + " does not nest");
      open.push_back(event.time_ns);
    } else if (event.type == 2) {
      fault(!open.empty(), where + " ends what was not begun");
      open.resize(open.empty() ? 0 : open.size() - 1);
    }
  }

  TraceContent content_;
  Names names_;
  Names note_names_;
  std::set<std::int64_t> pids_;
  std::map<std::uint64_t, std::uint64_t> last_;               // by track
  std::map<std::uint64_t, std::vector<std::uint64_t>> open_;  // by track
  bool is_first_ = true;
};

}  // namespace

TraceContent read_trace(std::string_view bytes) { return TraceReader().read(bytes); }

}  // namespace chokepoint::analysis
