#include "analysis/evidence/profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include <nlohmann/json.hpp>

#include "analysis/evidence/source.h"
#include "base/sys/number.h"
#include "base/sys/ranks.h"

namespace chokepoint::analysis {
namespace {

using json::Json;

constexpr std::size_t kMaxSpans = std::size_t{2} << 20;
constexpr std::size_t kMaxTraceSteps = 100'000;
constexpr std::size_t kMaxTraceGroups = 4096;
constexpr std::size_t kMaxTokenBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxTraceBytes = std::size_t{16} << 30;  // unpacked
constexpr std::size_t kMaxNameBytes = 256;
constexpr double kMaxTimeUs = 4e15;  // the year 2096, as microseconds
constexpr std::uint64_t kMaxTimeNs = 4'000'000'000'000'000'000;

struct TraceSpan {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

struct TraceStep {
  std::uint64_t number = 0;
  TraceSpan span = {};
};

struct TraceCollective {
  std::uint32_t group = 0;
  TraceSpan span = {};
};

// Of the event that is being read.
struct TraceEvent {
  std::string phase = {};
  std::string category = {};
  std::string name = {};
  std::string collective = {};     // args' "Collective name"
  std::string process_group = {};  // args' "Process Group Name"
  double start_us = -1;
  double length_us = -1;
};

struct ReadTrace {
  std::vector<TraceStep> steps = {};      // of the processor's track
  std::vector<TraceStep> gpu_steps = {};  // of the GPU's
  std::vector<TraceSpan> computing = {};
  std::vector<TraceSpan> copying = {};
  std::vector<TraceCollective> kernels = {};       // NCCL's
  std::vector<TraceCollective> on_processor = {};  // Gloo's, which has no kernels
  std::vector<std::string> groups = {};
  std::map<std::string, std::uint32_t> group_places = {};
  std::optional<std::int64_t> rank = {};
  std::int64_t base_ns = 0;
  std::uint64_t events = 0;
  std::uint64_t left_out = 0;
  std::size_t spans = 0;
};

std::int64_t ns_of(double us) { return std::llround(us * 1e3); }

class TraceReader final : public nlohmann::json_sax<Json> {
 public:
  explicit TraceReader(std::size_t& token_bytes) : token_bytes_(token_bytes) {}

  ReadTrace take() { return std::move(trace_); }
  const std::string& flaw() const { return flaw_; }
  bool has_events() const { return has_events_; }

  bool null() override { return token(); }
  bool boolean(bool /*value*/) override { return token(); }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ == 1 && key_ == "baseTimeNanoseconds" && value < kMaxTimeNs) {
      trace_.base_ns = static_cast<std::int64_t>(value);
    }
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return number(value);
  }
  bool string(string_t& value) override {
    if (is_in_event()) {
      text_of_event(value);
    } else if (is_in_args()) {
      text_of_args(value);
    }
    return token();
  }
  bool binary(binary_t& /*value*/) override { return token(); }

  bool start_object(std::size_t /*elements*/) override {
    ++depth_;
    if (is_in_event()) {
      event_ = TraceEvent{};
    }
    is_distributed_ = depth_ == 2 && !is_listing() && key_ == "distributedInfo";
    is_args_ = events_depth_ > 0 && depth_ == events_depth_ + 2 && key_ == "args";
    key_.clear();
    return token();
  }
  bool end_object() override {
    if (is_in_event()) {
      keep();
    }
    --depth_;
    is_distributed_ = false;
    is_args_ = false;
    return token();
  }
  bool start_array(std::size_t /*elements*/) override {
    ++depth_;
    const bool is_list = depth_ == 1 || (depth_ == 2 && key_ == "traceEvents");
    if (is_list && events_depth_ == 0) {
      events_depth_ = depth_;
      has_events_ = true;
    }
    key_.clear();
    return token();
  }
  bool end_array() override {
    if (depth_ == events_depth_) {
      events_depth_ = 0;
    }
    --depth_;
    return token();
  }
  bool key(string_t& value) override {
    key_.assign(value, 0, kMaxNameBytes);
    return token();
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const Json::exception& /*error*/) override {
    flaw_ = "its JSON is damaged or cut off";
    return false;
  }

