// libcairo, which is loaded when it is first needed (CLateLibrary.h).
#pragma once

/// Returns NULL, or why cairo cannot be used. Must be called before any function of CCairo.
const char *ccairo_load(void);
