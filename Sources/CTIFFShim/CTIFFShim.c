#include "CTIFFShim.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tiffio.h>
#include <unistd.h>

#include <geotiff/geotiff.h>
#include <geotiff/xtiffio.h>

#include "CTIFFShimInternal.h"

#define TEXT_BYTES 512
#define WARNINGS_MAX 4

struct ctiff_file {
  TIFF *tiff;
  int fd;
  // Reads in place of the descriptor.
  ctiff_reader reader;
  void *context;
  // Where the TIFF begins in the file, and its bytes.
  uint64_t start, size;
  uint64_t position;
  char error[TEXT_BYTES];
  char warnings[WARNINGS_MAX][TEXT_BYTES];
  int warning_count;
  char *name;
};

TIFF *ctiff_handle(ctiff_file *file) { return file->tiff; }

// Messages

static void compose(const ctiff_file *file, char *text, const char *module, const char *format, va_list arguments) {
  size_t used = 0;
  if (module && module[0] && strcmp(module, file->name) != 0) {
    int n = snprintf(text, TEXT_BYTES, "%s: ", module);
    used = n < 0 ? 0 : (n < TEXT_BYTES ? (size_t)n : TEXT_BYTES - 1);
  }
  vsnprintf(text + used, TEXT_BYTES - used, format, arguments);
}

static int keep_error(TIFF *tiff, void *data, const char *module, const char *format, va_list arguments) {
  (void)tiff;
  ctiff_file *file = data;
  // The first message is the cause; what follows it are its consequences.
  if (!file->error[0]) compose(file, file->error, module, format, arguments);
  return 1;
}

static int keep_warning(TIFF *tiff, void *data, const char *module, const char *format, va_list arguments) {
  (void)tiff;
  ctiff_file *file = data;
  // Private tags are not a fault of the file, and bands beyond the colours are reported better elsewhere.
  if (strstr(format, "Unknown field with tag") || strstr(format, "Photometric type-related")) return 1;
  char text[TEXT_BYTES];
  compose(file, text, module, format, arguments);
  for (int i = 0; i < file->warning_count; i++)
    if (strcmp(file->warnings[i], text) == 0) return 1;
  if (file->warning_count < WARNINGS_MAX) strcpy(file->warnings[file->warning_count++], text);
  return 1;
}

const char *ctiff_error(const ctiff_file *file) { return file->error; }
void ctiff_clear_error(ctiff_file *file) { file->error[0] = 0; }
const char *ctiff_warning(const ctiff_file *file, int index) {
  return index < file->warning_count ? file->warnings[index] : NULL;
}

// Input: pread on a shared descriptor, so that many handles cost one descriptor and no seek can race.

static tmsize_t io_read(thandle_t client, void *target, tmsize_t bytes) {
  ctiff_file *file = client;
  tmsize_t done = 0;
  while (done < bytes) {
    ssize_t n =
        file->reader
            ? (ssize_t)file->reader(file->context, (char *)target + done, bytes - done, file->start + file->position)
            : pread(file->fd, (char *)target + done, (size_t)(bytes - done), (off_t)(file->start + file->position));
    if (n < 0 && !file->reader && errno == EINTR) continue;
    if (n < 0) return done > 0 ? done : -1;
    if (n == 0) break;
    done += n;
    file->position += (uint64_t)n;
  }
  return done;
}

static tmsize_t io_write(thandle_t client, void *source, tmsize_t bytes) {
  (void)client, (void)source, (void)bytes;
  return -1;
}

static toff_t io_seek(thandle_t client, toff_t offset, int whence) {
  ctiff_file *file = client;
  switch (whence) {
    case SEEK_SET: file->position = offset; break;
    case SEEK_CUR: file->position += offset; break;
    default: file->position = file->size + offset; break;
  }
  // pread takes a signed offset.
  if (file->position > INT64_MAX) file->position = INT64_MAX;
  return file->position;
}

static int io_close(thandle_t client) {
  (void)client;
  return 0;
}

static toff_t io_size(thandle_t client) { return ((ctiff_file *)client)->size; }

static int io_map(thandle_t client, void **base, toff_t *size) {
  (void)client, (void)base, (void)size;
  return 0;
}

static void io_unmap(thandle_t client, void *base, toff_t size) { (void)client, (void)base, (void)size; }

