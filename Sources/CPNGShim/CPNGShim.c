#include "CPNGShim.h"

#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { warning_count_max = 8, message_bytes = 200 };

struct png_shim_reader {
  png_structp png;
  png_infop info;
  FILE *file;
  const uint8_t *memory;
  size_t memory_count;
  size_t memory_offset;
  png_shim_layout layout;
  uint32_t height;
  int failed;
  int warning_count;
  char error[message_bytes];
  char warnings[warning_count_max][message_bytes];
};

static void fail(png_shim_reader *reader, const char *message) {
  reader->failed = 1;
  snprintf(reader->error, message_bytes, "%s", message);
}

static void on_error(png_structp png, png_const_charp message) {
  fail(png_get_error_ptr(png), message);
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
  png_shim_reader *reader = png_get_error_ptr(png);
  if (reader->warning_count < warning_count_max) {
    snprintf(reader->warnings[reader->warning_count++], message_bytes, "%s", message);
  }
}

static void read_memory(png_structp png, png_bytep target, size_t count) {
  png_shim_reader *reader = png_get_io_ptr(png);
  if (count > reader->memory_count - reader->memory_offset) png_error(png, "the data end early");
  memcpy(target, reader->memory + reader->memory_offset, count);
  reader->memory_offset += count;
}

static void read_file(png_structp png, png_bytep target, size_t count) {
  png_shim_reader *reader = png_get_io_ptr(png);
  if (fread(target, 1, count, reader->file) == count) return;
  png_error(png, ferror(reader->file) ? "the file cannot be read" : "the data end early");
}

// Chunks that do not change what a pixel is here (gamma and profiles are ignored) are not even parsed: they are the likelier to be broken.
static const png_byte ignored_chunks[] = "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0sRGB\0tEXt\0"
                                         "tIME\0zTXt";

static void open_header(png_shim_reader *reader, png_shim_header *header) {
  reader->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, reader, on_error, on_warning);
  if (!reader->png) {
    if (!reader->failed) fail(reader, "no memory, or another version of libpng");
    return;
  }
  if (setjmp(png_jmpbuf(reader->png))) return;
  reader->info = png_create_info_struct(reader->png);
  if (!reader->info) png_error(reader->png, "no memory");
  // What is too large is the caller's to say.
  png_set_user_limits(reader->png, 0x7fffffff, 0x7fffffff);
  png_set_keep_unknown_chunks(
      reader->png, PNG_HANDLE_CHUNK_NEVER, ignored_chunks, (int)(sizeof ignored_chunks / 5));
  png_set_read_fn(reader->png, reader, reader->file ? read_file : read_memory);
  png_read_info(reader->png, reader->info);
  header->width = png_get_image_width(reader->png, reader->info);
  header->height = png_get_image_height(reader->png, reader->info);
  header->bit_depth = png_get_bit_depth(reader->png, reader->info);
  header->colour_type = png_get_color_type(reader->png, reader->info);
  header->has_transparency_chunk = png_get_valid(reader->png, reader->info, PNG_INFO_tRNS) != 0;
  header->is_interlaced = png_get_interlace_type(reader->png, reader->info) != PNG_INTERLACE_NONE;
  reader->height = header->height;
}

png_shim_reader *png_shim_open_file(const char *path, png_shim_header *header) {
  png_shim_reader *reader = calloc(1, sizeof *reader);
  if (!reader) return NULL;
  reader->file = fopen(path, "rb");
  if (reader->file) {
    open_header(reader, header);
  } else {
    fail(reader, strerror(errno));
  }
  return reader;
}

png_shim_reader *png_shim_open_memory(const void *bytes, size_t count, png_shim_header *header) {
  png_shim_reader *reader = calloc(1, sizeof *reader);
  if (!reader) return NULL;
  reader->memory = bytes;
  reader->memory_count = count;
  open_header(reader, header);
  return reader;
}

const char *png_shim_error(const png_shim_reader *reader) { return reader->failed ? reader->error : NULL; }

int png_shim_warning_count(const png_shim_reader *reader) { return reader->warning_count; }

const char *png_shim_warning(const png_shim_reader *reader, int index) { return reader->warnings[index]; }

int png_shim_start(png_shim_reader *reader, png_shim_mode mode, png_shim_layout *layout) {
  if (reader->failed || setjmp(png_jmpbuf(reader->png))) return 0;
  // Palettes to RGB, fewer than 8 bits to 8, tRNS to alpha: before anything that works on whole samples.
  if (mode == PNG_SHIM_INDEX8) {
    png_set_packing(reader->png);
  } else {
    png_set_expand(reader->png);
  }
  if (mode == PNG_SHIM_NATIVE16) {
    png_set_expand_16(reader->png);
    const uint16_t probe = 1;
    if (*(const uint8_t *)&probe) png_set_swap(reader->png);
  } else if (mode == PNG_SHIM_RGBA8) {
    // Rounds to the nearest, unlike png_set_strip_16.
    png_set_scale_16(reader->png);
    png_set_gray_to_rgb(reader->png);
    png_set_add_alpha(reader->png, 255, PNG_FILLER_AFTER);
  }
  reader->layout.pass_count = png_set_interlace_handling(reader->png);
  png_read_update_info(reader->png, reader->info);
  reader->layout.channels = png_get_channels(reader->png, reader->info);
  reader->layout.row_bytes = png_get_rowbytes(reader->png, reader->info);
  *layout = reader->layout;
  return 1;
}

int png_shim_read_row(png_shim_reader *reader, void *row) {
  if (reader->failed || setjmp(png_jmpbuf(reader->png))) return 0;
  png_read_row(reader->png, row, NULL);
  return 1;
}

int png_shim_finish(png_shim_reader *reader) {
  if (reader->failed || setjmp(png_jmpbuf(reader->png))) return 0;
  png_read_end(reader->png, NULL);
  return 1;
}

int png_shim_read_image(png_shim_reader *reader, void *pixels, size_t row_bytes) {
  if (reader->failed || setjmp(png_jmpbuf(reader->png))) return 0;
  for (int pass = 0; pass < reader->layout.pass_count; pass++) {
    for (uint32_t row = 0; row < reader->height; row++) {
      png_read_row(reader->png, (png_bytep)pixels + row * row_bytes, NULL);
    }
  }
  png_read_end(reader->png, NULL);
  return 1;
}

void png_shim_close(png_shim_reader *reader) {
  if (!reader) return;
  if (reader->png) png_destroy_read_struct(&reader->png, reader->info ? &reader->info : NULL, NULL);
  if (reader->file) fclose(reader->file);
  free(reader);
}
