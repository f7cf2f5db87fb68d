#pragma once

// libjpeg-turbo for Swift. libjpeg reports errors by a callback that must not return: here it jumps, and every function catches the
// jump and returns, so that no Swift frame is crossed. Nothing is written to stderr and nothing aborts.

#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint32_t width;
  uint32_t height;
  // Of the file: 1 grey, 3 colours, 4 CMYK or YCCK.
  int channels;
  int is_progressive;
  // Several scans: all coefficients are held in memory before the first row comes.
  int has_multiple_scans;
  // The memory that decoding takes, in bytes (an estimate).
  uint64_t working_bytes;
} jpeg_shim_header;

typedef struct jpeg_shim_reader jpeg_shim_reader;

// Opens a file and reads its header. NULL when there is no memory; otherwise ask jpeg_shim_error whether it went well; close it in any
// case. Memory used so far does not depend on the image's size.
jpeg_shim_reader *jpeg_shim_open_file(const char *path, jpeg_shim_header *header);

// The same for a file in memory, which must stay there until the reader is closed.
jpeg_shim_reader *jpeg_shim_open_memory(const void *bytes, size_t count, jpeg_shim_header *header);

// Why the last call failed, in libjpeg's words where they are its; NULL when it did not. Valid until the reader is closed. What libjpeg
// only warns of although pixels are lost (data that end early, bad codes) is an error here.
const char *jpeg_shim_error(const jpeg_shim_reader *reader);

// The error is one of memory, not of the file.
int jpeg_shim_ran_out_of_memory(const jpeg_shim_reader *reader);

// libjpeg's harmless warnings so far (the first eight are kept).
int jpeg_shim_warning_count(const jpeg_shim_reader *reader);
const char *jpeg_shim_warning(const jpeg_shim_reader *reader, int index);

// The rest return 1, or 0 after an error; after an error only the reader's error and warnings may be asked for.

// Starts decoding; with several scans this reads the whole file. `memory_max`, in bytes, is what libjpeg may hold (0: no limit).
int jpeg_shim_start(jpeg_shim_reader *reader, size_t memory_max);

// Reads the next row as RGBA, 8 bits a sample. The last one also reads to the end of the file.
int jpeg_shim_read_row(jpeg_shim_reader *reader, void *row);

// Reads all rows, and to the end of the file.
int jpeg_shim_read_image(jpeg_shim_reader *reader, void *pixels, size_t row_bytes);

void jpeg_shim_close(jpeg_shim_reader *reader);

// Bytes that grow as they are written; starts as all zeros, is freed by its owner with jpeg_shim_free and may be used again.
typedef struct {
  uint8_t *bytes;
  size_t count;
  size_t capacity;
} jpeg_shim_buffer;

// Encodes RGBA pixels (alpha is ignored) into `output`, replacing its content.
//
// Returns NULL, or why it failed in libjpeg's words, written to `message` (200 bytes).
const char *jpeg_shim_encode(
    const void *pixels, uint32_t width, uint32_t height, size_t row_bytes, int quality, int full_colour_resolution,
    jpeg_shim_buffer *output, char *message);

void jpeg_shim_free(jpeg_shim_buffer *buffer);
