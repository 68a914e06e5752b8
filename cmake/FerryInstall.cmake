# What lands on a user's machine. pkg-config and CMake files find their prefix from their own
# place, so an installed tree can be moved.
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Ferry)

install(TARGETS ferry EXPORT FerryTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(name ${FERRY_TF_NAMES})
  install(FILES ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${name} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
if(TARGET ferry_cli)
  install(TARGETS ferry_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
file(GLOB man_pages CONFIGURE_DEPENDS docs/*.1)
if(man_pages)
  install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
# The network of `ferry demo`, and the SavedModel of the examples.
install(DIRECTORY examples/models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/ferry/models
        FILES_MATCHING PATTERN "*.pb" PATTERN "*.npy" PATTERN "variables.*")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# pkgconfig lies in LIBDIR/pkgconfig: one step up per path component of LIBDIR leads to the prefix.
string(REGEX REPLACE "[^/]+" ".." FERRY_UP_FROM_LIBDIR ${CMAKE_INSTALL_LIBDIR})
# tensorflow.pc has the version of the API: who asks for tensorflow >= 2 means that one.
file(STRINGS src/graph/version.h tf_version REGEX "define FY_TF_VERSION ")
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" FERRY_TF_VERSION "${tf_version}")
foreach(name ferry tensorflow)
  configure_file(cmake/${name}.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

install(EXPORT FerryTargets NAMESPACE Ferry:: DESTINATION ${config_dir})
configure_package_config_file(cmake/FerryConfig.cmake.in ${CMAKE_BINARY_DIR}/FerryConfig.cmake
                              INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/FerryConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/FerryConfig.cmake ${CMAKE_BINARY_DIR}/FerryConfigVersion.cmake
        DESTINATION ${config_dir})