 private:
  bool is_listing() const { return events_depth_ > 0; }
  bool is_in_event() const { return events_depth_ > 0 && depth_ == events_depth_ + 1; }
  bool is_in_args() const { return is_args_ && depth_ == events_depth_ + 2; }

  bool token() {
    token_bytes_ = 0;
    if (depth_ > json::kMaxDepth) {
      flaw_ = "is nested too deeply";
    }
    return flaw_.empty();
  }

  bool number(double value) {
    if (is_in_event() && std::isfinite(value) && value >= 0 && value < kMaxTimeUs) {
      event_.start_us = key_ == "ts" ? value : event_.start_us;
      event_.length_us = key_ == "dur" ? value : event_.length_us;
    } else if (is_distributed_ && key_ == "rank" && value >= 0 && value < sys::kMostRanks) {
      trace_.rank = static_cast<std::int64_t>(value);
    }
    return token();
  }

  void text_of_event(const std::string& value) {
    if (key_ == "ph") {
      event_.phase.assign(value, 0, 4);
    } else if (key_ == "cat") {
      event_.category.assign(value, 0, kMaxNameBytes);
    } else if (key_ == "name") {
      event_.name.assign(value, 0, kMaxNameBytes);
    }
  }

  void text_of_args(const std::string& value) {
    if (key_ == "Collective name") {
      event_.collective.assign(value, 0, kMaxNameBytes);
    } else if (key_ == "Process Group Name") {
      event_.process_group.assign(value, 0, kMaxNameBytes);
    }
  }

  void keep() {
    const bool is_span = event_.phase == "X" && event_.start_us >= 0 && event_.length_us >= 0;
    if (!is_span || event_.start_us + event_.length_us >= kMaxTimeUs) {
      return;
    }
    ++trace_.events;
    const TraceSpan span{ns_of(event_.start_us), ns_of(event_.start_us + event_.length_us)};
    if (event_.name.starts_with(kStep)) {
      keep_step(span);
    } else if (event_.category == "kernel" || event_.category == "Kernel") {
      is_of_nccl() ? keep_collective(span, trace_.kernels) : keep_span(span, trace_.computing);
    } else if (event_.category == "gpu_memcpy" || event_.category == "gpu_memset") {
      keep_span(span, trace_.copying);
    } else if (event_.name.starts_with("gloo:")) {
      keep_collective(span, trace_.on_processor);
    }
  }

  bool is_of_nccl() const {
    return event_.name.starts_with("nccl") || event_.name.starts_with("rccl");
  }

  void keep_step(const TraceSpan& span) {
    const auto number =
        sys::parse_number<std::uint64_t>(std::string_view(event_.name).substr(kStep.size()));
    auto& steps = event_.category.starts_with("gpu_") ? trace_.gpu_steps : trace_.steps;
    if (number && *number < UINT32_MAX && steps.size() < kMaxTraceSteps) {
      steps.push_back({.number = *number, .span = span});
    }
  }

  bool has_room() {
    const bool has = trace_.spans < kMaxSpans;
    trace_.spans += has ? 1 : 0;
    trace_.left_out += has ? 0 : 1;
    return has;
  }

  void keep_span(const TraceSpan& span, std::vector<TraceSpan>& into) {
    if (has_room()) {
      into.push_back(span);
    }
  }

  void keep_collective(const TraceSpan& span, std::vector<TraceCollective>& into) {
    const std::string& operation = event_.collective.empty() ? event_.name : event_.collective;
    const std::string name = event_.process_group + "/" + operation;
    const auto known = trace_.group_places.find(name);
    if (known == trace_.group_places.end() && trace_.groups.size() >= kMaxTraceGroups) {
      ++trace_.left_out;
      return;
    }
    if (!has_room()) {
      return;
    }
    std::uint32_t place = static_cast<std::uint32_t>(trace_.groups.size());
    if (known == trace_.group_places.end()) {
      trace_.groups.push_back(name);
      trace_.group_places[name] = place;
    } else {
      place = known->second;
    }
    into.push_back({.group = place, .span = span});
  }

