#include <stdlib.h>
#include <string.h>

#include <geotiff/geo_normalize.h>
#include <geotiff/geotiff.h>
#include <geotiff/geotiffio.h>
#include <geotiff/xtiffio.h>

#include "CLazyLibrary.h"
#include "CTIFFShimInternal.h"

#define FUNCTIONS(F)                                                                                \
  F(GTIFAllocDefn) F(GTIFAttachPROJContext) F(GTIFDirectoryInfo) F(GTIFFree) F(GTIFFreeDefn)        \
  F(GTIFFreeMemory) F(GTIFGetDefn) F(GTIFGetProj4Defn) F(GTIFKeyGetASCII) F(GTIFKeyGetDOUBLE)       \
  F(GTIFKeyGetSHORT) F(GTIFKeyInfo) F(GTIFNewEx) F(XTIFFInitialize)

CLAZY_LIBRARY(geotiff, FUNCTIONS, "libgeotiff.so.5", "libgeotiff.so")

const char *ctiff_geo_load(void) { return clazy_load(&geotiff); }

void ctiff_geo_initialize(void) {
  if (!ctiff_geo_load()) XTIFFInitialize();
}

struct ctiff_geo {
  GTIF *keys;
  GTIFDefn *definition;
};

static void ignore(GTIF *keys, int level, const char *message, ...) { (void)keys, (void)level, (void)message; }

ctiff_geo *ctiff_geo_open(ctiff_file *file, void *proj_context) {
  GTIF *keys = GTIFNewEx(ctiff_handle(file), ignore, NULL);
  if (!keys) return NULL;
  int versions[3] = {0}, count = 0;
  GTIFDirectoryInfo(keys, versions, &count);
  ctiff_geo *geo = count > 0 ? calloc(1, sizeof *geo) : NULL;
  if (!geo) {
    GTIFFree(keys);
    return NULL;
  }
  // Its own context would complain on stderr.
  GTIFAttachPROJContext(keys, proj_context);
  geo->keys = keys;
  return geo;
}

void ctiff_geo_close(ctiff_geo *geo) {
  if (geo->definition) GTIFFreeDefn(geo->definition);
  GTIFFree(geo->keys);
  free(geo);
}

int ctiff_geo_short(ctiff_geo *geo, int key, uint16_t *value) {
  int size = 0;
  tagtype_t type = TYPE_UNKNOWN;
  if (GTIFKeyInfo(geo->keys, (geokey_t)key, &size, &type) < 1 || type != TYPE_SHORT) return 0;
  return GTIFKeyGetSHORT(geo->keys, (geokey_t)key, value, 0, 1) == 1;
}

int ctiff_geo_doubles(ctiff_geo *geo, int key, double *values, int count_max) {
  int size = 0;
  tagtype_t type = TYPE_UNKNOWN;
  int count = GTIFKeyInfo(geo->keys, (geokey_t)key, &size, &type);
  if (count < 1 || type != TYPE_DOUBLE) return 0;
  if (count > count_max) count = count_max;
  return GTIFKeyGetDOUBLE(geo->keys, (geokey_t)key, values, 0, count);
}

int ctiff_geo_text(ctiff_geo *geo, int key, char *text, size_t text_bytes) {
  int size = 0;
  tagtype_t type = TYPE_UNKNOWN;
  text[0] = 0;
  if (GTIFKeyInfo(geo->keys, (geokey_t)key, &size, &type) < 1 || type != TYPE_ASCII) return 0;
  memset(text, 0, text_bytes);
  int count = GTIFKeyGetASCII(geo->keys, (geokey_t)key, text, (int)text_bytes - 1);
  text[text_bytes - 1] = 0;
  return count > 0;
}

int ctiff_geo_define(ctiff_geo *geo, ctiff_geo_definition *definition) {
  memset(definition, 0, sizeof *definition);
  if (!geo->definition) geo->definition = GTIFAllocDefn();
  if (!geo->definition || !GTIFGetDefn(geo->keys, geo->definition)) return 0;
  const GTIFDefn *d = geo->definition;
  // The codes are unsigned 16-bit numbers that libgeotiff keeps in shorts.
  definition->model = (uint16_t)d->Model;
  definition->pcs = (uint16_t)d->PCS;
  definition->gcs = (uint16_t)d->GCS;
  definition->datum = (uint16_t)d->Datum;
  definition->prime_meridian = (uint16_t)d->PM;
  definition->ellipsoid = (uint16_t)d->Ellipsoid;
  definition->semi_major_metres = d->SemiMajor;
  definition->semi_minor_metres = d->SemiMinor;
  definition->prime_meridian_degrees = d->PMLongToGreenwich;
  definition->angle_unit_degrees = d->UOMAngleInDegrees;
  definition->length_unit_metres = d->UOMLengthInMeters;
  for (int i = 0; i < d->nParms && i < MAX_GTIF_PROJPARMS; i++)
    if (d->ProjParmId[i] == ProjScaleAtNatOriginGeoKey || d->ProjParmId[i] == ProjScaleAtCenterGeoKey)
      definition->projection_scale = d->ProjParm[i];
  return 1;
}

char *ctiff_geo_proj_string(ctiff_geo *geo) { return geo->definition ? GTIFGetProj4Defn(geo->definition) : NULL; }
void ctiff_geo_free_text(char *text) { GTIFFreeMemory(text); }
