#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "rdma/verbs/live_device.h"

namespace chokepoint::rdma::verbs {
namespace {

// The devices that libibverbs has a provider for; opened ones outlive the list.
class DeviceList {
 public:
  explicit DeviceList(const Api& api) : free_(api.free_device_list) {
    errno = 0;
    list_ = api.get_device_list(&count_);
    code_ = list_ == nullptr ? errno : 0;
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  ~DeviceList() {
    if (list_ != nullptr) {
      free_(list_);
    }
  }

  // A kernel without RDMA is a host without devices.
  int code() const { return code_ == ENOSYS || code_ == ENOENT ? 0 : code_; }
  int count() const { return list_ == nullptr ? 0 : count_; }
  ibv_device& at(int index) const { return *list_[index]; }

 private:
  decltype(&::ibv_free_device_list) free_;
  ibv_device** list_ = nullptr;
  int count_ = 0;
  int code_ = 0;
};

Error no_such_device(const std::string& name, const DeviceList& list) {
  Error error{ErrorKind::NotFound, "open device", name, 0, "no such RDMA device", {}};
  std::string others;
  for (int index = 0; index < list.count(); ++index) {
    others += fmt::format("{}{}", others.empty() ? "" : ", ", list.at(index).name);
  }
  if (!others.empty()) {
    error.next_step = "this host has " + others;
  } else if (access("/dev/infiniband", F_OK) != 0) {
    error.reason = "no RDMA device here: there is no /dev/infiniband";
    error.next_step =
        "modprobe ib_uverbs and the card's driver; a container must be given "
        "/dev/infiniband";
  } else {
    error.reason = "libibverbs finds no RDMA device here";
    error.next_step = "rdma link; modprobe ib_uverbs; apt install ibverbs-providers";
  }
  return error;
}

class LiveLibrary final : public Library {
 public:
  Result<std::vector<std::string>> devices() override;
  Result<std::unique_ptr<Device>> open(const std::string& name) override;
};

Result<std::vector<std::string>> LiveLibrary::devices() {
  const Result<std::shared_ptr<const Api>>& api = host_api();
  if (!api) {
    return fail(api.error());
  }
  const DeviceList list(**api);
  if (list.code() != 0) {
    return fail(from_errno(list.code(), "list devices", "libibverbs"));
  }
  std::vector<std::string> names;
  for (int index = 0; index < list.count(); ++index) {
    names.emplace_back(list.at(index).name);
  }
  return names;
}

Result<std::unique_ptr<Device>> LiveLibrary::open(const std::string& name) {
  const Result<std::shared_ptr<const Api>>& api = host_api();
  if (!api) {
    return fail(api.error());
  }
  const DeviceList list(**api);
  for (int index = 0; index < list.count(); ++index) {
    if (name == list.at(index).name) {
      return LiveDevice::open(*api, list.at(index));
    }
  }
  return fail(no_such_device(name, list));
}

}  // namespace

std::unique_ptr<Library> live_library() { return std::make_unique<LiveLibrary>(); }

}  // namespace chokepoint::rdma::verbs
