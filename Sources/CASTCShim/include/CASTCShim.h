// Arm's ASTC codec (libastcenc), whose header is C++ and which Swift therefore cannot import. One codec serves one
// thread at a time.
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct castc_codec castc_codec;

/// Loads the library when it is first needed. Returns NULL, or why it cannot be used.
const char *castc_load(void);

/// Opens a codec for blocks of a size that ASTC has, with colours in sRGB; quality goes from 0 (fastest) to 100.
/// Returns NULL with the library's words, or the reason why it cannot be used, in `*message`.
castc_codec *castc_open(unsigned block_width, unsigned block_height, float quality, const char **message);
void castc_close(castc_codec *codec);

/// Each converts between straight RGBA of 8 bits, without padding, and blocks of 16 bytes, row by row.
/// Returns NULL, or the library's words for what went wrong.
const char *castc_compress(castc_codec *codec, const uint8_t *pixels, unsigned width, unsigned height, uint8_t *blocks,
                           size_t block_bytes);
const char *castc_decompress(castc_codec *codec, const uint8_t *blocks, size_t block_bytes, uint8_t *pixels,
                             unsigned width, unsigned height);

#ifdef __cplusplus
}
#endif
