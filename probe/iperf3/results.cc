#include "probe/iperf3/results.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "probe/iperf3/fields.h"
#include "probe/iperf3/protocol.h"

namespace chokepoint::probe::iperf3 {
namespace {

constexpr std::string_view kWhat = "iperf3 results";
constexpr std::int64_t kMostCount = std::int64_t{1} << 60;
constexpr double kMostSeconds = 1e6;
constexpr double kMostPercent = 1e6;
constexpr std::size_t kMostResultStreams = std::size_t{2} * kMostStreams;  // both ways

nlohmann::json to_json(const StreamResult& stream) {
  nlohmann::json out = {{"id", stream.id},
                        {"bytes", stream.bytes},
                        {"retransmits", -1},
                        {"jitter", stream.jitter_s},
                        {"errors", stream.lost},
                        {"packets", stream.packets},
                        {"start_time", stream.start_s},
                        {"end_time", stream.end_s}};
  if (stream.retransmits) {
    out["retransmits"] = *stream.retransmits;
  }
  return out;
}

Result<StreamResult> stream_of(const nlohmann::json& object) {
  if (!object.is_object()) {
    return fail(ErrorKind::Malformed, "read", kWhat, "a stream is no JSON object");
  }
  Fields in(object, kWhat);
  StreamResult stream{
      .id = static_cast<int>(in.required_integer("id", 1, 1 << 20)),
      .bytes = static_cast<std::uint64_t>(in.required_integer("bytes", 0, kMostCount))};
  if (const std::int64_t count = in.required_integer("retransmits", -1, kMostCount); count >= 0) {
    stream.retransmits = static_cast<std::uint64_t>(count);
  }
  stream.jitter_s = in.required_number("jitter", 0, kMostSeconds);
  stream.lost = in.required_integer("errors", -kMostCount, kMostCount);
  stream.packets = in.required_integer("packets", 0, kMostCount);
  stream.start_s = in.number("start_time", 0, kMostSeconds).value_or(0);
  stream.end_s = in.number("end_time", 0, kMostSeconds).value_or(0);
  if (in.error()) {
    return std::unexpected(*in.error());
  }
  return stream;
}

Result<std::vector<StreamResult>> streams_of(const nlohmann::json& object) {
  const auto list = object.find("streams");
  if (list == object.end() || !list->is_array() || list->size() > kMostResultStreams) {
    return fail(ErrorKind::Malformed, "read", kWhat, "'streams' should be a list of streams");
  }
  std::vector<StreamResult> streams;
  streams.reserve(list->size());
  for (const nlohmann::json& entry : *list) {
    TRY(StreamResult stream, stream_of(entry));
    streams.push_back(stream);
  }
  return streams;
}

}  // namespace

const StreamResult* EndResults::find(int id) const {
  const auto found = std::ranges::find(streams, id, &StreamResult::id);
  return found == streams.end() ? nullptr : &*found;
}

std::string encode(const EndResults& results) {
  const int retransmits = results.sends ? static_cast<int>(results.counts_retransmits) : -1;
  nlohmann::json out = {{"cpu_util_total", results.cpu_percent},
                        {"cpu_util_user", results.cpu_user_percent},
                        {"cpu_util_system", results.cpu_system_percent},
                        {"sender_has_retransmits", retransmits}};
  if (!results.congestion.empty()) {
    out["congestion_used"] = results.congestion;
  }
  nlohmann::json& streams = out["streams"] = nlohmann::json::array();
  for (const StreamResult& stream : results.streams) {
    streams.push_back(to_json(stream));
  }
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<EndResults> decode_results(std::string_view json) {
  TRY(const nlohmann::json object, parse_object(json, kMostResultBytes, kWhat));
  TRY(std::vector<StreamResult> streams, streams_of(object));
  Fields in(object, kWhat);
  EndResults results{.cpu_percent = in.required_number("cpu_util_total", 0, kMostPercent),
                     .cpu_user_percent = in.required_number("cpu_util_user", 0, kMostPercent),
                     .cpu_system_percent = in.required_number("cpu_util_system", 0, kMostPercent),
                     .streams = std::move(streams)};
  const std::int64_t counts = in.required_integer("sender_has_retransmits", -1, 1);
  results.sends = counts >= 0;
  results.counts_retransmits = counts == 1;
  results.congestion = in.text("congestion_used", 64).value_or("");
  if (in.error()) {
    return std::unexpected(*in.error());
  }
  return results;
}

}  // namespace chokepoint::probe::iperf3
