#include "analysis/evidence/flight_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "analysis/evidence/pickle.h"
#include "analysis/evidence/source.h"
#include "analysis/evidence/values.h"
#include "base/sys/number.h"
#include "base/sys/ranks.h"

namespace chokepoint::analysis {
namespace {

using json::Json;

constexpr std::size_t kMaxGroups = 4096;
constexpr std::size_t kMaxEntries = std::size_t{1} << 20;
constexpr std::size_t kMaxEntryKeys = 128;
constexpr std::int64_t kSequenceCalls = 2000;  // the newest, among which a sequence is looked for
constexpr std::size_t kMaxTimesOfDump = 4096;  // of collectives, the newest
// Of a group: what is compared between ranks lies where calls are open, and shortly before.
constexpr std::size_t kMaxOpenKept = 16;  // the first ones, and as many of the last
constexpr std::size_t kMaxDoneKept = 24;  // the newest

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

bool is_of_gloo(std::string_view name) { return name.starts_with("gloo:"); }

// "nccl:all_reduce" -> "all_reduce".
std::string_view operation_of(std::string_view name) {
  return name.substr(name.find(':') == std::string_view::npos ? 0 : name.find(':') + 1)
      .substr(0, kMaxFieldBytes);
}

// "[[3,4],[5]]", no deeper than sizes are, and no longer than is read.
void write_value(const Values& values, Value value, int depth, std::string& text) {
  constexpr std::size_t kMaxTextBytes = 128;
  constexpr int kMaxListDepth = 3;
  if (text.size() >= kMaxTextBytes || depth > kMaxListDepth) {
    return;
  }
  if (value.is_text()) {
    text += fmt::format("{}", value.as_text().substr(0, kMaxTextBytes));
  } else if (const auto whole = value.as_whole()) {
    text += fmt::format("{}", *whole);
  } else if (value.is_list()) {
    text += '[';
    bool is_first = true;
    for (const Value& item : values.items(value)) {
      if (text.size() < kMaxTextBytes) {
        text += is_first ? "" : ",";
        write_value(values, item, depth + 1, text);
        is_first = false;
      }
    }
    text += ']';
  }
}

std::string text_of(const Values& values, Value value) {
  std::string text;
  if (value.is_list()) {
    write_value(values, value, 0, text);
  }
  return text;
}

// Of a collective: what a counter could reach, so that one more is a number still.
bool is_number(std::optional<std::int64_t> number) {
  return number && *number >= 0 && *number < std::int64_t{1} << 53;
}

// Views of the document's own texts.
Value values_of(const Json& json, Values& values) {
  if (json.is_array()) {
    const Value list = values.list();
    std::vector<Value> items;
    items.reserve(json.size());
    for (const Json& item : json) {
      items.push_back(values_of(item, values));
    }
    values.extend(list, items);
    return list;
  }
  if (json.is_object()) {
    const Value dictionary = values.dictionary();
    std::vector<Value> items;
    items.reserve(2 * json.size());
    for (const auto& [key, item] : json.items()) {
      items.push_back(Value::of(std::string_view(key)));
      items.push_back(values_of(item, values));
    }
    values.extend(dictionary, items);
    return dictionary;
  }
  if (json.is_string()) {
    return Value::of(std::string_view(json.get_ref<const std::string&>()));
  }
  if (const auto whole = whole_of(json)) {
    return Value::of(*whole);
  }
  return json.is_number()    ? Value::of(json.get<double>())
         : json.is_boolean() ? Value::of(json.get<bool>())
                             : Value();
}

// Which of the newest calls follow another as they never did before. `keys` are calls in order.
bool leaves_sequence(const std::vector<std::size_t>& keys) {
  constexpr std::size_t kNewest = 12;
  constexpr int kMinTimes = 2;  // that a call was there before, so that what follows it is known
  std::unordered_map<std::size_t, int> times;
  std::unordered_set<std::size_t> pairs;
  for (std::size_t at = 1; at < keys.size(); ++at) {
    const std::size_t pair = keys[at - 1] * 0x9e3779b97f4a7c15 + keys[at];
    const bool is_new = pairs.insert(pair).second;
    if (is_new && at + kNewest >= keys.size() && times[keys[at - 1]] >= kMinTimes) {
      return true;
    }
    ++times[keys[at - 1]];
  }
  return false;
}

class Dump {
 public:
  Dump(const Values& values, Value document, const std::string& file)
      : values_(values), document_(document) {
    evidence_.tool = Tool::FlightRecorder;
    evidence_.file = file;
    own_.rank = rank_in_name(file, true);
  }

