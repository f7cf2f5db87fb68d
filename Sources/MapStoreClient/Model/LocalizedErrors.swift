#if !canImport(Darwin)
  public import FoundationEssentials
  public import MapStoreWire
  public import RegionCatalog

  // The modules below have no Foundation on Linux; elsewhere they conform themselves.

  extension TrackError: LocalizedError {}

  extension Problem: LocalizedError {}

  extension WireJSON.Unreadable: LocalizedError {}
#endif
