import Support
package import TileImage
import TileIndex

/// Adds rasters to an existing bundle: their pixels are drawn over its own.
///
/// 1. Cut the rasters on the bundle's grid and zooms, without loss and with transparency, into a bundle in a hidden
///    folder beside the output (``Cutter``).
/// 2. Copy the tiles of the bundle that the rasters do not touch. At the finest zoom draw the new tiles over the
///    others; from there up reduce the changed tiles into their parents, and encode them again.
/// 3. Publish the result atomically.
///
/// Tiles that the rasters do not touch keep their bytes. Equal inputs give equal bundles.
package struct BundleAppend: Sendable {
  private let path: String
  private let options: CutOptions
  /// The cut of the sources, with its plan and warnings.
  package let cutter: Cutter
  /// Of the tiles that are new or changed.
  private let encoding: TileEncoding
  private let warnings: [String]

  /// Opens the bundle and the rasters and plans the cut.
  ///
  /// - Parameters:
  ///   - path: the bundle.
  ///   - options: the sources. The grid is the bundle's, and so are zooms and encoding unless they are given: of zooms
  ///     the finest counts. Name, description, attribution and version replace the bundle's where they are given.
  ///   - encoding: of new and changed tiles; nil for the bundle's own.
  /// - Throws: ``CutError``, ``BundleError``.
  package init(
    to path: String, options: CutOptions, encoding: TileEncoding? = nil, resources: CutResources = CutResources(),
    scratchDirectory: String? = nil
  ) throws {
    let bundle = try BundleFile.open(path)
    try Self.requirePictures(in: bundle, path: path, for: options)
    guard let format = try bundle.tileFormat(), let own = try TileEncoding(of: bundle) else {
      throw CutError(
        .invalidOption, path: path, "its tiles are no images, so that nothing can be drawn over them",
        remedy: "append to a bundle of PNG, JPEG or WebP tiles")
    }
    let encoding = encoding ?? own
    let allowed = bundle.metadata.mixedFormats.union([format])
    guard encoding.formats.isSubset(of: allowed), allowed.count == 1 || encoding.formats.contains(format) else {
      throw CutError(
        .invalidOption, path: path, "its tiles are \(format.rawValue), not \(encoding.format.rawValue)",
        remedy: "leave --format out")
    }
    let zooms = try bundle.zooms()
    guard let first = zooms.first, let last = zooms.last else {
      throw BundleError(.malformed, path: path, "has no tiles", remedy: "cut the rasters into a new bundle")
    }
    var options = options
    options.matrixSet = bundle.matrixSet
    options.tileSize = nil
    options.scaleFactor = try bundle.tilePixels().map { max($0 / bundle.matrixSet[first].tileWidth, 1) } ?? 1
    var deepest = last
    if case .levels(let asked) = options.zoom {
      guard asked.lowerBound >= first, asked.upperBound <= last else {
        throw CutError(
          .invalidOption, path: path, "its zooms are \(first) to \(last)", remedy: "choose zooms among them")
      }
      deepest = asked.upperBound
    }
    // Parents are made again in any case.
    options.zoom = .levels(first...deepest)
    let kept =
      deepest < last
      ? ["\(path): zooms \(deepest + 1) to \(last) keep the old picture; leave --zoom out to draw them too"] : []
    warnings = [bundle.placementWarning].compactMap { $0.map { "\($0)" } } + kept
    options.encoding = .png(PNGOptions(effort: .fast))
    self.path = path
    self.options = options
    self.encoding = encoding
    cutter = try Cutter(options, resources: resources, scratchDirectory: scratchDirectory)
  }

  /// Refuses what is more than pictures at every zoom of every place, in the bundle or in what is added.
  private static func requirePictures(in bundle: any BundleReader, path: String, for options: CutOptions) throws {
    func refuse(_ reason: String, remedy: String) -> CutError {
      CutError(.invalidOption, path: path, reason, remedy: remedy)
    }
    guard options.drawing.isEmpty else {
      throw refuse(
        "layers of type \"contours\" and \"vector\" are drawn on new bundles alone",
        remedy: "leave them out, or cut all layers anew")
    }
    guard !options.variableDepth else {
      throw refuse(
        "is drawn over at all of its zooms, also with sources of less detail",
        remedy: "leave --variable-depth out, or cut all sources anew with it")
    }
    // At the finest zoom new tiles would lie over nothing where the bundle ends before it.
    if let ends = bundle.metadata[VariableDepthMetadata.key] {
      throw refuse(
        "its areas end at different zooms, \(ends), so that nothing can be drawn over it",
        remedy: "cut all sources anew with --variable-depth, or append to one of the bundles before they are merged")
    }
    // The rasters would cover parts of labels, and the labels of overviews, which have other places, would be mixed
    // with those of the tiles below.
    if let layers = bundle.metadata[DrawnLayersMetadata.key] {
      throw refuse(
        "its lines and labels (\(layers)) are part of its pictures",
        remedy: "add the rasters to the region's layers, and cut them anew")
    }
    guard bundle.metadata[FlatImage.metadataKey] == nil else {
      throw refuse(
        "it is a flat image, in which places on Earth have no pixels", remedy: "cut all pictures as one flat image")
    }
  }

  /// Steps 1 to 3.
  ///
  /// - Parameters:
  ///   - output: the bundle to write, possibly the one that is added to, which other changes then wait for.
  ///   - replacing: whether an existing file may be replaced.
  package func write(
    to output: String, replacing: Bool = false, cancellation: CutCancellation = CutCancellation(),
    onProgress: ((CutProgress) -> Void)? = nil
  ) throws -> CutSummary {
    func run(_ output: String) throws -> CutSummary {
      try cancellation.run {
        try writeAlone(to: output, replacing: replacing, cancellation: cancellation, onProgress: onProgress)
      }
    }
    guard ChangeLock.areSame(path, output) else { return try run(output) }
    let isFolder = output.hasSuffix("/")
    return try ChangeLock.changing(output) { try run(isFolder ? $0.withoutSlashes + "/" : $0) }
  }

  private func writeAlone(
    to output: String, replacing: Bool, cancellation: CutCancellation, onProgress: ((CutProgress) -> Void)?
  ) throws -> CutSummary {
    let start = ContinuousClock.now
    // A folder, because the cut has a temporary file of its own: what a killed process leaves is removed as one.
    let scratch = try AtomicFile(folder: "\(output.withoutSlashes).append")
    defer { scratch.remove() }
    let layer = "\(scratch.path)/cut.mbtiles"
    let cut = try cutter.cut(to: layer, cancellation: cancellation, onProgress: onProgress)
    let (old, new) = (try BundleFile.open(path, checkingTiles: true), try MBTilesReader(path: layer))
    try old.requireWrittenTiles()
    try old.prepareLookups()
    let (keepsHashes, canStoreHashes) = (old.storesTileHashes, try BundleFile.kind(ofOutput: output) == .mbtiles)
    let sink = try BundleFile.create(
      output, matrixSet: old.matrixSet, format: encoding.format, replacing: replacing, scheme: options.scheme,
      mixing: old.formats(beside: encoding.format), hashes: options.tileHashes || keepsHashes && canStoreHashes)
    defer { sink.discard() }
    var formats = encoding.formats
    var count = 0
    try old.forEachTileInOrder { tile, bytes in
      try Cancellation.check()
      count += 1
      guard try new.withTile(tile, { _ in true }) == nil else { return }
      if let format = TileFormat(sniffing: bytes) { formats.insert(format) }
      try sink.copy(tile, bytes, from: old)
    }
    let leftOut = old.leftOutRows(read: count)
    let encoder = TileEncoder(encoding)
    func add(_ tile: TileID) throws -> PixelBuffer? {
      try Cancellation.check()
      guard let top = try new.tile(tile) else { return nil }
      // From the rasters' own zoom on each is drawn; reducing what was enlarged would soften it.
      let isDrawn = cutter.plan.isDrawn(tile) || tile.zoom == cutter.plan.zooms.upperBound
      let pixels = try isDrawn ? drawn(top, over: old, tile) : stored(old, tile)
      if tile.zoom < cutter.plan.zooms.upperBound, let children = cutter.plan.matrixSet.children(of: tile) {
        for child in children {
          guard let part = try add(child), !isDrawn else { continue }
          cutter.plan.reduction.reduce(part, at: child, into: pixels, of: tile)
        }
      }
      try sink.put(tile, encoder.encode(pixels))
      return pixels
    }
    // Every tile of the cut has one of its coarsest zoom above it.
    if let top = try new.range(zoom: cutter.plan.zooms.lowerBound) { for tile in top { _ = try add(tile) } }
    let places = Place.withoutRepeats(try old.places().all() + new.places().all())
    if !places.isEmpty { try sink.write(places: places) }
    var metadata = metadata(old, new)
    if !sink.mixing.isEmpty { metadata.formats = formats }
    let summary = try sink.finish(metadata)
    return CutSummary(
      path: output, tileCount: summary.tiles, distinctTileCount: summary.distinctTiles, zoomMin: summary.minZoom,
      zoomMax: summary.maxZoom, fileBytes: summary.bytes, seconds: (ContinuousClock.now - start) / .seconds(1),
      warnings: cut.warnings + warnings
        + (keepsHashes && !canStoreHashes ? ["\(output): the hashes of single tiles stay behind"] : [])
        + (leftOut > 0 ? ["\(path): \(leftOut) rows of its tables are no tiles and are left out"] : []))
  }

  /// What an addition gives and takes, scaled up from a sample of its tiles.
  package struct Estimate: Hashable, Sendable, Codable {
    /// Tiles that are drawn over or new.
    package let tiles: Int
    /// Tiles that the bundle does not have yet.
    package let newTiles: Int
    /// By how much the tiles of the bundle grow; less than 0 where they shrink.
    package let bytes: Int
    /// Time on this machine, with that for copying the other tiles of a bundle in one file.
    package let seconds: Double
    /// Candidate tiles that were cut to know it.
    package let sampledTiles: Int
  }

  /// Cuts a sample of the rasters into memory (``Cutter/estimate(for:cancellation:)``), and draws its tiles over the
  /// bundle's.
  ///
  /// - Throws: ``CutError``, ``BundleError``, as ``write(to:replacing:cancellation:onProgress:)`` would.
  package func estimate(cancellation: CutCancellation = CutCancellation()) throws -> Estimate {
    let (old, encoder) = (try BundleFile.open(path), TileEncoder(encoding))
    try old.prepareLookups()
    var drawnCount = 0
    var newCount = 0
    var bytes = 0
    var seconds = 0.0
    let cut = try cutter.estimate(for: "", cancellation: cancellation) { tiles in
      let clock = ContinuousClock.now
      for tile in tiles {
        let before = try old.withTile(tile.id) { $0.count }
        drawnCount += 1
        newCount += before == nil ? 1 : 0
        bytes += try encoder.encode(drawn(tile.bytes, over: old, tile.id)).count - (before ?? 0)
      }
      seconds += (ContinuousClock.now - clock) / .seconds(1)
    }
    let factor = Double(cut.tiles) / Double(max(drawnCount, 1))
    return Estimate(
      tiles: cut.tiles, newTiles: Int((Double(newCount) * factor).rounded()),
      bytes: Int((Double(bytes) * factor).rounded()),
      seconds: cut.seconds + seconds * factor + (try copySeconds(of: old)), sampledTiles: cut.sampledTiles)
  }

  /// How long it takes to read the bundle's file and write it again, by the time that some of its tiles take.
  private func copySeconds(of old: any BundleReader) throws -> Double {
    struct Enough: Error {}
    let clock = ContinuousClock.now
    var (count, bytes) = (0, 0)
    do {
      try old.forEachTile { _, tile in
        (count, bytes) = (count + 1, bytes + tile.count)
        if count == 256 { throw Enough() }
      }
    } catch is Enough {}
    let seconds = (ContinuousClock.now - clock) / .seconds(1)
    return 2 * seconds * Double(FileSystem.size(path)) / Double(max(bytes, 1))
  }

  /// A new tile over the bundle's.
  private func drawn(_ top: [UInt8], over old: any BundleReader, _ tile: TileID) throws -> PixelBuffer {
    let upper = try top.withUnsafeBytes { try decoded($0, tile) }
    if upper.opacity == .opaque { return upper }
    let lower = try stored(old, tile)
    Overlay.draw(upper, over: lower)
    return lower
  }

  /// The pixels of the bundle's tile; transparent where it has none.
  private func stored(_ old: any BundleReader, _ tile: TileID) throws -> PixelBuffer {
    let matrix = cutter.plan.matrixSet[tile.zoom]
    guard let pixels = try old.withTile(tile, { try decoded($0, tile) }) else {
      return PixelBuffer(width: matrix.tileWidth, height: matrix.tileHeight)
    }
    guard pixels.width == matrix.tileWidth, pixels.height == matrix.tileHeight else {
      throw BundleError(
        .mismatch, path: path,
        "tile \(tile) is \(pixels.width) x \(pixels.height) pixels,"
          + " new ones \(matrix.tileWidth) x \(matrix.tileHeight)",
        remedy: "cut the rasters into a bundle of their own")
    }
    return pixels
  }

  private func decoded(_ bytes: UnsafeRawBufferPointer, _ tile: TileID) throws -> PixelBuffer {
    try TileDrawing.decoding(tile, path) { try ImageDecoder.decode(bytes) }
  }

  private func metadata(_ old: any BundleReader, _ new: MBTilesReader) -> BundleMetadata {
    var metadata = BundleMetadata(old.metadata, fallbackName: options.name ?? "map")
    metadata.name = options.name ?? metadata.name
    metadata.description = options.description ?? metadata.description
    metadata.attribution = options.attribution ?? metadata.attribution
    metadata.version = options.version ?? metadata.version
    metadata.bounds = metadata.bounds.flatMap { box in new.metadata.bounds.map { box.union($0) } }
    return metadata
  }
}
