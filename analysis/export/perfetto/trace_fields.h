// The numbers of the fields of Perfetto's messages, as far as they are written here.
#pragma once

#include <cstdint>

namespace chokepoint::analysis::perfetto {

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

}  // namespace chokepoint::analysis::perfetto
