#include "analysis/evidence/flight_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "analysis/evidence/pickle.h"
#include "analysis/evidence/source.h"
#include "base/sys/number.h"
#include "base/sys/ranks.h"

namespace chokepoint::analysis {
namespace {

using json::Json;

constexpr std::size_t kMaxCalls = 4096;  // of a group, the newest
constexpr std::size_t kMaxGroups = 4096;

// "[0, 1, 7]", a text in both forms.
std::vector<std::int64_t> members_in(std::string_view text) {
  std::vector<std::int64_t> members;
  for (std::size_t at = 0; at < text.size() && members.size() < sys::kMostRanks;) {
    const std::size_t begin = text.find_first_of("0123456789", at);
    if (begin == std::string_view::npos) {
      break;
    }
    const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    const auto rank = sys::parse_number<std::int64_t>(text.substr(begin, end - begin));
    if (is_rank(rank)) {
      members.push_back(*rank);
    }
    at = end;
  }
  return members;
}

bool is_of_gloo(const Json& entry) { return text_in(entry, "profiling_name").starts_with("gloo:"); }

// "nccl:all_reduce" -> "all_reduce".
std::string operation_of(const Json& entry) {
  const std::string name = text_in(entry, "profiling_name");
  const std::size_t colon = name.find(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

std::string sizes_of(const Json& entry) {
  constexpr std::size_t kMaxSizesBytes = 128;
  const Json& sizes = member(entry, "input_sizes");
  return sizes.is_array()
             ? sizes.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, kMaxSizesBytes)
             : "";
}

// Of a collective: what a counter could reach, so that one more is a number still.
bool is_number(std::optional<std::int64_t> number) {
  return number && *number >= 0 && *number < std::int64_t{1} << 53;
}

class Dump {
 public:
  Dump(const Json& document, const std::string& file) : document_(document) {
    evidence_.tool = Tool::FlightRecorder;
    evidence_.file = file;
    own_.rank = rank_in_name(file, true);
  }

  Result<ToolFile> read() {
    add_groups();
    for (const Json& entry : list_in(document_, "entries")) {
      add(entry);
    }
    add_status();
    add_progress_of_gloo();
    if (own_.states.empty()) {
      return malformed(evidence_.file, "is a Flight Recorder's dump without any process group");
    }
    if (!own_.rank) {
      evidence_.left_out.emplace_back("its name has no number, so nobody knows whose dump it is");
    }
    evidence_.ranks.push_back(std::move(own_));
    return std::move(evidence_);
  }

 private:
  void add_groups() {
    for (const auto& [key, group] : object_in(document_, "pg_config").items()) {
      GroupState* state = key.empty() ? nullptr : state_of(key);
      if (state != nullptr) {
        state->members = members_in(text_in_full(group, "ranks"));
      }
    }
  }

  // Of thousands of ranks the list is longer than other texts may be.
  static std::string text_in_full(const Json& object, const char* key) {
    const Json& value = member(object, key);
    return value.is_string() ? value.get<std::string>() : "";
  }

  GroupState* state_of(const std::string& name) {
    const auto found = own_.states.find(name);
    if (found != own_.states.end()) {
      return &found->second;
    }
    return own_.states.size() < kMaxGroups ? &own_.states[name] : nullptr;
  }

  void add(const Json& entry) {
    const Json& group = member(entry, "process_group");
    const std::string name = group.is_array() && !group.empty() && group[0].is_string()
                                 ? group[0].get<std::string>()
                                 : "";
    const auto number = whole_in(entry, "collective_seq_id");
    if (const auto created = whole_in(entry, "time_created_ns"); created && *created > 0) {
      const auto done = whole_in(entry, "time_discovered_completed_ns");
      evidence_.span.include(*created, std::max(*created, done.value_or(*created)));
    }
    const Json& is_message = member(entry, "is_p2p");
    GroupState* state = name.empty() ? nullptr : state_of(name);
    if (state == nullptr || !is_number(number) || is_message == Json(true)) {
      return;
    }
    if (const auto id = whole_in(entry, "pg_id")) {
      names_[std::to_string(*id)] = name;
    }
    if (is_of_gloo(entry)) {
      of_gloo_.insert(name);
    }
    const bool is_completed = text_in(entry, "state") == "completed" ||
                              (is_of_gloo(entry) && member(entry, "retired") == Json(true));
    state->enqueued = std::max(state->enqueued, *number);
    state->completed = is_completed ? std::max(state->completed, *number) : state->completed;
    state->calls[*number] = {
        .operation = operation_of(entry), .sizes = sizes_of(entry), .is_completed = is_completed};
    if (state->calls.size() > kMaxCalls) {
      state->calls.erase(state->calls.begin());
    }
    add_time(entry, name, *number);
  }

  // Only with TORCH_NCCL_ENABLE_TIMING.
  void add_time(const Json& entry, const std::string& name, std::int64_t number) {
    constexpr double kMaxCallMs = 1e9;
    const auto ms = number_in(entry, "duration_ms");
    if (!ms || !(*ms > 0) || *ms > kMaxCallMs) {
      return;
    }
    const auto known = std::ranges::find(own_.groups, name);
    const auto group = static_cast<std::uint32_t>(known - own_.groups.begin());
    if (known == own_.groups.end()) {
      own_.groups.push_back(name);
    }
    own_.collectives.push_back({.group = group,
                                .number = static_cast<std::uint64_t>(number),
                                .length_ns = std::llround(*ms * 1e6)});
  }

  // Its keys are the groups' numbers, which entries join to their names. What the ring has lost is
  // counted here still.
  void add_status() {
    for (const auto& [key, group] : object_in(document_, "pg_status").items()) {
      const auto name = names_.find(key);
      const auto state = own_.states.find(name == names_.end() ? key : name->second);
      if (state == own_.states.end() || of_gloo_.contains(state->first)) {
        continue;
      }
      const auto take = [&](const char* field, std::int64_t& into) {
        const auto number = whole_in(group, field);
        into = is_number(number) ? std::max(into, *number) : into;
      };
      take("last_enqueued_collective", state->second.enqueued);
      take("last_completed_collective", state->second.completed);
    }
  }

  // Its calls may end in another order than they began. What the ring has lost is over.
  void add_progress_of_gloo() {
    for (const std::string& name : of_gloo_) {
      GroupState& state = own_.states[name];
      const auto waits = std::ranges::find_if(
          state.calls, [](const auto& call) { return !call.second.is_completed; });
      state.completed = waits == state.calls.end() ? state.enqueued : waits->first - 1;
    }
  }

  const Json& document_;
  ToolFile evidence_;
  RankRecord own_;
  std::map<std::string, std::string> names_;  // of groups, by their number
  std::set<std::string> of_gloo_;             // names of groups
};

}  // namespace

Result<ToolFile> read_flight_recorder(std::string_view bytes, const std::string& file) {
  constexpr char kPickle = '\x80';
  if (bytes.starts_with(kPickle)) {
    Result<Json> document = unpickled(bytes, "frames");
    if (!document) {
      return malformed(file, "is a pickle that is not read: " + document.error().reason);
    }
    return Dump(*document, file).read();
  }
  TRY(const Json document, parsed_json(bytes, file));
  return Dump(document, file).read();
}

}  // namespace chokepoint::analysis
