#if canImport(Darwin)
  public import Foundation

  // On Linux this module has no Foundation, and no product above it has.

  extension CutError: LocalizedError {}

  extension CatalogBuildError: LocalizedError {}

  extension CatalogBuildFailure: LocalizedError {}

  extension ManifestError: LocalizedError {}
#endif
