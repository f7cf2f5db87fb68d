#include <errno.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "CJPEGShim.h"

enum {
  warning_count_max = 8,
  message_bytes = 200,
  // Honest progressive files have about ten scans; hostile ones have thousands, each as dear as the whole image.
  scan_count_max = 500,
};

struct jpeg_shim_reader {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  struct jpeg_progress_mgr progress;
  jmp_buf jump;
  FILE *file;
  int failed;
  int ran_out_of_memory;
  int is_inverted_cmyk;
  int warning_count;
  char error[message_bytes];
  char warnings[warning_count_max][message_bytes];
};

static void fail(jpeg_shim_reader *reader, const char *message) {
  reader->failed = 1;
  snprintf(reader->error, message_bytes, "%s", message);
}

static _Noreturn void on_error(j_common_ptr jpeg) {
  jpeg_shim_reader *reader = jpeg->client_data;
  char message[JMSG_LENGTH_MAX];
  jpeg->err->format_message(jpeg, message);
  int code = jpeg->err->msg_code;
  // Without a temporary file to go to, libjpeg says that it lacks "backing store" where it means memory.
  reader->ran_out_of_memory = code == JERR_OUT_OF_MEMORY || code == JERR_NO_BACKING_STORE;
  fail(reader, reader->ran_out_of_memory ? "decoding needs more memory than allowed" : message);
  longjmp(reader->jump, 1);
}

// Level -1 is a warning, 0 and more are traces.
static void on_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  jpeg_shim_reader *reader = jpeg->client_data;
  switch (jpeg->err->msg_code) {
  case JWRN_HIT_MARKER:
  case JWRN_JPEG_EOF:
  case JWRN_MUST_RESYNC:
  case JWRN_HUFF_BAD_CODE:
  case JWRN_ARITH_BAD_CODE:
  case JWRN_BOGUS_PROGRESSION:
    // Pixels are lost: libjpeg would go on with grey blocks.
    on_error(jpeg);
  default:
    break;
  }
  jpeg->err->num_warnings++;
  if (reader->warning_count < warning_count_max) {
    char message[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, message);
    snprintf(reader->warnings[reader->warning_count++], message_bytes, "%s", message);
  }
}

static void on_output(j_common_ptr jpeg) { (void)jpeg; }

static void on_progress(j_common_ptr jpeg) {
  if (((j_decompress_ptr)jpeg)->input_scan_number > scan_count_max) {
    jpeg_shim_reader *reader = jpeg->client_data;
    fail(reader, "more scans than any honest image has");
    longjmp(reader->jump, 1);
  }
}

static uint64_t estimate_working_bytes(j_decompress_ptr jpeg, int has_multiple_scans) {
  uint64_t blocks = 0;
  for (int i = 0; i < jpeg->num_components; i++) {
    const jpeg_component_info *component = &jpeg->comp_info[i];
    uint64_t rows = has_multiple_scans ? component->height_in_blocks : (uint64_t)component->v_samp_factor;
    blocks += component->width_in_blocks * rows;
  }
  // Coefficients, and about six rows of blocks of samples on the way to colours.
  uint64_t coefficients = blocks * sizeof(JBLOCK);
  return coefficients + (uint64_t)jpeg->image_width * 4 * DCTSIZE * 6;
}

static void open_header(jpeg_shim_reader *reader, const void *bytes, size_t count, jpeg_shim_header *header) {
  j_decompress_ptr jpeg = &reader->jpeg;
  jpeg->err = jpeg_std_error(&reader->errors);
  reader->errors.error_exit = on_error;
  reader->errors.emit_message = on_message;
  reader->errors.output_message = on_output;
  reader->progress.progress_monitor = on_progress;
  jpeg->client_data = reader;
  if (setjmp(reader->jump)) return;
  jpeg_create_decompress(jpeg);
  jpeg->progress = &reader->progress;
  if (reader->file) {
    jpeg_stdio_src(jpeg, reader->file);
  } else if (count == 0) {
    // jpeg_mem_src would call this an empty input "file".
    fail(reader, "no data");
    return;
  } else {
    jpeg_mem_src(jpeg, bytes, count);
  }
  jpeg_read_header(jpeg, TRUE);
  header->width = jpeg->image_width;
  header->height = jpeg->image_height;
  header->channels = jpeg->num_components;
  header->is_progressive = jpeg->progressive_mode;
  header->has_multiple_scans = jpeg_has_multiple_scans(jpeg);
  header->working_bytes = estimate_working_bytes(jpeg, header->has_multiple_scans);
  switch (jpeg->jpeg_color_space) {
  case JCS_GRAYSCALE:
  case JCS_RGB:
  case JCS_YCbCr:
    jpeg->out_color_space = JCS_EXT_RGBA;
    break;
  case JCS_CMYK:
  case JCS_YCCK:
    // Adobe's programs store ink inverted, and theirs is the custom where their marker is.
    reader->is_inverted_cmyk = jpeg->saw_Adobe_marker;
    jpeg->out_color_space = JCS_CMYK;
    break;
  default:
    fail(reader, "colour components of unknown meaning");
  }
}

