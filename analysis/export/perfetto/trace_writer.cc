#include "analysis/export/perfetto/trace_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <protozero/pbf_writer.hpp>

#include "base/cli/text.h"

namespace chokepoint::analysis {
namespace {

using protozero::pbf_writer;

// The field numbers of Perfetto's messages that are written here.
namespace field {

constexpr std::uint32_t kPacket = 1;  // of the Trace

namespace packet {
constexpr std::uint32_t kClockSnapshot = 6;
constexpr std::uint32_t kTimestamp = 8;
constexpr std::uint32_t kSequence = 10;
constexpr std::uint32_t kTrackEvent = 11;
constexpr std::uint32_t kInternedData = 12;
constexpr std::uint32_t kSequenceFlags = 13;
constexpr std::uint32_t kTrackDescriptor = 60;
}  // namespace packet

constexpr std::uint32_t kStateCleared = 1;  // of the flags
constexpr std::uint32_t kNeedsState = 2;

namespace clock_snapshot {
constexpr std::uint32_t kClocks = 1;
constexpr std::uint32_t kId = 1;  // of a clock
constexpr std::uint32_t kTime = 2;
constexpr std::uint32_t kRealtime = 1;  // ids
constexpr std::uint32_t kBoottime = 6;
}  // namespace clock_snapshot

namespace track {
constexpr std::uint32_t kUuid = 1;
constexpr std::uint32_t kName = 2;
constexpr std::uint32_t kProcess = 3;
constexpr std::uint32_t kParent = 5;
constexpr std::uint32_t kCounter = 8;
constexpr std::uint32_t kChildOrdering = 11;
constexpr std::uint32_t kSiblingRank = 12;
constexpr std::int32_t kExplicit = 3;  // ordering, by rank
}  // namespace track

namespace process {
constexpr std::uint32_t kPid = 1;
constexpr std::uint32_t kCommandLine = 2;
constexpr std::uint32_t kName = 6;
constexpr std::uint32_t kLabels = 8;
}  // namespace process

namespace counter {
constexpr std::uint32_t kUnit = 3;
constexpr std::uint32_t kUnitName = 6;
constexpr std::int32_t kUnitCount = 2;
constexpr std::int32_t kUnitBytes = 3;
}  // namespace counter

namespace event {
constexpr std::uint32_t kNotes = 4;
constexpr std::uint32_t kType = 9;
constexpr std::uint32_t kNameNumber = 10;
constexpr std::uint32_t kTrack = 11;
constexpr std::uint32_t kName = 23;
constexpr std::uint32_t kCount = 30;
constexpr std::uint32_t kRealCount = 44;
constexpr std::uint32_t kLinks = 47;
constexpr std::int32_t kBegin = 1;  // types
constexpr std::int32_t kEnd = 2;
constexpr std::int32_t kInstant = 3;
constexpr std::int32_t kCounter = 4;
}  // namespace event

namespace note {
constexpr std::uint32_t kNameNumber = 1;
constexpr std::uint32_t kInteger = 4;
constexpr std::uint32_t kReal = 5;
constexpr std::uint32_t kText = 6;
}  // namespace note

namespace interned {
constexpr std::uint32_t kEventNames = 2;
constexpr std::uint32_t kNoteNames = 3;
constexpr std::uint32_t kNumber = 1;  // of an entry
constexpr std::uint32_t kText = 2;
}  // namespace interned

}  // namespace field

constexpr std::uint32_t kSequence = 1;

std::uint64_t time_of(std::int64_t wall_ns) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(wall_ns, 0));
}

std::string written_unit(std::string_view unit) {
  std::string message;
  pbf_writer writer(message);
  if (unit == "bytes") {
    writer.add_enum(field::counter::kUnit, field::counter::kUnitBytes);
  } else if (unit.empty()) {
    writer.add_enum(field::counter::kUnit, field::counter::kUnitCount);
  } else {
    writer.add_string(field::counter::kUnitName, cli::valid_utf8(unit));
  }
  return message;
}