// Opening

static pthread_once_t once = PTHREAD_ONCE_INIT;
// For the whole process.
static void initialize(void) { ctiff_geo_initialize(); }

static ctiff_file *open_file(int fd, ctiff_reader reader, void *context, uint64_t start, uint64_t size,
                             const char *name, uint64_t alloc_bytes_max, char *message, size_t message_bytes) {
  pthread_once(&once, initialize);
  ctiff_file *file = calloc(1, sizeof *file);
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  if (file) file->name = strdup(name);
  if (!file || !file->name || !options) {
    if (message_bytes) snprintf(message, message_bytes, "out of memory");
    if (file) free(file->name);
    free(file);
    if (options) TIFFOpenOptionsFree(options);
    return NULL;
  }
  file->fd = fd;
  file->reader = reader;
  file->context = context;
  file->start = start;
  file->size = size;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)alloc_bytes_max);
  TIFFOpenOptionsSetErrorHandlerExtR(options, keep_error, file);
  TIFFOpenOptionsSetWarningHandlerExtR(options, keep_warning, file);
  // m: no memory map (a file cut short meanwhile must not raise SIGBUS); O: read block offsets when they are
  // needed, not millions of them at once; C: one huge uncompressed strip is read as many small ones.
  file->tiff = TIFFClientOpenExt(name, "rmOC", file, io_read, io_write, io_seek, io_close, io_size, io_map, io_unmap,
                                 options);
  TIFFOpenOptionsFree(options);
  if (!file->tiff) {
    if (message_bytes) snprintf(message, message_bytes, "%s", file->error[0] ? file->error : "not a TIFF file");
    free(file->name);
    free(file);
    return NULL;
  }
  return file;
}

ctiff_file *ctiff_open(int fd, uint64_t start, uint64_t size, const char *name, uint64_t alloc_bytes_max, char *message,
                       size_t message_bytes) {
  return open_file(fd, NULL, NULL, start, size, name, alloc_bytes_max, message, message_bytes);
}

ctiff_file *ctiff_open_reader(ctiff_reader reader, void *context, uint64_t start, uint64_t size, const char *name,
                              uint64_t alloc_bytes_max, char *message, size_t message_bytes) {
  return open_file(-1, reader, context, start, size, name, alloc_bytes_max, message, message_bytes);
}

void ctiff_close(ctiff_file *file) {
  TIFFClose(file->tiff);
  free(file->name);
  free(file);
}

int ctiff_set_directory(ctiff_file *file, uint32_t index) { return TIFFSetDirectory(file->tiff, index); }
int ctiff_next_directory(ctiff_file *file) { return TIFFReadDirectory(file->tiff); }

// Tags

int ctiff_read_layout(ctiff_file *file, ctiff_layout *layout) {
  TIFF *tiff = file->tiff;
  memset(layout, 0, sizeof *layout);
  if (!TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &layout->width)) return 0;
  if (!TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &layout->height)) return 0;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &layout->bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &layout->samples);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &layout->format);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &layout->planar);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &layout->compression);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &layout->orientation);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SUBFILETYPE, &layout->subfile_type);
  layout->has_photometric = (uint8_t)TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &layout->photometric);
  if (!layout->has_photometric) layout->photometric = PHOTOMETRIC_MINISBLACK;
  uint16_t *extra = NULL;
  uint16_t extra_count = 0;
  if (TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &extra_count, &extra) && extra) {
    layout->extra_count = extra_count;
    for (uint16_t i = 0; i < extra_count && i < 16; i++) layout->extra[i] = extra[i];
  }
  layout->codec_known = (uint8_t)TIFFIsCODECConfigured(layout->compression);
  layout->big_tiff = (uint8_t)TIFFIsBigTIFF(tiff);
  layout->tiled = (uint8_t)TIFFIsTiled(tiff);
  if (layout->compression == COMPRESSION_JPEG && layout->photometric == PHOTOMETRIC_YCBCR &&
      layout->planar == PLANARCONFIG_CONTIG) {
    // Must be asked for anew in each directory, before sizes are.
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    layout->is_rgb_from_jpeg = 1;
  }
  if (layout->tiled) {
    TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &layout->block_width);
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &layout->block_height);
    layout->block_count = TIFFNumberOfTiles(tiff);
    layout->block_bytes = TIFFTileSize64(tiff);
  } else {
    layout->block_width = layout->width;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &layout->block_height);
    if (layout->block_height > layout->height) layout->block_height = layout->height;
    layout->block_count = TIFFNumberOfStrips(tiff);
    layout->block_bytes = TIFFStripSize64(tiff);
  }
  return 1;
}

