#include "analysis/report/json_values.h"
#include "analysis/report/parts_document.h"

namespace chokepoint::analysis {
namespace {

using cli::Json;

Json pcie_document(const std::optional<PciePicture>& pcie) {
  if (!pcie) {
    return {};
  }
  return {{"bus_id", text_or_null(pcie->bus_id)},
          {"speed_gts", value_or_null(pcie->speed_gts)},
          {"width", value_or_null(pcie->width)},
          {"max_speed_gts", value_or_null(pcie->max_speed_gts)},
          {"max_width", value_or_null(pcie->max_width)},
          {"ceiling_mbps", value_or_null(pcie->ceiling_mbps)},
          {"possible_mbps", value_or_null(pcie->possible_mbps)},
          {"source", pcie->source}};
}

Json interface_document(const InterfacePicture& interface) {
  return {{"name", interface.name},
          {"kind", text_or_null(interface.kind)},
          {"is_up", interface.is_up},
          {"speed_mbps", value_or_null(interface.speed_mbps)},
          {"mtu_bytes", value_or_null(interface.mtu_bytes)},
          {"driver", text_or_null(interface.driver)},
          {"addresses", interface.addresses},
          {"used", interface.is_used},
          {"sent_bytes", value_or_null(interface.all.sent_bytes)},
          {"received_bytes", value_or_null(interface.all.received_bytes)},
          {"sent_peak_mbps", value_or_null(interface.all.sent_peak_mbps)},
          {"received_peak_mbps", value_or_null(interface.all.received_peak_mbps)},
          {"peak_mbps", value_or_null(interface.peak_mbps())},
          {"job_sent_bytes", value_or_null(interface.job.sent_bytes)},
          {"job_received_bytes", value_or_null(interface.job.received_bytes)},
          {"pcie", pcie_document(interface.pcie)},
          {"source", interface.source}};
}

Json gpu_document(const GpuPicture& gpu) {
  return {
      {"name", text_or_null(gpu.name)}, {"bus_id", gpu.bus_id}, {"pcie", pcie_document(gpu.pcie)}};
}

Json fact_document(const record::Fact& fact) {
  return {{"category", fact.category},
          {"subject", text_or_null(fact.subject)},
          {"key", fact.key},
          {"value", fact.value},
          {"source", text_or_null(fact.source)}};
}

Json check_document(const DoctorCheck& check) {
  return {{"id", check.id},
          {"status", text_or_null(check.status)},
          {"subject", text_or_null(check.subject)},
          {"found", text_or_null(check.found)},
          {"wanted", text_or_null(check.wanted)},
          {"why", text_or_null(check.why)},
          {"next_step", text_or_null(check.next_step)}};
}

template <class Row>
Json list_of(const std::vector<Row>& rows, Json (*document)(const Row&)) {
  Json list = Json::array();
  for (const Row& row : rows) {
    list.push_back(document(row));
  }
  return list;
}

Json host_document(const HostPicture& host) {
  return {{"name", host.name},
          {"host", text_or_null(host.host)},
          {"kernel", text_or_null(host.kernel)},
          {"distribution", text_or_null(host.distribution)},
          {"cpu", text_or_null(host.cpu)},
          {"cores", value_or_null(host.cores)},
          {"memory_bytes", value_or_null(host.memory_bytes)},
          {"interfaces", list_of(host.interfaces, interface_document)},
          {"gpus", list_of(host.gpus, gpu_document)},
          {"facts", list_of(host.facts, fact_document)},
          {"doctor", host.doctor ? list_of(*host.doctor, check_document) : Json()}};
}

}  // namespace

Json hosts_document(const std::vector<HostPicture>& hosts) { return list_of(hosts, host_document); }

}  // namespace chokepoint::analysis