std::string written_clock(std::uint32_t id, std::uint64_t time) {
  std::string message;
  pbf_writer writer(message);
  writer.add_uint32(field::clock_snapshot::kId, id);
  writer.add_uint64(field::clock_snapshot::kTime, time);
  return message;
}

// Such a number is written as an integer, which takes fewer bytes.
bool is_whole(double value) {
  constexpr double kMaxExact = 9e15;  // doubles up to 2^53 are exact integers
  return std::abs(value) < kMaxExact && std::trunc(value) == value;
}

}  // namespace

std::uint64_t Interned::number(std::string_view text) {
  if (const auto known = numbers_.find(text); known != numbers_.end()) {
    return known->second;
  }
  const std::uint64_t number = numbers_.size() + 1;
  new_.push_back(numbers_.emplace(text, number).first);
  return number;
}

void Interned::append_new(std::string& data, std::uint32_t field) {
  for (const auto& entry : new_) {
    std::string message;
    pbf_writer writer(message);
    writer.add_uint64(field::interned::kNumber, entry->second);
    writer.add_string(field::interned::kText, cli::valid_utf8(entry->first));
    pbf_writer(data).add_message(field, message);
  }
  new_.clear();
}

Notes& Notes::add(std::string_view name, std::string_view text) {
  std::string note;
  pbf_writer writer(note);
  writer.add_uint64(field::note::kNameNumber, trace_.note_names_.number(name));
  writer.add_string(field::note::kText, cli::valid_utf8(text));
  return put(note);
}

Notes& Notes::add(std::string_view name, std::int64_t value) {
  std::string note;
  pbf_writer writer(note);
  writer.add_uint64(field::note::kNameNumber, trace_.note_names_.number(name));
  writer.add_int64(field::note::kInteger, value);
  return put(note);
}

Notes& Notes::add(std::string_view name, double value) {
  std::string note;
  pbf_writer writer(note);
  writer.add_uint64(field::note::kNameNumber, trace_.note_names_.number(name));
  writer.add_double(field::note::kReal, value);
  return put(note);
}

Notes& Notes::put(const std::string& note) {
  pbf_writer(bytes_).add_message(field::event::kNotes, note);
  return *this;
}

void TraceWriter::clock(std::int64_t wall_ns) {
  std::string snapshot;
  pbf_writer writer(snapshot);
  for (const std::uint32_t id :
       {field::clock_snapshot::kRealtime, field::clock_snapshot::kBoottime}) {
    writer.add_message(field::clock_snapshot::kClocks, written_clock(id, time_of(wall_ns)));
  }
  packet_.clear();
  pbf_writer packet(packet_);
  packet.add_uint64(field::packet::kTimestamp, time_of(wall_ns));
  packet.add_message(field::packet::kClockSnapshot, snapshot);
  put_packet(0);
}

Track TraceWriter::process(std::string_view name, const ProcessParts& parts) {
  std::string process;
  pbf_writer writer(process);
  writer.add_int32(field::process::kPid, ++processes_);
  if (!parts.command.empty()) {
    writer.add_string(field::process::kCommandLine, cli::valid_utf8(parts.command));
  }
  writer.add_string(field::process::kName, cli::valid_utf8(name));
  if (!parts.label.empty()) {
    writer.add_string(field::process::kLabels, cli::valid_utf8(parts.label));
  }
  std::string descriptor;
  pbf_writer(descriptor).add_message(field::track::kProcess, process);
  return put_track(descriptor);
}

Track TraceWriter::track(Track parent, std::string_view name) {
  std::string descriptor;
  pbf_writer writer(descriptor);
  writer.add_string(field::track::kName, cli::valid_utf8(name));
  writer.add_uint64(field::track::kParent, parent);
  return put_track(descriptor);
}

