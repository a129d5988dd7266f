# Run by cpack when packages are made.
if(CPACK_GENERATOR STREQUAL "DEB")
  foreach(package ${CPACK_PACKAGE_FILES})
    execute_process(COMMAND ${CPACK_CHOKEPOINT_PACKAGING}/finish ${package}
      COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endif()
