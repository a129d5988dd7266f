// In the place of libpcap's own for D-Bus and for RDMA devices, which would need libraries of the
// host to look at what this program never captures: none is found.

extern "C" {

int dbus_findalldevs(void* /*devices*/, char* /*problem*/) { return 0; }
void* dbus_create(const char* /*device*/, char* /*problem*/, int* is_ours) {
  *is_ours = 0;
  return nullptr;
}
int rdmasniff_findalldevs(void* /*devices*/, char* /*problem*/) { return 0; }
void* rdmasniff_create(const char* /*device*/, char* /*problem*/, int* is_ours) {
  *is_ours = 0;
  return nullptr;
}

}  // extern "C"
