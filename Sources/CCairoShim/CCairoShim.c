#define _GNU_SOURCE
#include "CCairoShim.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>

#include "CLazyLibrary.h"

// Every function of cairo that Swift calls: the linker refuses one that is not here.
#define CAIRO_FUNCTIONS(F)                                                                                            \
  F(cairo_arc) F(cairo_clip) F(cairo_close_path) F(cairo_copy_path) F(cairo_create) F(cairo_curve_to)                 \
  F(cairo_destroy) F(cairo_fill) F(cairo_fill_preserve) F(cairo_font_options_create) F(cairo_font_options_destroy)    \
  F(cairo_font_options_set_hint_metrics) F(cairo_font_options_set_hint_style) F(cairo_image_surface_create)           \
  F(cairo_image_surface_create_for_data) F(cairo_line_to) F(cairo_move_to) F(cairo_new_path) F(cairo_new_sub_path)    \
  F(cairo_paint_with_alpha) F(cairo_path_destroy) F(cairo_pattern_set_extend) F(cairo_rectangle) F(cairo_get_source) F(cairo_restore)    \
  F(cairo_rotate) F(cairo_save) F(cairo_scale) F(cairo_set_fill_rule) F(cairo_set_line_cap)                           \
  F(cairo_set_line_join) F(cairo_set_line_width) F(cairo_set_miter_limit) F(cairo_set_source_rgba)                    \
  F(cairo_set_source_surface) F(cairo_set_tolerance) F(cairo_status) F(cairo_status_to_string) F(cairo_stroke) F(cairo_stroke_preserve)        \
  F(cairo_surface_destroy) F(cairo_surface_flush) F(cairo_surface_mark_dirty) F(cairo_translate)                      \
  F(cairo_version_string)

CLAZY_LIBRARY(cairo, CAIRO_FUNCTIONS, "libcairo.so.2")

const char *ccairo_load(void) { return clazy_load(&cairo); }

// libpangocairo brings libpango, HarfBuzz and GLib's objects, in which their functions are found.
#define PANGO_FUNCTIONS(F)                                                                                            \
  F(g_free) F(g_object_unref) F(hb_blob_destroy) F(hb_blob_get_data) F(hb_face_reference_blob) F(hb_font_get_face)    \
  F(hb_blob_get_length) F(hb_face_reference_table)                                                                    \
  F(pango_cairo_context_set_font_options) F(pango_cairo_font_map_new) F(pango_font_get_hb_font)                       \
  F(pango_cairo_glyph_string_path) F(pango_context_load_font) F(pango_context_set_round_glyph_positions)              \
  F(pango_font_describe) F(pango_font_description_free) F(pango_font_description_from_string)                         \
  F(pango_font_description_get_family) F(pango_font_description_set_absolute_size)                                    \
  F(pango_font_description_set_family) F(pango_font_description_to_string) F(pango_font_description_unset_fields)     \
  F(pango_font_map_create_context) F(pango_layout_get_extents)                   \
  F(pango_layout_get_iter) F(pango_layout_get_line_count) F(pango_layout_iter_free)                                   \
  F(pango_layout_iter_get_run_extents) F(pango_layout_iter_get_run_readonly) F(pango_layout_iter_next_run)            \
  F(pango_layout_new) F(pango_layout_set_font_description) F(pango_layout_set_text) F(pango_layout_set_width)          \
  F(pango_version_string)

CLAZY_LIBRARY(pango, PANGO_FUNCTIONS, "libpangocairo-1.0.so.0")

const char *cpango_load(void) {
  const char *words = clazy_load(&cairo);
  return words ? words : clazy_load(&pango);
}

// fontconfig, which Pango has loaded (fontconfig.h).
void cpango_font_files(void (*body)(const char *file, void *context), void *context) {
  typedef struct {
    int count;
    int room;
    void **fonts;
  } font_set;
  void *library = dlopen("libfontconfig.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return;
  void *(*current)(void) = (void *(*)(void))dlsym(library, "FcConfigGetCurrent");
  font_set *(*fonts_of)(void *, int) = (font_set * (*)(void *, int)) dlsym(library, "FcConfigGetFonts");
  int (*text_of)(void *, const char *, int, unsigned char **) =
      (int (*)(void *, const char *, int, unsigned char **))dlsym(library, "FcPatternGetString");
  void *(*rules_of)(void *) = (void *(*)(void *))dlsym(library, "FcConfigGetConfigFiles");
  unsigned char *(*next)(void *) = (unsigned char *(*)(void *))dlsym(library, "FcStrListNext");
  void (*done)(void *) = (void (*)(void *))dlsym(library, "FcStrListDone");
  if (current && fonts_of && text_of && rules_of && next && done) {
    void *config = current();
    // Those of the system: the program adds none of its own.
    font_set *set = config ? fonts_of(config, 0) : NULL;
    for (int i = 0; set && i < set->count; i++) {
      unsigned char *file;
      if (text_of(set->fonts[i], "file", 0, &file) == 0) body((const char *)file, context);
    }
    void *rules = config ? rules_of(config) : NULL;
    if (rules) {
      for (unsigned char *file; (file = next(rules));) body((const char *)file, context);
      done(rules);
    }
  }
  dlclose(library);
}

// librsvg draws on cairo, sets texts with Pango, and is released as a GLib object.
#define RSVG_FUNCTIONS(F)                                                                                             \
  F(g_error_free) F(rsvg_handle_get_intrinsic_dimensions) F(rsvg_handle_get_intrinsic_size_in_pixels)                 \
  F(rsvg_handle_new_from_data) F(rsvg_handle_render_document) F(rsvg_handle_set_dpi)

CLAZY_LIBRARY(rsvg, RSVG_FUNCTIONS, "librsvg-2.so.2")

const char *crsvg_load(void) {
  const char *words = cpango_load();
  return words ? words : clazy_load(&rsvg);
}

const char *crsvg_version(void) {
#if defined(__APPLE__)
  return "2";
#else
  // The library's own numbers are variables, which are found where its functions are.
  static char text[48];
  Dl_info place;
  if (crsvg_load() || !dladdr(clazy_slot_rsvg_handle_new_from_data, &place)) return NULL;
  void *library = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return NULL;
  const unsigned *major = dlsym(library, "rsvg_major_version");
  const unsigned *minor = dlsym(library, "rsvg_minor_version");
  const unsigned *micro = dlsym(library, "rsvg_micro_version");
  if (major && minor && micro) snprintf(text, sizeof text, "%u.%u.%u", *major, *minor, *micro);
  dlclose(library);
  return text[0] ? text : NULL;
#endif
}
