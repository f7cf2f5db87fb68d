// libcairo, and Pango and librsvg on it, which are loaded when they are first needed (CLazyLibrary.h).
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct _cairo cairo_t;
typedef struct _cairo_font_options cairo_font_options_t;

/// Returns NULL, or why cairo cannot be used. Must be called before any function of CCairo.
const char *ccairo_load(void);

/// Returns NULL, or why Pango cannot be used. Must be called before any function of Pango below.
const char *cpango_load(void);

/// Passes the file of each font that may be found, and of each of fontconfig's rules, to a function; nothing where
/// another library finds fonts. After cpango_load.
void cpango_font_files(void (*body)(const char *file, void *context), void *context);

/// Returns NULL, or why librsvg cannot be used. Must be called before any function of librsvg below.
const char *crsvg_load(void);

/// The version of librsvg; NULL if it cannot be used.
const char *crsvg_version(void);

// What is used of Pango 1.44 and later, whose binary interface is stable. Its own headers include GLib's, which only
// pkg-config finds, and pkg-config would link them.

typedef struct CPangoFontMap CPangoFontMap;
typedef struct CPangoContext CPangoContext;
typedef struct CPangoLayout CPangoLayout;
typedef struct CPangoLayoutIter CPangoLayoutIter;
typedef struct CPangoFont CPangoFont;
typedef struct CPangoFontDescription CPangoFontDescription;

// Lengths are in 1/1024 pixels.
#define CPANGO_SCALE 1024
// PANGO_FONT_MASK_SIZE.
#define CPANGO_SIZE_FIELD (1u << 5)

typedef struct {
  int x, y, width, height;
} CPangoRectangle;

// PANGO_GLYPH_EMPTY: nothing is shown. PANGO_GLYPH_UNKNOWN_FLAG: no font has the code point in the other bits.
#define CPANGO_GLYPH_EMPTY 0x0FFFFFFFu
#define CPANGO_GLYPH_UNKNOWN 0x10000000u

typedef struct {
  uint32_t glyph;
  int32_t width, x_offset, y_offset;
  uint32_t attributes;
} CPangoGlyphInfo;

typedef struct {
  int num_glyphs;
  CPangoGlyphInfo *glyphs;
  // For each glyph the byte at which its character cluster begins.
  int *log_clusters;
  int space;
} CPangoGlyphString;

typedef struct {
  int offset, length, num_chars;
  void *shape_engine;
  void *lang_engine;
  CPangoFont *font;
  // More follows.
} CPangoItem;

typedef struct {
  CPangoItem *item;
  CPangoGlyphString *glyphs;
  // More follows.
} CPangoGlyphItem;

const char *pango_version_string(void);
CPangoFontMap *pango_cairo_font_map_new(void);
CPangoContext *pango_font_map_create_context(CPangoFontMap *map);
void pango_cairo_context_set_font_options(CPangoContext *context, const cairo_font_options_t *options);
void pango_context_set_round_glyph_positions(CPangoContext *context, int rounds);
CPangoFont *pango_context_load_font(CPangoContext *context, const CPangoFontDescription *description);
CPangoFontDescription *pango_font_describe(CPangoFont *font);
CPangoFontDescription *pango_font_description_from_string(const char *text);
void pango_font_description_free(CPangoFontDescription *description);
const char *pango_font_description_get_family(const CPangoFontDescription *description);
void pango_font_description_set_family(CPangoFontDescription *description, const char *family);
char *pango_font_description_to_string(const CPangoFontDescription *description);
void pango_font_description_unset_fields(CPangoFontDescription *description, unsigned fields);
void pango_font_description_set_absolute_size(CPangoFontDescription *description, double size);
CPangoLayout *pango_layout_new(CPangoContext *context);
void pango_layout_set_text(CPangoLayout *layout, const char *text, int length);
void pango_layout_set_font_description(CPangoLayout *layout, const CPangoFontDescription *description);
void pango_layout_set_width(CPangoLayout *layout, int width);
int pango_layout_get_line_count(CPangoLayout *layout);
void pango_layout_get_extents(CPangoLayout *layout, CPangoRectangle *ink, CPangoRectangle *logical);
CPangoLayoutIter *pango_layout_get_iter(CPangoLayout *layout);
void pango_layout_iter_free(CPangoLayoutIter *iterator);
int pango_layout_iter_next_run(CPangoLayoutIter *iterator);
// NULL at the end of a line.
CPangoGlyphItem *pango_layout_iter_get_run_readonly(CPangoLayoutIter *iterator);
void pango_layout_iter_get_run_extents(CPangoLayoutIter *iterator, CPangoRectangle *ink, CPangoRectangle *logical);
void pango_cairo_glyph_string_path(cairo_t *context, CPangoFont *font, CPangoGlyphString *glyphs);
void g_object_unref(void *object);
void g_free(void *memory);

// HarfBuzz, which Pango sets texts with, knows the file of a font.

typedef struct CHarfBuzzFont CHarfBuzzFont;
typedef struct CHarfBuzzFace CHarfBuzzFace;
typedef struct CHarfBuzzBlob CHarfBuzzBlob;

// The font keeps what it returns.
CHarfBuzzFont *pango_font_get_hb_font(CPangoFont *font);
CHarfBuzzFace *hb_font_get_face(CHarfBuzzFont *font);
CHarfBuzzBlob *hb_face_reference_blob(CHarfBuzzFace *face);
const char *hb_blob_get_data(CHarfBuzzBlob *blob, unsigned *count);
unsigned hb_blob_get_length(CHarfBuzzBlob *blob);
// The table's four letters are the bytes of the tag, from the highest; an empty blob if the face lacks it.
CHarfBuzzBlob *hb_face_reference_table(CHarfBuzzFace *face, uint32_t tag);
void hb_blob_destroy(CHarfBuzzBlob *blob);

// What is used of librsvg 2.52 and later, whose binary interface is stable.

typedef struct CSVG CSVG;

typedef struct {
  uint32_t domain;
  int code;
  char *message;
} CGError;

typedef struct {
  double length;
  int unit;
} CSVGLength;

typedef struct {
  double x, y, width, height;
} CSVGRectangle;

// Names of other files in the data are not followed.
CSVG *rsvg_handle_new_from_data(const uint8_t *data, size_t count, CGError **error);
// How many pixels an inch of the drawing has; 90 unless it is set.
void rsvg_handle_set_dpi(CSVG *handle, double dpi);
// 0 if width or height are missing, or parts of what surrounds the picture.
int rsvg_handle_get_intrinsic_size_in_pixels(CSVG *handle, double *width, double *height);
void rsvg_handle_get_intrinsic_dimensions(
    CSVG *handle, int *has_width, CSVGLength *width, int *has_height, CSVGLength *height, int *has_view_box,
    CSVGRectangle *view_box);
int rsvg_handle_render_document(CSVG *handle, cairo_t *context, const CSVGRectangle *viewport, CGError **error);
void g_error_free(CGError *error);
