#if canImport(Darwin)
  public import Foundation

  // On Linux this module has no Foundation: OfflineMap has the conformances there.

  extension BundleError: LocalizedError {}

  extension GridError: LocalizedError {}
#endif
