extension BundleWriter {
  /// Adds a tile of another bundle as it is stored there.
  ///
  /// - Throws: ``BundleError``: `.malformed`, naming that bundle, when it gives a tile twice or one of another format than its first; what ``put(_:_:)`` throws of
  ///   the disk.
  func copy(_ tile: TileID, _ bytes: UnsafeRawBufferPointer, from bundle: any BundleReader) throws {
    do {
      try put(tile, bytes)
    } catch let error as BundleError where error.code == .invalidContent {
      guard TileFormat(sniffing: bytes) == format else {
        throw BundleError(
          .malformed, path: bundle.path, "tile \(tile) is not \(format.rawValue) like the first one",
          remedy: "find all such tiles with: tilecut verify '\(bundle.path)'")
      }
      throw BundleError.repeated(tile, path: bundle.path)
    }
  }
}
