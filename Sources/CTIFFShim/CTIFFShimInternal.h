#pragma once
#include <tiffio.h>

#include "CTIFFShim.h"

TIFF *ctiff_handle(ctiff_file *file);
