#include "rdma/verbs/types.h"

namespace chokepoint::rdma::verbs {

bool is_atomic(Operation operation) {
  return operation == Operation::FetchAndAdd || operation == Operation::CompareAndSwap;
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