  Result<ToolFile> read() {
    add_groups();
    const std::span<const Value> entries = values_.items(member_of(document_, "entries"));
    const std::span<const Value> read = entries.last(std::min(entries.size(), kMaxEntries));
    const auto count = static_cast<std::int64_t>(read.size());
    for (const Value& entry : read) {
      is_late_ = order_ + kSequenceCalls >= count;
      add(entry);
      ++order_;
    }
    keep_calls();
    add_status();
    add_progress_of_gloo();
    if (own_.states.empty()) {
      return malformed(evidence_.file, "is a Flight Recorder's dump without any process group");
    }
    if (!own_.rank) {
      evidence_.left_out.emplace_back("its name has no number, so its rank is not known");
    }
    own_.leaves_sequence = leaves_sequence(keys_);
    evidence_.ranks.push_back(std::move(own_));
    return std::move(evidence_);
  }

 private:
  // An entry, before it is known which of a group's are kept.
  struct Entry {
    std::int64_t number = 0;
    std::int64_t order = 0;
    std::int64_t created_ns = 0;
    Value value = {};
    bool is_completed = false;
  };
  struct Group {
    GroupState* state = nullptr;
    std::vector<Entry> entries = {};
    bool is_of_gloo = false;
  };

  Value member_of(Value dictionary, std::string_view key) const {
    return dictionary.is_dictionary() ? Key(key).in(values_.items(dictionary)) : Value();
  }

  std::span<const Value> items_of(const char* key) const {
    const Value dictionary = member_of(document_, key);
    return dictionary.is_dictionary() ? values_.items(dictionary) : std::span<const Value>();
  }

  // A key of a dictionary of groups: their names or numbers, as texts.
  static std::string name_of(Value key) {
    const auto whole = key.kind == Value::Kind::Whole ? key.as_whole() : std::nullopt;
    return whole ? fmt::format("{}", *whole) : std::string(key.as_text().substr(0, kMaxFieldBytes));
  }

  void add_groups() {
    const auto items = items_of("pg_config");
    for (std::size_t at = 0; at + 1 < items.size(); at += 2) {
      const std::string key = name_of(items[at]);
      GroupState* state = key.empty() ? nullptr : state_of(key);
      if (state != nullptr) {
        state->members = members_in(member_of(items[at + 1], "ranks").as_text());
        state->label = member_of(items[at + 1], "desc").as_text().substr(0, kMaxFieldBytes);
      }
    }
  }

  GroupState* state_of(const std::string& name) {
    const auto found = own_.states.find(name);
    if (found != own_.states.end()) {
      return &found->second;
    }
    return own_.states.size() < kMaxGroups ? &own_.states[name] : nullptr;
  }

  // nullptr where there are too many.
  Group* group_of(std::string_view name, Value pair) {
    const auto found = groups_.find(name);
    if (found != groups_.end()) {
      return &found->second;
    }
    GroupState* state = state_of(std::string(name.substr(0, kMaxFieldBytes)));
    if (state == nullptr) {
      return nullptr;
    }
    const std::span<const Value> parts = values_.items(pair);
    if (parts.size() > 1 && state->label.empty()) {
      state->label = parts[1].as_text().substr(0, kMaxFieldBytes);
    }
    return &groups_.emplace(name, Group{.state = state}).first->second;
  }

