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

  /// True for a bundle whose tiles at the edge of the finest zoom are opaque although its bounds end within them: what
  /// lies beyond covers other bundles.
  ///
  /// - Complexity: looks up 64 tiles and decodes 8 of them at most.
  package static func isOpaqueAtEdge(_ bundle: any BundleReader) throws -> Bool {
    guard let zoom = try bundle.zooms().last, let range = try bundle.range(zoom: zoom) else { return false }
    let matrix = bundle.matrixSet[zoom]
    if let bounds = bundle.metadata.bounds {
      // A pixel is rounding.
      let tiles = bundle.matrixSet.geographicBounds(of: range)
      let slack = (tiles.width / Double(range.columns.count * matrix.tileWidth)) * 1.5
      guard
        bounds.west > tiles.west + slack || bounds.east < tiles.east - slack || bounds.south > tiles.south + slack
          || bounds.north < tiles.north - slack
      else { return false }
    }
    let ends = [range.columns.lowerBound, range.columns.upperBound]
    let sides = range.rows.prefix(16).flatMap { row in ends.map { TileID(unchecked: zoom, $0, row) } }
    let rows = [range.rows.lowerBound, range.rows.upperBound]
    let rims = range.columns.prefix(16).flatMap { column in rows.map { TileID(unchecked: zoom, column, $0) } }
    var found = 0
    for tile in sides + rims where found < 8 {
      let isOpaque = try bundle.withTile(tile) { bytes in (try? ImageDecoder.decode(bytes))?.opacity == .opaque }
      guard let isOpaque else { continue }
      guard isOpaque else { return false }
      found += 1
    }
    return found > 0
  }
}
