// libproj, which is loaded when it is first needed (CLazyLibrary.h).
#pragma once

/// Returns NULL, or why PROJ cannot be used. Must be called before any function of CPROJ.
const char *cproj_load(void);
