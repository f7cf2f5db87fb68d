#if canImport(Darwin)
  public import Foundation

  // On Linux this module has no Foundation: MapStoreClient has the conformances there.

  extension TrackError: LocalizedError {}
#endif
