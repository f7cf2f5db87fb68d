#include <uninorm.h>

// A macro, and the address of an incomplete type: Swift can import neither.
static inline uninorm_t cunistring_nfkc(void) { return UNINORM_NFKC; }
