#include "CCairoShim.h"

#include "CLateLibrary.h"

// Every function of cairo that Swift calls: the linker refuses one that is not here.
#define FUNCTIONS(F)                                                                                                  \
  F(cairo_arc) F(cairo_close_path) F(cairo_create) F(cairo_destroy) F(cairo_fill) F(cairo_fill_preserve)              \
  F(cairo_image_surface_create_for_data) F(cairo_line_to) F(cairo_move_to) F(cairo_new_path) F(cairo_new_sub_path)    \
  F(cairo_set_dash) F(cairo_set_fill_rule) F(cairo_set_line_cap) F(cairo_set_line_join) F(cairo_set_line_width)       \
  F(cairo_set_miter_limit) F(cairo_set_source_rgba) F(cairo_set_tolerance) F(cairo_status)                            \
  F(cairo_status_to_string) F(cairo_stroke) F(cairo_surface_destroy) F(cairo_surface_flush)                           \
  F(cairo_surface_mark_dirty) F(cairo_version_string)

CLATE_LIBRARY(cairo, FUNCTIONS, "libcairo.so.2")

const char *ccairo_load(void) { return clate_load(&cairo); }