Track TraceWriter::counter(Track parent, std::string_view name, std::string_view unit) {
  std::string descriptor;
  pbf_writer writer(descriptor);
  writer.add_string(field::track::kName, cli::valid_utf8(name));
  writer.add_uint64(field::track::kParent, parent);
  writer.add_message(field::track::kCounter, written_unit(unit));
  return put_track(descriptor);
}

Track TraceWriter::put_track(std::string& descriptor) {
  const Track own = ++last_track_;
  pbf_writer writer(descriptor);
  writer.add_uint64(field::track::kUuid, own);
  writer.add_enum(field::track::kChildOrdering, field::track::kExplicit);
  writer.add_int32(field::track::kSiblingRank, static_cast<std::int32_t>(own));
  packet_.clear();
  pbf_writer(packet_).add_message(field::packet::kTrackDescriptor, descriptor);
  put_packet(0);
  return own;
}

void TraceWriter::begin(Track track, std::int64_t wall_ns, std::string_view name,
                        const EventParts& parts) {
  put_named(field::event::kBegin, track, wall_ns, name, parts);
}

void TraceWriter::instant(Track track, std::int64_t wall_ns, std::string_view name,
                          const EventParts& parts) {
  put_named(field::event::kInstant, track, wall_ns, name, parts);
}

void TraceWriter::end(Track track, std::int64_t wall_ns) {
  event_.clear();
  pbf_writer event(event_);
  event.add_enum(field::event::kType, field::event::kEnd);
  event.add_uint64(field::event::kTrack, track);
  put_event(wall_ns, 0);
}

void TraceWriter::count(Track track, std::int64_t wall_ns, double value) {
  event_.clear();
  pbf_writer event(event_);
  event.add_enum(field::event::kType, field::event::kCounter);
  event.add_uint64(field::event::kTrack, track);
  if (is_whole(value)) {
    event.add_int64(field::event::kCount, static_cast<std::int64_t>(value));
  } else {
    event.add_double(field::event::kRealCount, value);
  }
  put_event(wall_ns, 0);
}

void TraceWriter::put_named(std::int32_t type, Track track, std::int64_t wall_ns,
                            std::string_view name, const EventParts& parts) {
  event_.clear();
  pbf_writer event(event_);
  event.add_enum(field::event::kType, type);
  event.add_uint64(field::event::kTrack, track);
  if (parts.is_common_name) {
    event.add_uint64(field::event::kNameNumber, names_.number(name));
  } else {
    event.add_string(field::event::kName, cli::valid_utf8(name));
  }
  if (parts.link) {
    event.add_fixed64(field::event::kLinks, *parts.link);
  }
  if (parts.notes != nullptr) {
    event_ += parts.notes->bytes();
  }
  put_event(wall_ns, field::kNeedsState);
}

void TraceWriter::put_event(std::int64_t wall_ns, std::uint32_t flags) {
  ++events_;
  packet_.clear();
  pbf_writer packet(packet_);
  packet.add_uint64(field::packet::kTimestamp, time_of(wall_ns));
  packet.add_message(field::packet::kTrackEvent, event_);
  if (names_.has_new() || note_names_.has_new()) {
    std::string data;
    names_.append_new(data, field::interned::kEventNames);
    note_names_.append_new(data, field::interned::kNoteNames);
    packet.add_message(field::packet::kInternedData, data);
  }
  put_packet(flags);
}

void TraceWriter::put_packet(std::uint32_t flags) {
  pbf_writer packet(packet_);
  packet.add_uint32(field::packet::kSequence, kSequence);
  flags |= is_begun_ ? 0 : field::kStateCleared;
  is_begun_ = true;
  if (flags != 0) {
    packet.add_uint32(field::packet::kSequenceFlags, flags);
  }
  pbf_writer(out_.buffer()).add_message(field::kPacket, packet_);
  out_.full();
}

}  // namespace chokepoint::analysis
