#include "analysis/evidence/profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include <nlohmann/json.hpp>

#include "analysis/evidence/source.h"
#include "analysis/evidence/trace_spans.h"
#include "analysis/evidence/trace_times.h"
#include "base/sys/number.h"
#include "base/sys/ranks.h"

namespace chokepoint::analysis {
namespace {

using json::Json;

constexpr std::size_t kMaxTraceSteps = 100'000;
constexpr std::size_t kMaxTraceGroups = 4096;
constexpr std::size_t kMaxTokenBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxTraceBytes = std::size_t{16} << 30;  // unpacked
constexpr std::size_t kMaxNameBytes = 256;
constexpr double kMaxTimeUs = 4e15;  // the year 2096, as microseconds
constexpr std::uint64_t kMaxTimeNs = 4'000'000'000'000'000'000;

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

std::int64_t ns_of(double us) { return std::llround(us * 1e3); }

class TraceReader final : public nlohmann::json_sax<Json> {
 public:
  explicit TraceReader(std::size_t& token_bytes) : token_bytes_(token_bytes) {}

  TraceSpans take() { return std::move(trace_); }
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
    if (depth_ == 1 && key_ == "host_name") {
      trace_.host.assign(value, 0, kMaxNameBytes);
    } else if (is_in_event()) {
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
    } else if (is_distributed_ && key_ == "world_size" && value > 0 && value <= sys::kMostRanks) {
      trace_.ranks = static_cast<std::int64_t>(value);
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
    trace_.calls_gpu |= event_.category == "cuda_runtime" || event_.name.starts_with("nccl:");
    const Span span{ns_of(event_.start_us), ns_of(event_.start_us + event_.length_us)};
    const std::string& kind = event_.category;
    if (event_.name.starts_with(kStep)) {
      keep_step(span);
    } else if (kind == "kernel" || kind == "Kernel") {
      is_of_nccl() ? keep_collective(span, trace_.on_gpu) : keep_span(span, trace_.kernels);
    } else if (kind == "gpu_memcpy" || kind == "gpu_memset" || kind == "Memcpy") {
      keep_span(span, is_with_host() ? trace_.copies : trace_.kernels);
    } else if (event_.name.starts_with("gloo:")) {
      keep_collective(span, trace_.on_processor);
    } else if (event_.name.starts_with("enumerate(DataLoader)")) {
      keep_span(span, trace_.loading);
    } else if ((kind == "cpu_op" || kind == "Operator") && !starts_collective()) {
      keep_span(span, trace_.operators);
    }
  }

  bool is_of_nccl() const {
    return event_.name.starts_with("nccl") || event_.name.starts_with("rccl");
  }

  // Else it is work of the GPU alone: "Memcpy DtoD (Device -> Device)", "Memset (Device)".
  bool is_with_host() const { return event_.name.contains("HtoD") || event_.name.contains("DtoH"); }

  // These only hand one over.
  bool starts_collective() const {
    return event_.name.starts_with("c10d::") || event_.name.starts_with("nccl:") ||
           event_.name == "record_param_comms";
  }

  void keep_step(const Span& span) {
    const auto number =
        sys::parse_number<std::uint64_t>(std::string_view(event_.name).substr(kStep.size()));
    auto& steps = event_.category.starts_with("gpu_") ? trace_.gpu_steps : trace_.steps;
    if (number && *number < UINT32_MAX && steps.size() < kMaxTraceSteps) {
      steps.push_back({.number = *number, .span = span});
    }
  }

  // Nested spans and those that touch become one where there is no more room.
  bool has_room() {
    const auto all = [&] {
      return trace_.kernels.size() + trace_.operators.size() + trace_.copies.size() +
             trace_.loading.size() + trace_.on_gpu.size() + trace_.on_processor.size();
    };
    if (spans_ >= kMaxTraceSpans && !is_full_) {
      for (Spans* spans : {&trace_.kernels, &trace_.operators, &trace_.copies, &trace_.loading}) {
        *spans = united(std::move(*spans));
      }
      spans_ = all();
      is_full_ = spans_ > kMaxTraceSpans / 2;  // else each further span might cost another pass
    }
    const bool has = spans_ < kMaxTraceSpans;
    spans_ += has ? 1 : 0;
    trace_.left_out += has ? 0 : 1;
    return has;
  }

  void keep_span(const Span& span, Spans& into) {
    if (has_room()) {
      into.push_back(span);
    }
  }

  void keep_collective(const Span& span, std::vector<TraceCollective>& into) {
    const std::string& operation = event_.collective.empty() ? event_.name : event_.collective;
    const std::string name = event_.process_group + "/" + operation;
    const auto known = trace_.places.find(name);
    if (known == trace_.places.end() && trace_.groups.size() >= kMaxTraceGroups) {
      ++trace_.left_out;
      return;
    }
    if (!has_room()) {
      return;
    }
    std::uint32_t place = static_cast<std::uint32_t>(trace_.groups.size());
    if (known == trace_.places.end()) {
      trace_.groups.push_back(name);
      trace_.places[name] = place;
    } else {
      place = known->second;
    }
    into.push_back({.group = place, .span = span});
  }

  static constexpr std::string_view kStep = "ProfilerStep#";

  std::size_t& token_bytes_;
  TraceSpans trace_;
  TraceEvent event_;
  std::string key_;  // the last of the object that is being read
  std::string flaw_;
  std::size_t spans_ = 0;
  bool is_full_ = false;
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
  TraceSpans trace = reader.take();
  if (trace.events == 0) {
    return malformed(file, flaw.empty() ? "is a trace without events" : flaw);
  }
  ToolFile evidence = file_of_trace(std::move(trace), file);
  if (!flaw.empty()) {
    evidence.left_out.push_back(flaw + ": what stands before that is used");
  }
  return evidence;
}

}  // namespace chokepoint::analysis
