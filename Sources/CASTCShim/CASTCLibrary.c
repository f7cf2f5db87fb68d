#include "CASTCShim.h"

#if __has_include(<astcenc.h>)

#include "CLazyLibrary.h"

// Every function of libastcenc that the shim calls.
#define FUNCTIONS(F)                                                                                          \
  F(astcenc_config_init) F(astcenc_context_alloc) F(astcenc_context_free) F(astcenc_compress_image)            \
  F(astcenc_compress_reset) F(astcenc_decompress_image) F(astcenc_decompress_reset) F(astcenc_get_error_string)

// Debian's name; the configuration's layout belongs to this version.
CLAZY_LIBRARY(astcenc, FUNCTIONS, "libastcenc.so.3d")

const char *castc_load(void) { return clazy_load(&astcenc); }

#else

const char *castc_load(void) { return "this build has no ASTC encoder (libastcenc-dev)"; }

#endif
