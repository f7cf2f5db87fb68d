#include "CASTCShim.h"

#if __has_include(<astcenc.h>)

// The shared library's functions have C's names.
#define ASTCENC_DYNAMIC_LIBRARY
#include <astcenc.h>

#include <cstdlib>

struct castc_codec {
  astcenc_context *context;
};

static const astcenc_swizzle straight = {ASTCENC_SWZ_R, ASTCENC_SWZ_G, ASTCENC_SWZ_B, ASTCENC_SWZ_A};

static const char *words(astcenc_error error) {
  if (error == ASTCENC_SUCCESS) return nullptr;
  const char *text = astcenc_get_error_string(error);
  return text ? text : "unknown error";
}

extern "C" castc_codec *castc_open(unsigned block_width, unsigned block_height, float quality, const char **message) {
  *message = castc_load();
  if (*message) return nullptr;
  astcenc_config config;
  // Errors of colour count as much as the pixel is opaque.
  unsigned flags = ASTCENC_FLG_USE_ALPHA_WEIGHT;
  astcenc_error error = astcenc_config_init(ASTCENC_PRF_LDR_SRGB, block_width, block_height, 1, quality, flags, &config);
  castc_codec *codec = nullptr;
  if (error == ASTCENC_SUCCESS) {
    codec = static_cast<castc_codec *>(malloc(sizeof(castc_codec)));
    if (!codec) error = ASTCENC_ERR_OUT_OF_MEM;
  }
  if (!codec) {
    *message = words(error);
    return nullptr;
  }
  // Colours next to transparent pixels count too, since a GPU's filter mixes them.
  config.a_scale_radius = 1;
  error = astcenc_context_alloc(&config, 1, &codec->context);
  if (error != ASTCENC_SUCCESS) {
    *message = words(error);
    free(codec);
    return nullptr;
  }
  return codec;
}

extern "C" void castc_close(castc_codec *codec) {
  astcenc_context_free(codec->context);
  free(codec);
}

extern "C" const char *castc_compress(castc_codec *codec, const uint8_t *pixels, unsigned width, unsigned height,
                                      uint8_t *blocks, size_t block_bytes) {
  void *slice = const_cast<uint8_t *>(pixels);
  astcenc_image image = {width, height, 1, ASTCENC_TYPE_U8, &slice};
  astcenc_error error = astcenc_compress_image(codec->context, &image, &straight, blocks, block_bytes, 0);
  astcenc_compress_reset(codec->context);
  return words(error);
}

extern "C" const char *castc_decompress(castc_codec *codec, const uint8_t *blocks, size_t block_bytes, uint8_t *pixels,
                                        unsigned width, unsigned height) {
  void *slice = pixels;
  astcenc_image image = {width, height, 1, ASTCENC_TYPE_U8, &slice};
  astcenc_error error = astcenc_decompress_image(codec->context, blocks, block_bytes, &image, &straight, 0);
  astcenc_decompress_reset(codec->context);
  return words(error);
}

#else

extern "C" castc_codec *castc_open(unsigned, unsigned, float, const char **message) {
  *message = castc_load();
  return nullptr;
}
extern "C" void castc_close(castc_codec *) {}
extern "C" const char *castc_compress(castc_codec *, const uint8_t *, unsigned, unsigned, uint8_t *, size_t) {
  return "not in this build";
}
extern "C" const char *castc_decompress(castc_codec *, const uint8_t *, size_t, uint8_t *, unsigned, unsigned) {
  return "not in this build";
}

#endif