static jpeg_shim_reader *open_reader(FILE *file, const void *bytes, size_t count, jpeg_shim_header *header) {
  jpeg_shim_reader *reader = calloc(1, sizeof *reader);
  if (!reader) {
    if (file) fclose(file);
    return NULL;
  }
  reader->file = file;
  open_header(reader, bytes, count, header);
  return reader;
}

jpeg_shim_reader *jpeg_shim_open_file(const char *path, jpeg_shim_header *header) {
  FILE *file = fopen(path, "rb");
  if (file) return open_reader(file, NULL, 0, header);
  jpeg_shim_reader *reader = calloc(1, sizeof *reader);
  if (reader) fail(reader, strerror(errno));
  return reader;
}

jpeg_shim_reader *jpeg_shim_open_memory(const void *bytes, size_t count, jpeg_shim_header *header) {
  return open_reader(NULL, bytes, count, header);
}

const char *jpeg_shim_error(const jpeg_shim_reader *reader) { return reader->failed ? reader->error : NULL; }

int jpeg_shim_ran_out_of_memory(const jpeg_shim_reader *reader) { return reader->ran_out_of_memory; }

int jpeg_shim_warning_count(const jpeg_shim_reader *reader) { return reader->warning_count; }

const char *jpeg_shim_warning(const jpeg_shim_reader *reader, int index) { return reader->warnings[index]; }

int jpeg_shim_start(jpeg_shim_reader *reader, size_t memory_max) {
  if (reader->failed || setjmp(reader->jump)) return 0;
  if (memory_max > 0) reader->jpeg.mem->max_memory_to_use = (long)memory_max;
  jpeg_start_decompress(&reader->jpeg);
  return 1;
}

static void convert_cmyk(jpeg_shim_reader *reader, uint8_t *row) {
  uint8_t flip = reader->is_inverted_cmyk ? 0 : 255;
  for (uint32_t i = 0; i < reader->jpeg.output_width; i++) {
    uint8_t *pixel = row + 4 * (size_t)i;
    unsigned white = pixel[3] ^ flip;
    for (int channel = 0; channel < 3; channel++) {
      pixel[channel] = (uint8_t)(((pixel[channel] ^ flip) * white + 127) / 255);
    }
    pixel[3] = 255;
  }
}

// Called where the jump is set.
static void read_row(jpeg_shim_reader *reader, uint8_t *row) {
  JSAMPROW rows[1] = {row};
  jpeg_read_scanlines(&reader->jpeg, rows, 1);
  if (reader->jpeg.out_color_space == JCS_CMYK) convert_cmyk(reader, row);
  if (reader->jpeg.output_scanline == reader->jpeg.output_height) jpeg_finish_decompress(&reader->jpeg);
}

int jpeg_shim_read_row(jpeg_shim_reader *reader, void *row) {
  if (reader->failed || setjmp(reader->jump)) return 0;
  read_row(reader, row);
  return 1;
}

int jpeg_shim_read_image(jpeg_shim_reader *reader, void *pixels, size_t row_bytes) {
  if (reader->failed || setjmp(reader->jump)) return 0;
  for (uint32_t row = 0; row < reader->jpeg.image_height; row++) read_row(reader, (uint8_t *)pixels + row * row_bytes);
  return 1;
}

void jpeg_shim_close(jpeg_shim_reader *reader) {
  if (!reader) return;
  // Frees memory only; it cannot fail. Without memory manager there is nothing to free.
  jpeg_destroy_decompress(&reader->jpeg);
  if (reader->file) fclose(reader->file);
  free(reader);
}
