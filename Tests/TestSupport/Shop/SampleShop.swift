public import RegionCatalog
import Support
import TileImage
import TileIndex

/// A generated shop: regions with editions, patches between them and packs, all of them real bundles of some hundred
/// kilobytes, and a catalogue.
public final class SampleShop: Sendable {
  public let folder: TemporaryFolder
  private let published = Locked<[Catalog.Region]>([])

  public init() throws { folder = try TemporaryFolder() }

  public var catalogue: Catalog { Catalog(regions: published.withLock { $0 }) }

  public func region(_ id: String) -> Catalog.Region? {
    published.withLock { regions in regions.first { $0.id == id } }
  }

  public func bytes(_ file: String) throws -> [UInt8] { Array(try folder.bytes(file)) }

  /// Publishes the next edition of a region, `1`, `2`, ..., with a patch from the one before. A fifth of the tiles
  /// changes each time.
  ///
  /// - Parameters:
  ///   - packs: also publish it as two packs: the coarse levels, and the finest.
  ///   - spoil: gets the path of the patch before its hash is taken.
  @discardableResult
  public func publish(
    _ id: String, packs: Bool = false, spoilingPatch spoil: (String) throws -> Void = { _ in }
  ) throws -> Catalog.Region {
    let old = region(id)
    let edition = (old.flatMap { Int($0.edition) } ?? 0) + 1
    let stem = "\(id)-\(edition)"
    let whole = try write("\(stem).mbtiles", id, edition, zooms: 0...2)
    var json = """
      {"id":"\(id)","productId":"region.\(id)","title":"Region \(id)","category":"samples",\
      "bounds":[-180,-85.05112878,180,85.05112878],"tileMatrixSet":"WebMercatorQuad","minzoom":0,"maxzoom":2,\
      "format":"png","file":"\(stem).mbtiles","bytes":\(whole.bytes),"sha256":"\(whole.sha256)",\
      "tileCount":\(whole.tileCount),"tilesHash":"\(whole.tilesHash)","edition":"\(edition)","packs":[
      """
    if packs {
      let coarse = try write("\(stem).p001.mbtiles", id, edition, zooms: 0...1)
      let fine = try write("\(stem).p002.mbtiles", id, edition, zooms: 2...2)
      json += [
        (coarse, "p001", 0...1, "[\"0/0/0\"]", true),
        (fine, "p002", 2...2, "[\(WebTiles.all(zoom: 2).map { "\"\($0)\"" }.joined(separator: ","))]", false),
      ].map { file, name, zooms, roots, isOverview in
        """
        {"file":"\(stem).\(name).mbtiles","bytes":\(file.bytes),"sha256":"\(file.sha256)",\
        "bounds":[-180,-85.05112878,180,85.05112878],"minzoom":\(zooms.lowerBound),"maxzoom":\(zooms.upperBound),\
        "roots":\(roots),"tileCount":\(file.tileCount),"isOverview":\(isOverview)}
        """
      }.joined(separator: ",")
    }
    json += "],\"patches\":["
    if let old {
      let name = "\(id)-\(old.edition)-to-\(edition).patch"
      _ = try BundlePatch.diff(
        old: folder.file(old.file), new: folder.file("\(stem).mbtiles"), output: folder.file(name), replacing: true)
      try spoil(folder.file(name))
      json += """
        {"fromEdition":"\(old.edition)","fromTilesHash":"\(old.tilesHash)","file":"\(name)",\
        "bytes":\(try folder.bytes(name).count),"sha256":"\(try FileHash.sha256(ofFile: folder.file(name)))"}
        """
    }
    let next = try JSONValue(parsing: Array((json + "]}").utf8)).decoded(as: Catalog.Region.self)
    published.withLock { regions in
      if let index = regions.firstIndex(where: { $0.id == id }) { regions[index] = next } else { regions.append(next) }
    }
    return next
  }

  /// Gives a region another id in the catalogue, as its publisher does; files and product stay.
  public func rename(_ id: String, to new: String, formerIDs: [String]? = nil) {
    change(id) { ($0.id, $0.formerIds) = (new, formerIDs) }
  }

  /// Changes a region's entry of the catalogue.
  public func change(_ id: String, _ change: (inout Catalog.Region) -> Void) {
    published.withLock { regions in
      if let index = regions.firstIndex(where: { $0.id == id }) { change(&regions[index]) }
    }
  }

  /// Lists another file as a region's patch in the catalogue, with the right size and hash.
  public func replaceFile(of id: String, patch file: String, with bytes: [UInt8]) throws {
    try folder.write(file, bytes: bytes)
    let sha256 = try FileHash.sha256(ofFile: folder.file(file))
    published.withLock { regions in
      guard let index = regions.firstIndex(where: { $0.id == id }) else { return }
      regions[index].patches = regions[index].patches.map {
        $0.file != file
          ? $0
          : Catalog.Patch(
            fromEdition: $0.fromEdition, fromTilesHash: $0.fromTilesHash, file: file, bytes: bytes.count, sha256: sha256
          )
      }
    }
  }

  /// Writes `catalogue.json`, for servers that read the folder.
  public func writeCatalogue() throws { try folder.write(Catalog.fileName, bytes: catalogue.bytes) }

  private struct Written {
    let bytes, tileCount: Int
    let sha256, tilesHash: String
  }

  private func write(_ name: String, _ id: String, _ edition: Int, zooms: ClosedRange<Int>) throws -> Written {
    let writer = try BundleWriter(
      path: folder.file(name), matrixSet: .webMercatorQuad, format: .png, replacing: true)
    var count = 0
    for zoom in zooms {
      for tile in WebTiles.all(zoom: zoom) {
        // The last edition in which this tile changed.
        let number = tile.zoom * 7 + tile.column * 3 + tile.row
        let changed = (1...edition).last { $0 == 1 || ($0 + number) % 5 == 0 } ?? 1
        let image = try Self.image("\(id) \(changed) \(tile)")
        try image.withUnsafeBytes { try writer.put(tile, $0) }
        count += 1
      }
    }
    _ = try writer.finish(BundleMetadata(name: "\(id) \(edition)"))
    let reader = try MBTilesReader(path: folder.file(name))
    return Written(
      bytes: try folder.bytes(name).count, tileCount: count, sha256: try FileHash.sha256(ofFile: folder.file(name)),
      tilesHash: try TilesHash.of(reader).description)
  }

  /// Tests publish the same regions many times, and compressing takes most of the time.
  private static let images = Locked<[String: [UInt8]]>([:])

  private static func image(_ seed: String) throws -> [UInt8] {
    if let known = images.withLock({ $0[seed] }) { return known }
    let image = try noise(seed: seed)
    images.withLock { $0[seed] = image }
    return image
  }

  /// A picture that does not compress.
  private static func noise(seed: String) throws -> [UInt8] {
    var random = SeededGenerator(
      seed: seed.utf8.reduce(14_695_981_039_346_656_037) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 })
    let pixels = PixelBuffer(width: 64, height: 64)
    for offset in stride(from: 0, to: 64 * 64 * 4, by: 4) {
      pixels.bytes.storeBytes(
        of: 0xff00_0000 | UInt32(truncatingIfNeeded: random.next()), toByteOffset: offset, as: UInt32.self)
    }
    return try TileEncoder(.png(PNGOptions())).encode(pixels)
  }
}

/// All tiles of a zoom of the Web Mercator grid.
enum WebTiles {
  static func all(zoom: Int) -> [TileID] { Array(TileMatrixSet.webMercatorQuad.wholeRange(zoom: zoom)) }
}
