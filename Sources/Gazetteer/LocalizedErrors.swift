#if canImport(Darwin)
  public import Foundation

  // On Linux this module has no Foundation: OfflineMap has the conformance there.

  extension GazetteerError: LocalizedError {}
#endif
