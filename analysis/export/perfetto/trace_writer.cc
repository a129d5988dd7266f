#include "analysis/export/perfetto/trace_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <protozero/pbf_writer.hpp>

#include "base/cli/text.h"

namespace chokepoint::analysis {
namespace {

using protozero::pbf_writer;

// The field numbers of Perfetto's messages that are written here, and values of their enums.

constexpr std::uint32_t kTracePacket = 1;  // of the Trace

// TracePacket
constexpr std::uint32_t kPacketClockSnapshot = 6;
constexpr std::uint32_t kPacketTimestamp = 8;
constexpr std::uint32_t kPacketSequence = 10;
constexpr std::uint32_t kPacketTrackEvent = 11;
constexpr std::uint32_t kPacketInternedData = 12;
constexpr std::uint32_t kPacketSequenceFlags = 13;
constexpr std::uint32_t kPacketTrackDescriptor = 60;

constexpr std::uint32_t kStateCleared = 1;  // of the flags
constexpr std::uint32_t kNeedsState = 2;

// ClockSnapshot, and its Clock
constexpr std::uint32_t kClockSnapshotClocks = 1;
constexpr std::uint32_t kClockSnapshotId = 1;  // of a clock
constexpr std::uint32_t kClockSnapshotTime = 2;
constexpr std::uint32_t kClockSnapshotRealtime = 1;  // ids
constexpr std::uint32_t kClockSnapshotBoottime = 6;

// TrackDescriptor
constexpr std::uint32_t kTrackUuid = 1;
constexpr std::uint32_t kTrackName = 2;
constexpr std::uint32_t kTrackProcess = 3;
constexpr std::uint32_t kTrackParent = 5;
constexpr std::uint32_t kTrackCounter = 8;
constexpr std::uint32_t kTrackChildOrdering = 11;
constexpr std::uint32_t kTrackSiblingRank = 12;
constexpr std::int32_t kTrackExplicit = 3;  // ordering, by rank

// ProcessDescriptor
constexpr std::uint32_t kProcessPid = 1;
constexpr std::uint32_t kProcessCommandLine = 2;
constexpr std::uint32_t kProcessName = 6;
constexpr std::uint32_t kProcessLabels = 8;

// CounterDescriptor
constexpr std::uint32_t kCounterUnit = 3;
constexpr std::uint32_t kCounterUnitName = 6;
constexpr std::int32_t kCounterUnitCount = 2;
constexpr std::int32_t kCounterUnitBytes = 3;

// TrackEvent
constexpr std::uint32_t kEventNotes = 4;
constexpr std::uint32_t kEventType = 9;
constexpr std::uint32_t kEventNameNumber = 10;
constexpr std::uint32_t kEventTrack = 11;
constexpr std::uint32_t kEventName = 23;
constexpr std::uint32_t kEventCount = 30;
constexpr std::uint32_t kEventRealCount = 44;
constexpr std::uint32_t kEventLinks = 47;
constexpr std::int32_t kEventBegin = 1;  // types
constexpr std::int32_t kEventEnd = 2;
constexpr std::int32_t kEventInstant = 3;
constexpr std::int32_t kEventCounter = 4;

// DebugAnnotation
constexpr std::uint32_t kNoteNameNumber = 1;
constexpr std::uint32_t kNoteInteger = 4;
constexpr std::uint32_t kNoteReal = 5;
constexpr std::uint32_t kNoteText = 6;

// InternedData, and its entries
constexpr std::uint32_t kInternedEventNames = 2;
constexpr std::uint32_t kInternedNoteNames = 3;
constexpr std::uint32_t kInternedNumber = 1;  // of an entry
constexpr std::uint32_t kInternedText = 2;

constexpr std::uint32_t kSequence = 1;

std::uint64_t time_of(std::int64_t wall_ns) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(wall_ns, 0));
}

std::string written_unit(std::string_view unit) {
  std::string message;
  pbf_writer writer(message);
  if (unit == "bytes") {
    writer.add_enum(kCounterUnit, kCounterUnitBytes);
  } else if (unit.empty()) {
    writer.add_enum(kCounterUnit, kCounterUnitCount);
  } else {
    writer.add_string(kCounterUnitName, cli::valid_utf8(unit));
  }
  return message;
}

std::string written_clock(std::uint32_t id, std::uint64_t time) {
  std::string message;
  pbf_writer writer(message);
  writer.add_uint32(kClockSnapshotId, id);
  writer.add_uint64(kClockSnapshotTime, time);
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
    writer.add_uint64(kInternedNumber, entry->second);
    writer.add_string(kInternedText, cli::valid_utf8(entry->first));
    pbf_writer(data).add_message(field, message);
  }
  new_.clear();
}

Notes& Notes::add(std::string_view name, std::string_view text) {
  std::string note;
  pbf_writer writer(note);
  writer.add_uint64(kNoteNameNumber, trace_.note_names_.number(name));
  writer.add_string(kNoteText, cli::valid_utf8(text));
  return put(note);
}

Notes& Notes::add(std::string_view name, std::int64_t value) {
  std::string note;
  pbf_writer writer(note);
  writer.add_uint64(kNoteNameNumber, trace_.note_names_.number(name));
  writer.add_int64(kNoteInteger, value);
  return put(note);
}

Notes& Notes::add(std::string_view name, double value) {
  std::string note;
  pbf_writer writer(note);
  writer.add_uint64(kNoteNameNumber, trace_.note_names_.number(name));
  writer.add_double(kNoteReal, value);
  return put(note);
}

