// What Swift cannot call of libtiff and libgeotiff: variadic functions, va_list error handlers, client I/O.
// One handle serves one thread at a time. Nothing here prints.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct ctiff_file ctiff_file;

/// Opens a TIFF over a descriptor that several handles may share (it is read with pread and not closed). It may lie inside
/// another file, as `size` bytes from `start` on.
/// Returns NULL with libtiff's words in `message`.
ctiff_file *ctiff_open(int fd, uint64_t start, uint64_t size, const char *name, uint64_t alloc_bytes_max, char *message,
                       size_t message_bytes);
/// Reads at a position into `target`; returns the bytes read, fewer at the end of the file, or -1.
typedef int64_t (*ctiff_reader)(void *context, void *target, int64_t bytes, uint64_t offset);
/// The same over a function, which several threads may call at a time.
ctiff_file *ctiff_open_reader(ctiff_reader reader, void *context, uint64_t start, uint64_t size, const char *name,
                              uint64_t alloc_bytes_max, char *message, size_t message_bytes);
void ctiff_close(ctiff_file *file);

/// Each returns 1, or 0 when there is no such directory or it cannot be read.
int ctiff_set_directory(ctiff_file *file, uint32_t index);
int ctiff_next_directory(ctiff_file *file);

/// The first error since the last call of ctiff_clear_error, or "".
const char *ctiff_error(const ctiff_file *file);
void ctiff_clear_error(ctiff_file *file);
/// The first warnings since the file was opened, or NULL behind the last one kept.
const char *ctiff_warning(const ctiff_file *file, int index);

/// The facts of the current directory that a decoder needs.
typedef struct {
  uint32_t width, height;
  uint32_t block_width, block_height;  // a tile, or the rows of a strip
  uint32_t block_count;                // of one plane if the planes are contiguous, of all planes if separate
  uint64_t block_bytes;                // one decoded block of one plane, 0 if libtiff cannot say
  uint32_t subfile_type;
  uint16_t bits, samples, format, photometric, planar, compression, orientation;
  uint16_t extra_count;
  uint16_t extra[16];
  uint8_t tiled, big_tiff, codec_known, has_photometric, is_rgb_from_jpeg;
} ctiff_layout;

/// Fills `layout` from the current directory; returns 0 when width or height is missing.
int ctiff_read_layout(ctiff_file *file, ctiff_layout *layout);
/// The name libtiff has for a compression, or NULL.
const char *ctiff_compression_name(uint16_t compression);
/// The colour map's three columns of `1 << bits` values; returns 0 when there is none.
int ctiff_colormap(ctiff_file *file, const uint16_t **red, const uint16_t **green, const uint16_t **blue);
/// A tag of doubles; returns how many.
uint32_t ctiff_doubles(ctiff_file *file, uint32_t tag, const double **values);
/// A tag of text; returns its bytes, which need not end in a null.
uint32_t ctiff_text(ctiff_file *file, uint32_t tag, const char **text);

/// Where a block lies in the file; both 0 for a block that was never written. Returns 0 when the tag cannot be read.
int ctiff_block_range(ctiff_file *file, uint32_t block, uint64_t *offset, uint64_t *bytes);
/// Decodes a block as it is stored; returns the bytes decoded, or -1.
int64_t ctiff_read_block(ctiff_file *file, uint32_t block, void *target, int64_t bytes);
/// Decodes the block with its top left pixel at x, y through libtiff's RGBA interface: `block_width * block_height`
/// words of ABGR with premultiplied alpha, bottom row first (of a short last strip: its own last row first). Returns 1, or 0.
int ctiff_read_rgba_block(ctiff_file *file, uint32_t x, uint32_t y, uint32_t *target);
/// Whether the RGBA interface can decode the current directory; if not, `reason` (1024 bytes) says why.
int ctiff_rgba_ok(ctiff_file *file, char *reason);
/// Decodes one row of one plane of a file in strips; rows must be asked for in order. Returns 1, or 0.
int ctiff_read_row(ctiff_file *file, uint32_t row, uint16_t plane, void *target);
/// Bytes of one row of one plane, 0 if libtiff cannot say.
uint64_t ctiff_row_bytes(ctiff_file *file);

// GeoTIFF keys (OGC 19-008r4, section 7).

/// Loads libgeotiff. Returns NULL, or why it cannot be used. Must be called before files are opened.
const char *ctiff_geo_load(void);

typedef struct ctiff_geo ctiff_geo;

/// Reads the current directory's keys; NULL when there are none. `proj_context` is a PJ_CONTEXT that outlives the result.
ctiff_geo *ctiff_geo_open(ctiff_file *file, void *proj_context);
void ctiff_geo_close(ctiff_geo *geo);
/// A key of one short; returns 0 when it is absent.
int ctiff_geo_short(ctiff_geo *geo, int key, uint16_t *value);
/// A key of doubles; returns how many were stored in `values`.
int ctiff_geo_doubles(ctiff_geo *geo, int key, double *values, int count_max);
/// A key of text, always null-terminated; returns 0 when it is absent.
int ctiff_geo_text(ctiff_geo *geo, int key, char *text, size_t text_bytes);

/// What libgeotiff makes of the keys; codes are EPSG's, 32767 where user-defined.
typedef struct {
  int model;  // 1 projected, 2 geographic, 3 geocentric
  int pcs, gcs, datum, prime_meridian, ellipsoid;
  double semi_major_metres, semi_minor_metres, prime_meridian_degrees, angle_unit_degrees, length_unit_metres;
  double projection_scale;  // at the natural origin or the centre; 0 if the projection has none
} ctiff_geo_definition;

/// Returns 0 when libgeotiff makes nothing of the keys.
int ctiff_geo_define(ctiff_geo *geo, ctiff_geo_definition *definition);
/// The definition as a PROJ string, to be freed with ctiff_geo_free_text; NULL when it has no such form.
char *ctiff_geo_proj_string(ctiff_geo *geo);
void ctiff_geo_free_text(char *text);
