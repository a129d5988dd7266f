set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME chokepoint)
set(CPACK_PACKAGE_VENDOR "the chokepoint maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "finds what holds a distributed training job back")
set(CPACK_PACKAGE_DESCRIPTION
"Measures the paths between hosts before a training job, watches the job without
touching it, and says afterwards where each step's time went: the local network,
the wide-area path, PCIe, a host, or nothing at all.
.
For small GPU clusters on Ethernet, RoCE, InfiniBand or a wide-area path, with
NCCL or Gloo. Needs neither a vendor's telemetry nor a server.")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
string(TOLOWER ${CMAKE_SYSTEM_NAME} system)
set(CPACK_PACKAGE_FILE_NAME chokepoint-${PROJECT_VERSION}-${system}-${CMAKE_SYSTEM_PROCESSOR})

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
# Without it, it is that of the machine which makes the package.
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "chokepoint maintainers <maintainers@chokepoint.invalid>")
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Opened at run time, where there are.
if(TARGET libchokepoint-gloo)
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libgloo0)
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
  "ibverbs-providers, libcap2-bin, libibverbs1, librdmacm1, python3, python3-pandas, systemd")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

# Staged alike for both; this makes of the tarball's stage what needs nothing installed.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/stage.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_CURRENT_SOURCE_DIR}/finish.cmake)
set(CPACK_CHOKEPOINT_PACKAGING ${CMAKE_CURRENT_SOURCE_DIR})
set(CPACK_CHOKEPOINT_EMULATOR ${CMAKE_CROSSCOMPILING_EMULATOR})
include(CPack)
