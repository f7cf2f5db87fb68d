import TileImage
package import TileIndex

/// Draws one bundle's tiles over another's, for ``BundleMerge/Conflict/combine(_:)``.
package enum TileOverlay {
  /// A rule that draws later tiles over earlier ones.
  ///
  /// An opaque upper tile and the tile below an empty one keep their stored bytes. Only real mixtures are encoded
  /// again: losslessly as WebP if the upper tile is WebP, else as PNG, since JPEG has no transparency.
  ///
  /// - Throws: when called: ``BundleError`` `.mismatch` for tiles that cannot be decoded or differ in size.
  package static func conflict() -> BundleMerge.Conflict {
    .combine { tile, lower, upper in
      func mismatch(_ message: String) -> BundleError {
        BundleError(
          .mismatch, path: "tile \(tile)", message, remedy: "choose another rule for conflicts: first or last")
      }
      do {
        let top = try upper.withUnsafeBytes { try ImageDecoder.decode($0) }
        switch top.opacity {
        case .opaque: return upper
        case .transparent: return lower
        case .mixed: break
        }
        let bottom = try lower.withUnsafeBytes { try ImageDecoder.decode($0) }
        guard bottom.width == top.width, bottom.height == top.height else {
          throw mismatch(
            "is \(bottom.width) x \(bottom.height) pixels in one bundle and \(top.width) x \(top.height) in another")
        }
        Overlay.draw(top, over: bottom)
        let format: TileFormat = upper.withUnsafeBytes { TileFormat(sniffing: $0) } ?? .png
        return try TileEncoder(format == .webp ? .webp(WebPOptions()) : .png(PNGOptions())).encode(bottom)
      } catch let error as ImageError {
        throw mismatch("cannot be drawn over another: \(error)")
      }
    }
  }
}
