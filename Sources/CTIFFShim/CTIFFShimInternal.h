#pragma once
#include <tiffio.h>

#include "CTIFFShim.h"

TIFF *ctiff_handle(ctiff_file *file);
// Teaches libtiff the types of the GeoTIFF tags.
void ctiff_geo_initialize(void);