  static constexpr std::string_view kStep = "ProfilerStep#";

  std::size_t& token_bytes_;
  ReadTrace trace_;
  TraceEvent event_;
  std::string key_;  // the last of the object that is being read
  std::string flaw_;
  int depth_ = 0;
  int events_depth_ = 0;  // of the list of events, while it is being read
  bool has_events_ = false;
  bool is_distributed_ = false;
  bool is_args_ = false;
};

// Letters for nlohmann's parser, which would take a text of any length: it ends early there.
class Letters {
 public:
  using difference_type = std::ptrdiff_t;
  using value_type = char;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;

  struct State {
    ByteSource& source;
    std::vector<char> piece = std::vector<char>(std::size_t{256} << 10);
    std::size_t at = 0;
    std::size_t filled = 0;
    std::size_t token_bytes = 0;
    std::size_t all_bytes = 0;

    bool has_letter() {
      if (at == filled) {
        all_bytes += filled;
        at = 0;
        filled = source.read(piece);
      }
      return filled > 0 && token_bytes < kMaxTokenBytes && all_bytes < kMaxTraceBytes;
    }
  };

  Letters() = default;
  explicit Letters(State& state) : state_(state.has_letter() ? &state : nullptr) {}

  reference operator*() const { return state_->piece[state_->at]; }
  Letters& operator++() {
    ++state_->at;
    ++state_->token_bytes;
    state_ = state_->has_letter() ? state_ : nullptr;
    return *this;
  }
  bool operator==(const Letters& other) const { return state_ == other.state_; }