Notes& Notes::put(const std::string& note) {
  pbf_writer(bytes_).add_message(kEventNotes, note);
  return *this;
}

void TraceWriter::clock(std::int64_t wall_ns) {
  std::string snapshot;
  pbf_writer writer(snapshot);
  for (const std::uint32_t id : {kClockSnapshotRealtime, kClockSnapshotBoottime}) {
    writer.add_message(kClockSnapshotClocks, written_clock(id, time_of(wall_ns)));
  }
  packet_.clear();
  pbf_writer packet(packet_);
  packet.add_uint64(kPacketTimestamp, time_of(wall_ns));
  packet.add_message(kPacketClockSnapshot, snapshot);
  put_packet(0);
}

Track TraceWriter::process(std::string_view name, const ProcessParts& parts) {
  std::string process;
  pbf_writer writer(process);
  writer.add_int32(kProcessPid, ++processes_);
  if (!parts.command.empty()) {
    writer.add_string(kProcessCommandLine, cli::valid_utf8(parts.command));
  }
  writer.add_string(kProcessName, cli::valid_utf8(name));
  if (!parts.label.empty()) {
    writer.add_string(kProcessLabels, cli::valid_utf8(parts.label));
  }
  std::string descriptor;
  pbf_writer(descriptor).add_message(kTrackProcess, process);
  return put_track(descriptor);
}

Track TraceWriter::track(Track parent, std::string_view name) {
  std::string descriptor;
  pbf_writer writer(descriptor);
  writer.add_string(kTrackName, cli::valid_utf8(name));
  writer.add_uint64(kTrackParent, parent);
  return put_track(descriptor);
}

Track TraceWriter::counter(Track parent, std::string_view name, std::string_view unit) {
  std::string descriptor;
  pbf_writer writer(descriptor);
  writer.add_string(kTrackName, cli::valid_utf8(name));
  writer.add_uint64(kTrackParent, parent);
  writer.add_message(kTrackCounter, written_unit(unit));
  return put_track(descriptor);
}

Track TraceWriter::put_track(std::string& descriptor) {
  const Track own = ++last_track_;
  pbf_writer writer(descriptor);
  writer.add_uint64(kTrackUuid, own);
  writer.add_enum(kTrackChildOrdering, kTrackExplicit);
  writer.add_int32(kTrackSiblingRank, static_cast<std::int32_t>(own));
  packet_.clear();
  pbf_writer(packet_).add_message(kPacketTrackDescriptor, descriptor);
  put_packet(0);
  return own;
}

void TraceWriter::begin(Track track, std::int64_t wall_ns, std::string_view name,
                        const EventParts& parts) {
  put_named(kEventBegin, track, wall_ns, name, parts);
}

void TraceWriter::instant(Track track, std::int64_t wall_ns, std::string_view name,
                          const EventParts& parts) {
  put_named(kEventInstant, track, wall_ns, name, parts);
}

void TraceWriter::end(Track track, std::int64_t wall_ns) {
  event_.clear();
  pbf_writer event(event_);
  event.add_enum(kEventType, kEventEnd);
  event.add_uint64(kEventTrack, track);
  put_event(wall_ns, 0);
}

void TraceWriter::count(Track track, std::int64_t wall_ns, double value) {
  event_.clear();
  pbf_writer event(event_);
  event.add_enum(kEventType, kEventCounter);
  event.add_uint64(kEventTrack, track);
  if (is_whole(value)) {
    event.add_int64(kEventCount, static_cast<std::int64_t>(value));
  } else {
    event.add_double(kEventRealCount, value);
  }
  put_event(wall_ns, 0);
}

void TraceWriter::put_named(std::int32_t type, Track track, std::int64_t wall_ns,
                            std::string_view name, const EventParts& parts) {
  event_.clear();
  pbf_writer event(event_);
  event.add_enum(kEventType, type);
  event.add_uint64(kEventTrack, track);
  if (parts.is_common_name) {
    event.add_uint64(kEventNameNumber, names_.number(name));
  } else {
    event.add_string(kEventName, cli::valid_utf8(name));
  }
  if (parts.link) {
    event.add_fixed64(kEventLinks, *parts.link);
  }
  if (parts.notes != nullptr) {
    event_ += parts.notes->bytes();
  }
  put_event(wall_ns, kNeedsState);
}

void TraceWriter::put_event(std::int64_t wall_ns, std::uint32_t flags) {
  ++events_;
  packet_.clear();
  pbf_writer packet(packet_);
  packet.add_uint64(kPacketTimestamp, time_of(wall_ns));
  packet.add_message(kPacketTrackEvent, event_);
  if (names_.has_new() || note_names_.has_new()) {
    std::string data;
    names_.append_new(data, kInternedEventNames);
    note_names_.append_new(data, kInternedNoteNames);
    packet.add_message(kPacketInternedData, data);
  }
  put_packet(flags);
}

void TraceWriter::put_packet(std::uint32_t flags) {
  pbf_writer packet(packet_);
  packet.add_uint32(kPacketSequence, kSequence);
  flags |= is_begun_ ? 0 : kStateCleared;
  is_begun_ = true;
  if (flags != 0) {
    packet.add_uint32(kPacketSequenceFlags, flags);
  }
  pbf_writer(out_.buffer()).add_message(kTracePacket, packet_);
  out_.full();
}

}  // namespace chokepoint::analysis
