#if canImport(Darwin)
  public import Foundation

  // On Linux this module has no Foundation: its errors have their sentences there without the conformance.

  extension ImageError: LocalizedError {}
#endif
