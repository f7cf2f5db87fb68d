#if canImport(Darwin)
  public import Foundation

  // On Linux this module has no Foundation: TileServe has the conformance there.

  extension ImageError: LocalizedError {}
#endif
