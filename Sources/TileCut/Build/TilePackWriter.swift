import RegionCatalog
import Support
import TileIndex

/// Splits a region's bundle into tile packs.
struct TilePackWriter {
  let bundle: any BundleReader
  /// Of the tile packs.
  let container: BundleContainer
  /// The maximum size of a tile pack's file.
  let bytesMax: Int
  /// Where tile packs are written.
  let folder: String
  /// The prefix of file names; `.p001.mbtiles` or the like follows.
  let stem: String

  /// Writes all tile packs.
  ///
  /// - Returns: the catalogue's entries, the overview first. Empty for a bundle that fits as it is and covers no more
  ///   than a pack may: it is downloaded whole, and a copy would only take room.
  /// - Throws: ``CutError`` if a single tile exceeds the maximum size; ``BundleError``.
  func write() throws -> [Catalog.TilePack] {
    let tiles = try bundle.sizedTiles()
    if FileSystem.size(bundle.path) <= bytesMax, try plan(tiles, .max).packs.count <= 1 { return [] }
    // The plan overestimates sizes, so the first one usually suffices. If a file is too large all the same, the next
    // plan has a lower limit.
    var limit = bytesMax
    for _ in 0..<8 {
      let plan = try plan(tiles, limit)
      var packs: [Catalog.TilePack] = []
      for (index, pack) in plan.packs.enumerated() {
        let entry = try write(pack, number: index + 1, of: plan.packs.count)
        packs.append(entry)
        if entry.bytes > bytesMax { break }
      }
      guard let large = packs.first(where: { $0.bytes > bytesMax }) else { return packs }
      for name in packs.map(\.file) { CatalogFiles.remove("\(folder)/\(name)") }
      limit = limit * bytesMax / large.bytes * 15 / 16
    }
    throw CutError(
      .invalidOption, path: bundle.path, "cannot be split into packs of \(bytesMax) bytes",
      remedy: "allow larger packs")
  }

  private func plan(_ tiles: [SizedTile], _ limit: Int) throws -> TilePackPlan {
    do {
      return try TilePackPlan(tiles, matrixSet: bundle.matrixSet, bytesMax: limit)
    } catch {
      throw CutError(
        .invalidOption, path: bundle.path, "tile \(error.tile) alone does not fit into a pack of \(bytesMax) bytes",
        remedy: "allow packs of at least \(error.bundleBytes + error.bundleBytes / 8) bytes")
    }
  }

  private func write(_ pack: TilePackPlan.TilePack, number: Int, of count: Int) throws -> Catalog.TilePack {
    let digits = String(number)
    let padded = String(repeating: "0", count: max(3 - digits.count, 0)) + digits
    let name = "\(stem).p\(padded).\(container.fileExtension)"
    let path = "\(folder)/\(name)"
    let stored = bundle.metadata
    let writer = try BundleFile.create(
      path, matrixSet: bundle.matrixSet, format: stored.format ?? .png, replacing: true, mixing: stored.mixedFormats)
    defer { writer.discard() }
    for tile in pack.tiles {
      try bundle.withTile(tile) { try writer.put(tile, $0) }
    }
    // A device downloads the overview first, so the overview contains the place index.
    if number == 1 {
      let places = try bundle.places().all()
      if !places.isEmpty { try writer.write(places: places) }
    }
    var metadata = BundleMetadata(stored, fallbackName: stem)
    metadata.extra[RegionMetadata.packKey] = "\(number)/\(count)"
    let summary = try writer.finish(metadata)
    let box = try BundleFile.open(path).metadata.bounds ?? .world
    return Catalog.TilePack(
      Catalog.File(file: name, bytes: summary.bytes, sha256: try FileHash.sha256(ofFile: path)),
      bounds: [box.west, box.south, box.east, box.north], zooms: summary.minZoom...summary.maxZoom,
      roots: pack.roots, tileCount: summary.tiles, isOverview: pack.isOverview)
  }
}
