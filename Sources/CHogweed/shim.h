#include <nettle/eddsa.h>
