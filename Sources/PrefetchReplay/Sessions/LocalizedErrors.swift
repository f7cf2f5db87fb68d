#if canImport(Darwin)
  package import Foundation

  // On Linux this module has no Foundation.

  extension ReplayError: LocalizedError {}
#endif
