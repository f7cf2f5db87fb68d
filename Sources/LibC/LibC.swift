// The system's C library, under one name on all platforms: `import LibC`, and `LibC.read` where a function of that name
// is nearer.

#if canImport(Darwin)
  @_exported public import Darwin
#else
  @_exported public import Glibc
#endif
