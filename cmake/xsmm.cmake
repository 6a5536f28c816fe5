# libxsmm (Debian: libxsmm-dev): a just-in-time compiler of small in-cache matrix products.
if(NINE_XSMM)
  find_path(XSMM_INCLUDE libxsmm.h)
  find_library(XSMM_LIBRARY NAMES libxsmm.a xsmm)
  find_library(XSMM_NOBLAS NAMES libxsmmnoblas.a xsmmnoblas)
  if(XSMM_INCLUDE AND XSMM_LIBRARY AND XSMM_NOBLAS)
    find_package(Threads REQUIRED)
    set_source_files_properties(core/gemm.cpp PROPERTIES COMPILE_DEFINITIONS NINE_WITH_XSMM)
    target_include_directories(nine_core SYSTEM PRIVATE ${XSMM_INCLUDE})
    # An installed copy looks for the two files anew (NineConfig.cmake): they may lie elsewhere there.
    target_link_libraries(nine_core PRIVATE $<BUILD_INTERFACE:${XSMM_LIBRARY}> $<BUILD_INTERFACE:${XSMM_NOBLAS}> $<INSTALL_INTERFACE:Nine::xsmm>
                                            Threads::Threads ${CMAKE_DL_LIBS} m)
    set(NINE_WITH_XSMM ON)
    message(STATUS "Products: Eigen ${Eigen3_VERSION} and libxsmm (${XSMM_LIBRARY})")
  else()
    message(STATUS "Products: Eigen ${Eigen3_VERSION} only (libxsmm not found; Debian has it in libxsmm-dev)")
  endif()
endif()
