// What each host of the run is: its interfaces and GPUs with what their PCIe paths carry, how it is
// tuned, and what doctor said of it. From the facts that were kept with the run and the counters
// read meanwhile. Values; host_pictures() is pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/load/run_data.h"
#include "analysis/report/pcie_picture.h"

namespace chokepoint::analysis {

// Of the whole run; by all of the host's traffic, or the job's alone.
struct InterfaceTraffic {
  std::optional<double> sent_bytes = {};
  std::optional<double> received_bytes = {};
  std::optional<double> sent_peak_mbps = {};  // the fastest between two readings
  std::optional<double> received_peak_mbps = {};
};

struct InterfacePicture {
  std::string name = {};
  std::string kind = {};
  bool is_up = false;
  std::optional<double> speed_mbps = {};
  std::optional<std::int64_t> mtu_bytes = {};
  std::string driver = {};
  std::vector<std::string> addresses = {};
  bool is_used = false;  // by the job
  InterfaceTraffic all = {};
  InterfaceTraffic job = {};
  std::optional<PciePicture> pcie = {};
  std::string source = {};

  std::optional<double> peak_mbps() const;  // of all traffic, the faster way
};

struct GpuPicture {
  std::string name = {};
  std::string bus_id = {};
  std::optional<PciePicture> pcie = {};
};

// As `chokepoint doctor` found it; texts that it did not give are empty.
struct DoctorCheck {
  std::string id = {};
  std::string status = {};
  std::string subject = {};
  std::string found = {};
  std::string wanted = {};
  std::string why = {};
  std::string next_step = {};
};

struct HostPicture {
  std::string name = {};  // the node's
  std::string host = {};
  std::string kernel = {};
  std::string distribution = {};
  std::string cpu = {};
  std::optional<std::int64_t> cores = {};
  std::optional<std::int64_t> memory_bytes = {};
  std::vector<InterfacePicture> interfaces = {};
  std::vector<GpuPicture> gpus = {};
  std::vector<record::Fact> facts = {};                 // of its tuning, those that matter to a job
  std::optional<std::vector<DoctorCheck>> doctor = {};  // nothing: doctor was not kept
};

// As RunData::nodes.
std::vector<HostPicture> host_pictures(const RunData& run);

}  // namespace chokepoint::analysis
