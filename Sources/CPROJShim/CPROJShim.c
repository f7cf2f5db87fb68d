#include "CPROJShim.h"

#include "CLazyLibrary.h"

// Every function of PROJ that Swift calls: the linker refuses one that is not here.
#define FUNCTIONS(F)                                                                                                  \
  F(geod_direct) F(geod_init) F(proj_area_create) F(proj_area_destroy) F(proj_area_set_bbox) F(proj_as_projjson)      \
  F(proj_as_wkt) F(proj_context_create) F(proj_context_destroy) F(proj_context_get_database_path)                     \
  F(proj_context_set_enable_network) F(proj_coord) F(proj_coordoperation_get_accuracy)                                \
  F(proj_coordoperation_get_grid_used) F(proj_coordoperation_get_grid_used_count)                                     \
  F(proj_coordoperation_get_method_info) F(proj_coordoperation_get_param) F(proj_coordoperation_get_param_count)      \
  F(proj_coordoperation_has_ballpark_transformation) F(proj_create) F(proj_create_crs_to_crs_from_pj)                 \
  F(proj_create_from_database) F(proj_create_from_name) F(proj_create_operation_factory_context)                      \
  F(proj_create_operations) F(proj_crs_get_coordinate_system) F(proj_crs_get_coordoperation)                          \
  F(proj_crs_get_datum_forced) F(proj_crs_get_sub_crs) F(proj_cs_get_axis_info) F(proj_destroy)                       \
  F(proj_ellipsoid_get_parameters) F(proj_get_area_of_use) F(proj_get_celestial_body_name) F(proj_get_ellipsoid)      \
  F(proj_get_id_auth_name) F(proj_get_id_code) F(proj_get_name) F(proj_get_source_crs) F(proj_get_target_crs)         \
  F(proj_get_type) F(proj_info) F(proj_is_crs) F(proj_is_equivalent_to_with_ctx) F(proj_list_destroy)                 \
  F(proj_list_get) F(proj_list_get_count) F(proj_log_func) F(proj_log_level) F(proj_normalize_for_visualization)      \
  F(proj_operation_factory_context_destroy) F(proj_operation_factory_context_set_area_of_interest)                    \
  F(proj_operation_factory_context_set_grid_availability_use)                                                         \
  F(proj_operation_factory_context_set_spatial_criterion) F(proj_trans) F(proj_trans_bounds) F(proj_trans_generic)

CLAZY_LIBRARY(proj, FUNCTIONS, "libproj.so.25", "libproj.so")

const char *cproj_load(void) { return clazy_load(&proj); }
