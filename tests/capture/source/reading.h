// Reads a source to its end and keeps everything, for tests to look at.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "capture/source/source.h"

namespace chokepoint::capture::source {

struct ReadFrame {
  std::int64_t time_ns = 0;
  std::string bytes = {};
  std::uint32_t frame_bytes = 0;
  std::uint32_t interface = 0;
  packet::LinkType link_type = packet::LinkType::Ethernet;

  bool operator==(const ReadFrame&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const ReadFrame& frame) {
  return out << frame.time_ns << " ns, " << frame.frame_bytes << " bytes, interface "
             << frame.interface << ", " << testing::PrintToString(frame.bytes);
}

struct Reading {
  std::vector<ReadFrame> frames = {};
  std::vector<Drop> drops = {};
  std::vector<std::string> remarks = {};
  std::string error = {};
};

inline void keep(const Batch& batch, Reading& reading) {
  for (const packet::Frame& frame : batch.frames) {
    reading.frames.push_back({.time_ns = frame.time_ns,
                              .bytes = std::string(frame.data, frame.data + frame.captured_bytes),
                              .frame_bytes = frame.frame_bytes,
                              .interface = frame.interface,
                              .link_type = frame.link_type});
  }
  reading.drops.insert(reading.drops.end(), batch.drops.begin(), batch.drops.end());
}

inline Reading read_all(Source& source) {
  Reading reading;
  Batch batch;
  for (;;) {
    const auto progress = source.read(batch);
    if (!progress) {
      reading.error = describe(progress.error());
      break;
    }
    keep(batch, reading);
    if (*progress == Progress::End) {
      break;
    }
  }
  reading.remarks = source.remarks();
  return reading;
}

}  // namespace chokepoint::capture::source
