// chokepoint.doctor/1: how fit a host is for a job.
#pragma once

#include <string_view>
#include <tuple>

#include "base/checks/check.h"

namespace chokepoint {

namespace documents {

struct Doctor {
  checks::Status verdict = checks::Status::Pass;
  checks::Checks checks = {};
};

}  // namespace documents

template <>
struct Fields<documents::Doctor> {
  using D = documents::Doctor;
  static constexpr std::string_view kSchema = "chokepoint.doctor/1";
  static constexpr const char* kCommand = "doctor";
  static constexpr FieldList kList{
      field("verdict", &D::verdict, "the worst status of all checks"),
      field("checks", &D::checks, "each with what was found").up_to_items(10'000)};
};

}  // namespace chokepoint
