// libFuzzer as a library: the runtime without a main function of its own.
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*input)(const uint8_t *data, size_t size));
