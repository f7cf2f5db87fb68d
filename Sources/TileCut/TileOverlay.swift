import TileImage
public import TileIndex

/// Draws one bundle's tiles over another's, for ``BundleMerge/Conflict/combine(_:)``.
public enum TileOverlay {
  /// A rule that draws later tiles over earlier ones. A tile that hides the lower one, or shows nothing of its own, stays as it is stored; only true mixtures are
  /// encoded anew, as PNG without loss, as JPEG (which has no transparency) never, as WebP without loss.
  ///
  /// - Throws: on use: ``BundleError`` with `.mismatch` for tiles that cannot be drawn or have different sizes.
  public static func conflict() -> BundleMerge.Conflict {
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
