#if !canImport(Darwin)
  public import FoundationEssentials
  @_exported public import LocalizedErrors

  // The modules below have no Foundation on Linux; elsewhere they conform themselves.

  extension BundleError: LocalizedError {}

  extension GridError: LocalizedError {}

  extension GazetteerError: LocalizedError {}
#endif
