#include "CTIFFShim.h"