const char *ctiff_compression_name(uint16_t compression) {
  const TIFFCodec *codec = TIFFFindCODEC(compression);
  return codec ? codec->name : NULL;
}

int ctiff_colormap(ctiff_file *file, const uint16_t **red, const uint16_t **green, const uint16_t **blue) {
  uint16_t *r = NULL, *g = NULL, *b = NULL;
  if (!TIFFGetField(file->tiff, TIFFTAG_COLORMAP, &r, &g, &b) || !r || !g || !b) return 0;
  *red = r, *green = g, *blue = b;
  return 1;
}

// Whether a tag is known, and of which type, depends on who registered it; the count's type depends on that too.
static uint32_t tag_values(ctiff_file *file, uint32_t tag, TIFFDataType type, void **values) {
  const TIFFField *field = TIFFFindField(file->tiff, tag, TIFF_ANY);
  *values = NULL;
  if (!field || TIFFFieldDataType(field) != type) return 0;
  if (TIFFFieldPassCount(field)) {
    if (TIFFFieldReadCount(field) == TIFF_VARIABLE2) {
      uint32_t count = 0;
      return TIFFGetField(file->tiff, tag, &count, values) && *values ? count : 0;
    }
    uint16_t count = 0;
    return TIFFGetField(file->tiff, tag, &count, values) && *values ? count : 0;
  }
  if (type == TIFF_ASCII) {
    char *text = NULL;
    if (!TIFFGetField(file->tiff, tag, &text) || !text) return 0;
    *values = text;
    return (uint32_t)strlen(text);
  }
  return 0;
}

uint32_t ctiff_doubles(ctiff_file *file, uint32_t tag, const double **values) {
  void *found = NULL;
  uint32_t count = tag_values(file, tag, TIFF_DOUBLE, &found);
  *values = found;
  return count;
}

uint32_t ctiff_text(ctiff_file *file, uint32_t tag, const char **text) {
  void *found = NULL;
  uint32_t count = tag_values(file, tag, TIFF_ASCII, &found);
  *text = found;
  return count;
}

// Blocks

int ctiff_block_range(ctiff_file *file, uint32_t block, uint64_t *offset, uint64_t *bytes) {
  int bad_offset = 0, bad_bytes = 0;
  *offset = TIFFGetStrileOffsetWithErr(file->tiff, block, &bad_offset);
  *bytes = TIFFGetStrileByteCountWithErr(file->tiff, block, &bad_bytes);
  return !bad_offset && !bad_bytes;
}

int64_t ctiff_read_block(ctiff_file *file, uint32_t block, void *target, int64_t bytes) {
  return TIFFIsTiled(file->tiff) ? TIFFReadEncodedTile(file->tiff, block, target, bytes)
                                 : TIFFReadEncodedStrip(file->tiff, block, target, bytes);
}

int ctiff_read_rgba_block(ctiff_file *file, uint32_t x, uint32_t y, uint32_t *target) {
  return TIFFIsTiled(file->tiff) ? TIFFReadRGBATileExt(file->tiff, x, y, target, 1)
                                 : TIFFReadRGBAStripExt(file->tiff, y, target, 1);
}

int ctiff_rgba_ok(ctiff_file *file, char *reason) {
  if (!TIFFRGBAImageOK(file->tiff, reason)) return 0;
  // It also finds combinations that have no routine, such as CIELab in separate planes.
  TIFFRGBAImage image;
  if (!TIFFRGBAImageBegin(&image, file->tiff, 1, reason)) return 0;
  TIFFRGBAImageEnd(&image);
  return 1;
}

int ctiff_read_row(ctiff_file *file, uint32_t row, uint16_t plane, void *target) {
  return TIFFReadScanline(file->tiff, target, row, plane) == 1;
}

uint64_t ctiff_row_bytes(ctiff_file *file) { return TIFFScanlineSize64(file->tiff); }
