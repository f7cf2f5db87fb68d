#if !canImport(Darwin)
  public import FoundationEssentials
  public import TileImage

  // The module below has no Foundation on Linux; elsewhere it conforms itself.

  extension ImageError: LocalizedError {}
#endif
