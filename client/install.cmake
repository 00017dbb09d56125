# What programs outside of the project need of the libraries: find_package(mdh) and pkg-config mdh. The install
# component `c` is libmdh.so with what finds it, which needs nothing of the C++ library.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(MDH_HEADERS ${CMAKE_INSTALL_INCLUDEDIR}/mdhd)
set(MDH_CONFIG ${CMAKE_INSTALL_LIBDIR}/cmake/mdh)

set_target_properties(mdh_client PROPERTIES EXPORT_NAME client)
set_target_properties(mdh_c PROPERTIES EXPORT_NAME c)
target_compile_features(mdh_client INTERFACE cxx_std_20)
target_include_directories(mdh_core_base INTERFACE $<INSTALL_INTERFACE:${MDH_HEADERS}>)
target_include_directories(mdh_proto INTERFACE $<INSTALL_INTERFACE:${MDH_HEADERS}>)
install(TARGETS mdh_c EXPORT mdh-c-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT c NAMELINK_COMPONENT c)
install(EXPORT mdh-c-targets NAMESPACE mdh:: DESTINATION ${MDH_CONFIG} COMPONENT c)
install(TARGETS mdh_client mdh_bundle mdh_core mdh_core_base mdh_core_scalar mdh_core_device mdh_core_expression
  mdh_core_pipeline mdh_core_pipeline_plan mdh_core_text mdh_core_einsum mdh_core_teml mdh_core_kernel mdh_core_decomposition mdh_core_schedule mdh_core_pipeline_schedule mdh_expression_proto mdh_proto mdh_rpc mdh_services
  EXPORT mdh-client-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT mdh-client-targets NAMESPACE mdh:: DESTINATION ${MDH_CONFIG})

configure_package_config_file(mdh-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/mdh-config.cmake
  INSTALL_DESTINATION ${MDH_CONFIG})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/mdh-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mdh-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/mdh-config-version.cmake mdh-kernels.cmake DESTINATION ${MDH_CONFIG} COMPONENT c)
# Relative: what is installed may be moved.
file(RELATIVE_PATH MDH_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(c/mdh.pc.in c/mdh.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/c/mdh.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT c)

install(FILES c/mdh.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT c)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR}/core/*.h ${PROJECT_SOURCE_DIR}/proto/*.h)
file(GLOB client_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} *.h)
foreach(header IN LISTS headers client_headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${MDH_HEADERS}/${folder})
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/proto/generated/ DESTINATION ${MDH_HEADERS}
  FILES_MATCHING PATTERN "*.h")
