#if canImport(Darwin)
  public import Foundation

  // On Linux this module has no Foundation: MapStoreClient has the conformances there.

  extension Problem: LocalizedError {}

  extension WireJSON.Unreadable: LocalizedError {}
#endif
