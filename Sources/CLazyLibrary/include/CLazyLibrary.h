// System libraries that are loaded when they are first needed. PROJ and curl bring forty libraries with them, whose
// symbols take the dynamic linker 8 ms: commands that use neither start without them.
//
// A shim lists a library's functions once and defines a jump for each, under the function's own name, so that callers
// are written, compiled and type-checked as if the library were linked. The jumps are hidden: the library's own calls
// of its functions do not come here.
#pragma once

typedef struct {
  const char *name;
  void **slot;
} clazy_function;

typedef struct {
  // File names to try in order, up to NULL.
  const char *files[4];
  const clazy_function *functions;
  int function_count;
  // Set by clazy_load.
  int is_loaded;
  char reason[512];
} clazy_library;

/// Loads a library once, from any thread. Returns NULL, or the reason why it cannot be used, with the file's name.
/// None of its functions may be called before.
const char *clazy_load(clazy_library *library);

#define CLAZY_SLOT(name) __attribute__((visibility("hidden"))) void *clazy_slot_##name;
#define CLAZY_ROW(name) {#name, &clazy_slot_##name},
#define CLAZY_LABEL(name) ".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", %function\n" #name ":\n"
#define CLAZY_END(name) ".size " #name ", .-" #name "\n"
#if defined(__x86_64__)
#define CLAZY_JUMP(name) __asm__(CLAZY_LABEL(name) "jmp *clazy_slot_" #name "(%rip)\n" CLAZY_END(name));
#elif defined(__aarch64__)
#define CLAZY_JUMP(name)                                                                                 \
  __asm__(CLAZY_LABEL(name) "adrp x16, clazy_slot_" #name "\nldr x16, [x16, :lo12:clazy_slot_" #name     \
                            "]\nbr x16\n" CLAZY_END(name));
#endif

/// Defines the library `name` from a macro that lists its functions: `LIST(F)` is `F(first) F(second) ...`.
/// Apple's platforms link their libraries as usual.
#if defined(__APPLE__)
#define CLAZY_LIBRARY(name, LIST, ...) static clazy_library name = {.is_loaded = 1};
#else
#define CLAZY_LIBRARY(name, LIST, ...)                                         \
  LIST(CLAZY_SLOT)                                                             \
  LIST(CLAZY_JUMP)                                                             \
  static const clazy_function name##_functions[] = {LIST(CLAZY_ROW)};          \
  static clazy_library name = {                                                \
      .files = {__VA_ARGS__},                                                  \
      .functions = name##_functions,                                           \
      .function_count = sizeof name##_functions / sizeof name##_functions[0]};
#endif
