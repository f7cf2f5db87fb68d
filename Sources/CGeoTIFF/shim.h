#include <geotiff/geotiffio.h>
#include <geotiff/geo_normalize.h>