  void add(Value entry) {
    const std::span<const Value> items = values_.items(entry);
    if (!entry.is_dictionary() || items.size() > 2 * kMaxEntryKeys) {
      return;
    }
    const auto in = [&](Key& key) { return key.in(items); };
    const Value pair = in(process_group_);
    const std::span<const Value> names =
        pair.is_list() ? values_.items(pair) : std::span<const Value>();
    const std::string_view name = names.empty() ? "" : names[0].as_text();
    const std::int64_t created = in(created_).as_whole().value_or(0);
    if (created > 0) {
      const auto done = in(completed_).as_whole();
      evidence_.span.include(created, std::max(created, done.value_or(created)));
    }
    Group* group = name.empty() ? nullptr : group_of(name, pair);
    const auto number = in(number_).as_whole();
    if (group == nullptr) {
      return;
    }
    const std::string_view operation = in(name_).as_text();
    if (const auto id = in(group_id_).as_whole()) {
      numbers_[*id] = group;
    }
    group->is_of_gloo = group->is_of_gloo || is_of_gloo(operation);
    const bool is_completed = in(state_).as_text() == "completed" || in(retired_).is_true();
    const Entry read{.number = number.value_or(-1),
                     .order = order_,
                     .created_ns = created,
                     .value = entry,
                     .is_completed = is_completed};
    if (in(is_message_).is_true()) {
      return add_message(read, operation_of(operation), *group);
    }
    if (!is_number(number)) {
      return;
    }
    if (is_late_) {
      keys_.push_back(std::hash<std::string_view>()(name) * 31 +
                      std::hash<std::string_view>()(operation));
    }
    GroupState& state = *group->state;
    state.called = std::max(state.called, *number);
    state.enqueued = std::max(state.enqueued, *number);
    state.completed = is_completed ? std::max(state.completed, *number) : state.completed;
    group->entries.push_back(read);
    add_time(in(duration_).as_number(), name, *number);
  }

  // "send 0->3", "recv 3<-0"
  void add_message(const Entry& read, std::string_view what, Group& group) {
    constexpr std::size_t kMaxMessages = 64;
    GroupState& state = *group.state;
    const auto number = member_of(read.value, "p2p_seq_id").as_whole();
    state.has_messages = true;
    state.message_number =
        is_number(number) ? std::max(state.message_number, *number) : state.message_number;
    // The number of collectives until then.
    state.called = is_number(read.number) ? std::max(state.called, read.number) : state.called;
    const std::size_t arrow = std::min(what.find("->"), what.find("<-"));
    const std::size_t blank = what.find(' ');
    if (read.is_completed || arrow == std::string_view::npos || blank == std::string_view::npos ||
        blank > arrow || state.messages.size() >= kMaxMessages) {
      return;
    }
    const auto left = sys::parse_number<std::int64_t>(what.substr(blank + 1, arrow - blank - 1));
    const auto right = sys::parse_number<std::int64_t>(what.substr(arrow + 2));
    if (!is_rank(left) || !is_rank(right) || !is_number(number)) {
      return;
    }
    const bool is_sent = what[arrow] == '-';
    state.messages.push_back({.what = std::string(what),
                              .from = is_sent ? *left : *right,
                              .to = is_sent ? *right : *left,
                              .is_sent = is_sent,
                              .number = *number,
                              .created_ns = read.created_ns,
                              .order = read.order});
  }

  // Only with TORCH_NCCL_ENABLE_TIMING.
  void add_time(std::optional<double> ms, std::string_view name, std::int64_t number) {
    constexpr double kMaxCallMs = 1e9;
    if (!ms || !(*ms > 0) || *ms > kMaxCallMs) {
      return;
    }
    const auto known = std::ranges::find(own_.groups, name);
    const auto group = static_cast<std::uint32_t>(known - own_.groups.begin());
    if (known == own_.groups.end()) {
      own_.groups.emplace_back(name);
    }
    std::vector<CollectiveTime>& times = own_.collectives;
    if (times.size() >= 2 * kMaxTimesOfDump) {
      times.erase(times.begin(), times.end() - kMaxTimesOfDump);
    }
    times.push_back({.group = group,
                     .number = static_cast<std::uint64_t>(number),
                     .length_ns = std::llround(*ms * 1e6)});
  }

