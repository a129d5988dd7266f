// The hosts of the run: their interfaces and GPUs with what the PCIe paths carry, their tuning, and
// the result of doctor. From the facts in the record and the counters read while the job ran.
// Values and pure functions, which borrow the nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/load/run_data.h"
#include "base/json/fields.h"

namespace chokepoint::analysis {

// What the PCIe path of a card carries, against what the card itself could.
struct PciePicture {
  std::string bus_id = {};
  std::optional<double> speed_gts = {};  // of the narrowest hop; while the card worked, if known
  std::optional<int> width = {};
  std::optional<double> max_speed_gts = {};  // of the card alone
  std::optional<int> max_width = {};
  std::optional<double> ceiling_mbps = {};   // data one way
  std::optional<double> possible_mbps = {};  // likewise, in a slot as good as the card
  std::string source = {};
};

// Of the whole run: of all the host's traffic or of the job's alone.
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

  std::optional<double> peak_mbps() const;  // of all traffic, in the faster direction
};

struct GpuPicture {
  std::string name = {};
  std::string bus_id = {};
  std::optional<PciePicture> pcie = {};
};

// From the document of `chokepoint doctor`; unknown texts are empty.
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
  std::vector<record::Fact> facts = {};  // of its tuning, those that may affect a job
  std::optional<std::vector<DoctorCheck>> doctor = {};  // nullopt: no result in the record
};

// As RunData::nodes.
std::vector<HostPicture> host_pictures(const RunData& run);

}  // namespace chokepoint::analysis

// When read, a text that is missing or malformed is empty.
template <>
struct chokepoint::Fields<chokepoint::analysis::DoctorCheck> {
  using C = analysis::DoctorCheck;
  static constexpr FieldList kList{
      field("id", &C::id, "name of the check"),
      field("status", &C::status, "PASS, INFO, UNKNOWN, WARNING or CRITICAL").null_if_empty(),
      field("subject", &C::subject, "the interface or device; host: the host").null_if_empty(),
      field("found", &C::found, "what the host has").null_if_empty(),
      field("wanted", &C::wanted, "what it should have").null_if_empty(),
      field("why", &C::why, "why it matters").null_if_empty(),
      field("next_step", &C::next_step, "command that fixes it").null_if_empty()};
};
