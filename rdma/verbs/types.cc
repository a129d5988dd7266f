#include "rdma/verbs/types.h"

namespace chokepoint::rdma::verbs {

bool is_atomic(Operation operation) {
  return operation == Operation::FetchAndAdd || operation == Operation::CompareAndSwap;
}

std::string_view name_of(Transport transport) {
  switch (transport) {
    case Transport::Rc:
      return "RC";
    case Transport::Uc:
      return "UC";
    case Transport::Ud:
      return "UD";
  }
  return "?";
}

Result<Transport> transport_named(std::string_view name) {
  for (const Transport each : {Transport::Rc, Transport::Uc, Transport::Ud}) {
    if (name_of(each) == name) {
      return each;
    }
  }
  return fail(ErrorKind::Usage, "", name, "no such transport", "RC, UC or UD");
}

bool carries(Transport transport, Operation operation) {
  switch (operation) {
    case Operation::Send:
      return true;
    case Operation::Write:
    case Operation::WriteImmediate:
      return transport != Transport::Ud;
    case Operation::Read:
    case Operation::FetchAndAdd:
    case Operation::CompareAndSwap:
      return transport == Transport::Rc;
  }
  return false;
}

Rights needed_for(Operation operation) {
  switch (operation) {
    case Operation::Write:
    case Operation::WriteImmediate:
      return {.write = true};
    case Operation::Read:
      return {.read = true};
    case Operation::FetchAndAdd:
    case Operation::CompareAndSwap:
      return {.atomic = true};
    case Operation::Send:
      return {};
  }
  return {};
}

}  // namespace chokepoint::rdma::verbs
