// The series that a watched host has, for runs that are made up: names, subjects, kinds.
#pragma once

#include <array>
#include <string_view>

#include "base/record/entities.h"
#include "base/record/names.h"

namespace chokepoint::bench {

struct MadeSeries {
  std::string_view name;
  std::string_view subject;
  record::SeriesKind kind = record::SeriesKind::Counter;
};

constexpr auto kGauge = record::SeriesKind::Gauge;

constexpr std::array kSeriesOfHost = {
    MadeSeries{record::kJobSentBytes, "eth0"},
    MadeSeries{record::kJobReceivedBytes, "eth0"},
    MadeSeries{record::kNicSentBytes, "eth0"},
    MadeSeries{record::kNicReceivedBytes, "eth0"},
    MadeSeries{record::kNicSentPackets, "eth0"},
    MadeSeries{record::kNicReceivedPackets, "eth0"},
    MadeSeries{record::kNicSendDrops, "eth0"},
    MadeSeries{record::kNicReceiveDrops, "eth0"},
    MadeSeries{record::kNicSpeed, "eth0", kGauge},
    MadeSeries{record::kCpuBusy, "all"},
    MadeSeries{record::kCpuBusy, "cpu0"},
    MadeSeries{record::kCpuBusy, "cpu1"},
    MadeSeries{record::kCpuBusy, "cpu2"},
    MadeSeries{record::kCpuBusy, "cpu3"},
    MadeSeries{record::kCpuBusy, "cpu4"},
    MadeSeries{record::kCpuBusy, "cpu5"},
    MadeSeries{record::kCpuBusy, "cpu6"},
    MadeSeries{record::kCpuBusy, "cpu7"},
    MadeSeries{record::kCpuSoftirq, "all"},
    MadeSeries{record::kCpuSoftirq, "cpu0"},
    MadeSeries{record::kCpuSoftirq, "cpu1"},
    MadeSeries{record::kCpuSoftirq, "cpu2"},
    MadeSeries{record::kCpuSoftirq, "cpu3"},
    MadeSeries{record::kCpuSoftirq, "cpu4"},
    MadeSeries{record::kProcessCpu, "4711"},
    MadeSeries{record::kProcessMemory, "4711", kGauge},
    MadeSeries{record::kThreadCpu, "4711/python3 (main)"},
    MadeSeries{record::kThreadWait, "4711/python3 (main)"},
    MadeSeries{record::kPressureSome, "cpu"},
    MadeSeries{record::kPressureSome, "memory"},
    MadeSeries{record::kPressureSome, "io"},
    MadeSeries{"tcp.OutSegs", ""},
    MadeSeries{"tcp.InSegs", ""},
    MadeSeries{"tcp.RetransSegs", ""},
    MadeSeries{record::kSoftnetDropped, "all"},
    MadeSeries{record::kSoftnetSqueezed, "all"},
    MadeSeries{record::kPcieCeiling, "eth0", kGauge},
    MadeSeries{record::kPcieCeiling, "0000:3b:00.0", kGauge},
    MadeSeries{record::kPcieCeiling, "0000:5e:00.0", kGauge},
    MadeSeries{record::kGpuUtilization, "0000:3b:00.0", kGauge},
    MadeSeries{record::kGpuUtilization, "0000:5e:00.0", kGauge},
    MadeSeries{record::kGpuPcieSent, "0000:3b:00.0", kGauge},
    MadeSeries{record::kGpuPcieSent, "0000:5e:00.0", kGauge},
    MadeSeries{record::kGpuPcieReceived, "0000:3b:00.0", kGauge},
    MadeSeries{record::kGpuPcieReceived, "0000:5e:00.0", kGauge},
    MadeSeries{record::kGpuMemoryBusy, "0000:3b:00.0", kGauge},
    MadeSeries{record::kGpuMemoryBusy, "0000:5e:00.0", kGauge},
    MadeSeries{record::kGpuMemory, "0000:3b:00.0", kGauge},
    MadeSeries{record::kGpuMemory, "0000:5e:00.0", kGauge},
    MadeSeries{record::kOwnCpu, ""},
};

}  // namespace chokepoint::bench
