#pragma once

// libpng for Swift. libpng reports errors by longjmp, which must not cross a Swift frame: every function here catches it and returns.
// Nothing is written to stderr and nothing aborts.

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint32_t width;
  uint32_t height;
  // Of the file: 1, 2, 4, 8 or 16.
  int bit_depth;
  // Of the file: 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGBA.
  int colour_type;
  // A tRNS chunk is there.
  int has_transparency_chunk;
  int is_interlaced;
} png_shim_header;

typedef struct {
  // Samples in a pixel and bytes in a row, as read_row gives them.
  int channels;
  size_t row_bytes;
  // How often all rows are read: 7 for interlaced images, otherwise 1.
  int pass_count;
} png_shim_layout;

typedef enum {
  // RGBA, 8 bits a sample.
  PNG_SHIM_RGBA8 = 0,
  // The file's channels (palettes as RGB; tRNS as an alpha channel), 16 bits a sample, in the machine's byte order.
  PNG_SHIM_NATIVE16 = 1,
  // The indices of a palette, a byte each.
  PNG_SHIM_INDEX8 = 2,
} png_shim_mode;

typedef struct png_shim_reader png_shim_reader;

// Opens a file and reads up to its pixels. NULL when there is no memory; otherwise ask png_shim_error whether it went well; close it in
// any case. Memory used so far does not depend on the image's size.
png_shim_reader *png_shim_open_file(const char *path, png_shim_header *header);

// The same for a file in memory, which must stay there until the reader is closed.
png_shim_reader *png_shim_open_memory(const void *bytes, size_t count, png_shim_header *header);

// Why the last call failed, in libpng's words where they are its; NULL when it did not. Valid until the reader is closed.
const char *png_shim_error(const png_shim_reader *reader);

// libpng's warnings so far (the first eight are kept).
int png_shim_warning_count(const png_shim_reader *reader);
const char *png_shim_warning(const png_shim_reader *reader, int index);

// The rest return 1, or 0 after an error; after an error only the reader's error and warnings may be asked for.

// Chooses the form of the rows. Allocates a few rows.
int png_shim_start(png_shim_reader *reader, png_shim_mode mode, png_shim_layout *layout);

// Reads the next row of the current pass. For interlaced images `row` holds what earlier passes left in it; only this pass's pixels change.
int png_shim_read_row(png_shim_reader *reader, void *row);

// Reads what follows the pixels, to the end of the file.
int png_shim_finish(png_shim_reader *reader);

// Reads all rows of all passes, and to the end of the file.
int png_shim_read_image(png_shim_reader *reader, void *pixels, size_t row_bytes);

void png_shim_close(png_shim_reader *reader);