  void keep_calls() {
    for (auto& [name, group] : groups_) {
      std::vector<Entry>& entries = group.entries;
      std::ranges::stable_sort(entries, {}, &Entry::number);
      std::size_t opened = 0;
      for (const Entry& entry : entries) {
        if (!entry.is_completed && opened < kMaxOpenKept) {
          keep(entry, *group.state);
          ++opened;
        }
      }
      std::size_t open = 0;
      std::size_t done = 0;
      for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
        std::size_t& count = entry->is_completed ? done : open;
        if (count < (entry->is_completed ? kMaxDoneKept : kMaxOpenKept)) {
          keep(*entry, *group.state);
          ++count;
        }
      }
    }
  }

  void keep(const Entry& entry, GroupState& state) const {
    const std::string_view operation =
        operation_of(member_of(entry.value, "profiling_name").as_text());
    const Value input = member_of(entry.value, "input_sizes");
    if (operation.find("all_gather") != std::string_view::npos) {
      state.least_members =
          std::max(state.least_members, times_in(member_of(entry.value, "output_sizes"), input));
    }
    state.calls.try_emplace(entry.number,
                            Call{.operation = std::string(operation),
                                 .sizes = text_of(values_, input),
                                 .types = text_of(values_, member_of(entry.value, "input_dtypes")),
                                 .site = site_of(entry.value),
                                 .is_started = is_started(entry),
                                 .is_completed = entry.is_completed,
                                 .created_ns = entry.created_ns,
                                 .order = entry.order});
  }

  bool is_started(const Entry& entry) const {
    const std::int64_t at_ns =
        member_of(entry.value, "time_discovered_started_ns").as_whole().value_or(0);
    return at_ns > 0 || member_of(entry.value, "state").as_text() == "started";
  }

  // How many elements the sizes of some tensors have together; 0 where they have none, or too many.
  std::int64_t elements_in(Value sizes) const {
    constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
    std::int64_t sum = 0;
    for (const Value& tensor : values_.items(sizes)) {
      std::int64_t product = 1;
      for (const Value& size : values_.items(tensor)) {
        const std::int64_t length = size.as_whole().value_or(0);
        if (length <= 0 || length > kMostElements / product) {
          return 0;
        }
        product *= length;
      }
      sum += product;
      if (sum > kMostElements) {
        return 0;
      }
    }
    return sum;
  }

  // What is gathered is so many times as large as what a rank gives.
  std::size_t times_in(Value output, Value input) const {
    const std::int64_t of_one = elements_in(input);
    const std::int64_t of_all = elements_in(output);
    return of_one > 0 && of_all % of_one == 0 ? static_cast<std::size_t>(of_all / of_one) : 0;
  }

  // The innermost line that is none of PyTorch's.
  std::string site_of(Value entry) const {
    constexpr std::size_t kMaxFrames = 64;
    const std::span<const Value> frames = values_.items(member_of(entry, "frames"));
    for (const Value& frame : frames.first(std::min(frames.size(), kMaxFrames))) {
      const std::string_view file = member_of(frame, "filename").as_text();
      const auto line = member_of(frame, "line").as_whole();
      if (!file.empty() && line && file.find("/torch/") == std::string_view::npos) {
        const std::size_t slash = file.rfind('/');
        return fmt::format(
            "{}:{}",
            file.substr(slash == std::string_view::npos ? 0 : slash + 1).substr(0, kMaxFieldBytes),
            *line);
      }
    }
    return "";
  }