 private:
  State* state_ = nullptr;
};

void unite(std::vector<TraceSpan>& spans) {
  std::ranges::sort(spans, {}, &TraceSpan::start_ns);
  std::size_t last = 0;
  for (std::size_t at = 1; at < spans.size(); ++at) {
    if (spans[at].start_ns <= spans[last].end_ns) {
      spans[last].end_ns = std::max(spans[last].end_ns, spans[at].end_ns);
    } else {
      spans[++last] = spans[at];
    }
  }
  spans.resize(spans.empty() ? 0 : last + 1);
}

// How much of `spans` lies in the window; all are united.
std::int64_t within(const std::vector<TraceSpan>& spans, const TraceSpan& window) {
  std::int64_t sum_ns = 0;
  for (const TraceSpan& span : spans) {
    sum_ns += std::max<std::int64_t>(
        0, std::min(span.end_ns, window.end_ns) - std::max(span.start_ns, window.start_ns));
  }
  return sum_ns;
}

std::vector<TraceSpan> both(const std::vector<TraceSpan>& one,
                            const std::vector<TraceSpan>& other) {
  std::vector<TraceSpan> all(one);
  all.insert(all.end(), other.begin(), other.end());
  unite(all);
  return all;
}

GpuTime gpu_time(ReadTrace& trace, const TraceSpan& window) {
  std::vector<TraceSpan> collectives;
  std::ranges::transform(trace.kernels, std::back_inserter(collectives), &TraceCollective::span);
  unite(collectives);
  unite(trace.computing);
  unite(trace.copying);
  const auto kernels = both(trace.computing, collectives);
  const std::int64_t computing_ns = within(trace.computing, window);
  const std::int64_t kernels_ns = within(kernels, window);
  return {.window_ns = window.end_ns - window.start_ns,
          .computing_ns = computing_ns,
          .exposed_ns = kernels_ns - computing_ns,
          .copying_ns = within(both(kernels, trace.copying), window) - kernels_ns};
}

// Which step it began in: those of the GPU's track, else of the processor's; 0 before the first.
std::uint64_t step_at(const std::vector<TraceStep>& steps, std::int64_t t_ns) {
  const auto after = std::ranges::upper_bound(
      steps, t_ns, {}, [](const TraceStep& step) { return step.span.start_ns; });
  return after == steps.begin() ? 0 : std::prev(after)->number + 1;
}

// A number that is the same at every rank: the step, and the place among the group's of that step.
void number_collectives(std::vector<TraceCollective>& collectives,
                        const std::vector<TraceStep>& steps, std::size_t groups,
                        std::vector<CollectiveTime>& into) {
  constexpr unsigned kPlaceBits = 24;
  std::ranges::stable_sort(collectives, {},
                           [](const TraceCollective& each) { return each.span.start_ns; });
  std::vector<std::uint64_t> place(groups, 0);
  std::uint64_t before = 0;
  for (const TraceCollective& each : collectives) {
    const std::uint64_t step = step_at(steps, each.span.start_ns);
    if (step != before) {
      std::ranges::fill(place, 0);
      before = step;
    }
    into.push_back({.group = each.group,
                    .number = step << kPlaceBits | (place[each.group]++ & ((1U << kPlaceBits) - 1)),
                    .length_ns = each.span.end_ns - each.span.start_ns});
  }
}

ToolFile evidence_of(ReadTrace trace, const std::string& file) {
  ToolFile evidence{.tool = Tool::Profiler, .file = file};
  RankRecord own{.rank = trace.rank ? trace.rank : rank_in_name(file, false)};
  const auto start = [](const TraceStep& step) { return step.span.start_ns; };
  std::ranges::sort(trace.steps, {}, start);
  std::ranges::sort(trace.gpu_steps, {}, start);
  const std::vector<TraceStep>& gpu_steps = trace.gpu_steps.empty() ? trace.steps : trace.gpu_steps;
  const std::vector<TraceStep>& steps = trace.steps.empty() ? trace.gpu_steps : trace.steps;
  for (const TraceStep& step : steps) {
    own.steps.push_back({step.span.start_ns + trace.base_ns, step.span.end_ns + trace.base_ns});
    evidence.span.include(own.steps.back().start_ns, own.steps.back().end_ns);
  }
  const bool is_nccl = !trace.kernels.empty();
  if (!gpu_steps.empty() && (is_nccl || !trace.computing.empty())) {
    const TraceSpan window{gpu_steps.front().span.start_ns, gpu_steps.back().span.end_ns};
    own.gpu = gpu_time(trace, window);
  }
  number_collectives(is_nccl ? trace.kernels : trace.on_processor, gpu_steps, trace.groups.size(),
                     own.collectives);
  own.groups = std::move(trace.groups);
  evidence.ranks.push_back(std::move(own));
  if (trace.left_out > 0) {
    evidence.left_out.push_back(
        fmt::format("{} spans were left out: a trace may have {}", trace.left_out, kMaxSpans));
  }
  return evidence;
}

}  // namespace

Result<ToolFile> read_profiler(ByteSource& source, const std::string& file) {
  Letters::State state{.source = source};
  TraceReader reader(state.token_bytes);
  try {
    std::ignore = Json::sax_parse(Letters(state), Letters(), &reader);
  } catch (const Json::exception&) {
    return malformed(file, "is a trace with a number that is none");
  }
  const std::string flaw = source.flaw().empty() ? reader.flaw() : source.flaw();
  if (!reader.has_events() || (!flaw.empty() && reader.flaw() == "is nested too deeply")) {
    return malformed(file, flaw.empty() ? "is a trace without events" : flaw);
  }
  ReadTrace trace = reader.take();
  if (trace.events == 0) {
    return malformed(file, flaw.empty() ? "is a trace without events" : flaw);
  }
  ToolFile evidence = evidence_of(std::move(trace), file);
  if (!flaw.empty()) {
    evidence.left_out.push_back(flaw + ": what stands before that is used");
  }
  return evidence;
}

}  // namespace chokepoint::analysis