  // Its keys are the groups' numbers within this process. Entries join these to names; where a
  // group has no entry, so do the two lists, which are in the same order.
  void add_status() {
    std::map<std::int64_t, Value> status;
    const auto items = items_of("pg_status");
    for (std::size_t at = 0; at + 1 < items.size(); at += 2) {
      if (const auto id = sys::parse_number<std::int64_t>(name_of(items[at]))) {
        status[*id] = items[at + 1];
      }
    }
    const std::map<std::int64_t, GroupState*> joined = joined_by_order(status);
    for (const auto& [id, group] : status) {
      const auto found = numbers_.find(id);
      const auto ordered = joined.find(id);
      if (found != numbers_.end() && !found->second->is_of_gloo) {
        take_status(group, *found->second->state);
      } else if (found == numbers_.end() && ordered != joined.end()) {
        take_status(group, *ordered->second);
      }
    }
  }

  // Empty where the order contradicts an entry.
  std::map<std::int64_t, GroupState*> joined_by_order(const std::map<std::int64_t, Value>& status) {
    std::map<std::int64_t, GroupState*> by_name;
    const auto items = items_of("pg_config");
    for (std::size_t at = 0; at + 1 < items.size(); at += 2) {
      const std::string key = name_of(items[at]);
      const auto name = sys::parse_number<std::int64_t>(key);
      if (name && own_.states.contains(key)) {
        by_name[*name] = &own_.states[key];
      }
    }
    std::map<std::int64_t, GroupState*> joined;
    const bool is_one_to_one =
        by_name.size() == status.size() && 2 * by_name.size() == items.size();
    for (auto [id, name] = std::pair(status.begin(), by_name.begin());
         is_one_to_one && id != status.end(); ++id, ++name) {
      const auto known = numbers_.find(id->first);
      if (known != numbers_.end() && known->second->state != name->second) {
        return {};
      }
      joined[id->first] = name->second;
    }
    return joined;
  }

  // What the ring has lost is counted here still.
  void take_status(Value status, GroupState& state) const {
    const auto take = [&](const char* field, std::int64_t& into) {
      const auto number = member_of(status, field).as_whole();
      into = is_number(number) ? std::max(into, *number) : into;
    };
    take("last_enqueued_collective", state.enqueued);
    take("last_completed_collective", state.completed);
  }

  // Its calls may end in another order than they began. What the ring has lost is over.
  void add_progress_of_gloo() {
    for (auto& [name, group] : groups_) {
      if (group.is_of_gloo) {
        GroupState& state = *group.state;
        const auto waits = std::ranges::find(group.entries, false, &Entry::is_completed);
        state.completed = waits == group.entries.end() ? state.enqueued : waits->number - 1;
      }
    }
  }

  const Values& values_;
  Value document_;
  ToolFile evidence_;
  RankRecord own_;
  std::int64_t order_ = 0;
  std::unordered_map<std::string_view, Group> groups_;
  std::map<std::int64_t, Group*> numbers_;  // of groups, in this process
  std::vector<std::size_t> keys_;           // of the newest calls, in order
  bool is_late_ = false;                    // among the newest

  Key process_group_{"process_group"};
  Key created_{"time_created_ns"};
  Key completed_{"time_discovered_completed_ns"};
  Key number_{"collective_seq_id"};
  Key name_{"profiling_name"};
  Key group_id_{"pg_id"};
  Key state_{"state"};
  Key retired_{"retired"};
  Key is_message_{"is_p2p"};
  Key duration_{"duration_ms"};
};

}  // namespace

Result<ToolFile> read_flight_recorder(std::string_view bytes, const std::string& file) {
  constexpr char kPickle = '\x80';
  Values values;
  if (bytes.starts_with(kPickle)) {
    Result<Value> document = read_pickle(bytes, values);
    if (!document) {
      return malformed(file, "is a pickle that is not read: " + document.error().reason);
    }
    return Dump(values, *document, file).read();
  }
  TRY(const Json document, parsed_json(bytes, file));
  return Dump(values, values_of(document, values), file).read();
}

}  // namespace chokepoint::analysis
