import MapDrawing
import RegionCatalog
import Support
import TileImage
import TileIndex

/// Cuts raster maps into a bundle.
///
/// 1. Open the sources: ``RasterFile`` (Raster/Formats/RasterFile.swift) finds the format and returns a
///    ``RasterSource``.
/// 2. Map each source's extent to the tile grid: ``SourceFootprint`` (Warp/SourceFootprint.swift).
/// 3. Decide which zooms and tiles are made: ``CutPlan`` (Pyramid/CutPlan.swift).
/// 4. Divide the pyramid into subtrees in a fixed order: ``SubtreeSequence`` (Pyramid/SubtreeSequence.swift).
/// 5. Cut subtrees on several threads, deliver them in that order: ``OrderedWork`` (Pyramid/OrderedWork.swift).
/// 6. In each worker, draw the tiles of the sources' own zoom and beyond, or of those at which areas end: ``Mosaic``
///    (Warp/Mosaic.swift), which calls a ``Warper`` (Warp/Warper.swift) for each source.
/// 7. In each worker, reduce four tiles (or 9, 16) to their parent and encode every tile once: ``SubtreeCutter``
///    (Pyramid/SubtreeCutter.swift), ``ParentTile`` (Pyramid/ParentTile.swift).
/// 8. Store the subtrees' tiles and build the levels above them: ``PyramidAssembler`` (Pyramid/PyramidAssembler.swift).
/// 9. Write places and metadata and publish the bundle atomically: a `TileSink` of TileIndex, for MBTiles
///    `BundleWriter`.
public struct Cutter: Sendable {
  public let options: CutOptions
  package let resources: CutResources
  /// The tiles that will be made.
  public let plan: CutPlan
  /// The values that become 0 and 255, if the options leave their choice to the sources' values.
  package let automaticScale: (low: Double, high: Double)?
  /// Names and codes of the coordinate reference systems that the options give: of all sources, for which the source is
  /// nil, and of single ones.
  package let givenCRS: [(source: String?, title: String)]
  private let sources: [any RasterSource]
  /// What is drawn: the sources, or overviews of them that suffice for the deepest zoom.
  private let drawn: [any RasterSource]
  /// Bytes of sources on servers.
  let remote: RemoteCache?
  /// The sources' cutlines in pixels of each zoom at which tiles are drawn.
  private let cutlines: [Int: [PixelArea?]]
  /// The sources' files.
  private let files: [SourceFile]
  /// Of layers that draw nothing.
  private let emptyLayers: [String]
  /// What the features of layers take.
  private let layerBytes: Int
  /// Decoded blocks of the sources.
  private let cache: BlockCache?

  /// Steps 1 to 3: opens the sources and plans the cut. Nothing is written yet.
  ///
  /// - Parameter scratchDirectory: where sources that decode only from top to bottom are unpacked if they do not fit
  ///   into memory; nil means the system's temporary folder.
  /// - Throws: ``CutError`` naming the source or the option at fault.
  public init(
    _ options: CutOptions, resources: CutResources = CutResources(), scratchDirectory: String? = nil
  ) throws {
    guard !options.sources.isEmpty else {
      throw CutError(.invalidOption, "no source to cut", remedy: "name a GeoTIFF, PNG, JPEG or WebP file")
    }
    try options.check()
    // Checked first, because sources without a georeference are placed by these bounds.
    if let bounds = options.bounds { try CutArea.requireBox(bounds) }
    // Before the sources, whose blocks have what memory layers leave.
    let layers = try LayerData(options, resources)
    let left = resources.without(layers.byteCount)
    let remote =
      options.sources.contains(where: RemoteSourceFile.isURL)
      ? RemoteCache(bytesMax: RemoteCache.bytesMax(memory: left.memoryBytes)) : nil
    let open = try Self.open(options, left, scratchDirectory ?? FileSystem.temporaryFolder, remote)
    try self.init(
      options, resources, sources: open.sources, files: open.files, layers: layers, cache: open.cache, remote: remote,
      automaticScale: open.scale)
  }

  /// Plans the cut of sources that are already open.
  init(
    _ options: CutOptions, _ resources: CutResources, sources: [any RasterSource], files: [SourceFile] = [],
    layers: LayerData? = nil, cache: BlockCache? = nil, remote: RemoteCache? = nil, automaticScale: SampleScale? = nil
  ) throws {
    (self.remote, self.files, self.cache) = (remote, files, cache)
    let layers = try layers ?? LayerData(options, resources)
    (layerBytes, emptyLayers) = (layers.byteCount, layers.warnings)
    let matrixSet = try options.matrixSet.withPixels(times: options.pixelFactor)
    let target = try CoordinateReferenceSystem(definition: matrixSet.crs)
    let cell = Self.deepestCell(options.zoom, matrixSet)
    // Where a relief ends at its own zoom, heights between those of the model are not asked for.
    let refined = options.variableDepth ? nil : cell
    let sources = JoinedRaster.joining(
      try ReliefRaster.refining(sources, cell: refined, target: target, matrixSet: matrixSet))
    self.options = options
    self.resources = resources
    self.sources = sources
    self.automaticScale = automaticScale.map { ($0.low, $0.high) }
    givenCRS = try options.givenCRS()
    let steps = SourceFootprint.meshSteps(sourceCount: sources.count)
    let footprints = try sources.map { source in
      let whole = try SourceFootprint(source: source, target: target, matrixSet: matrixSet, steps: steps)
      guard options.variableDepth, let joined = source as? JoinedRaster else { return whole }
      // What lies between sheets that are far from each other must not be refined. A sheet outside of the grid counts
      // nothing.
      let parts = joined.members.compactMap {
        try? SourceFootprint(
          source: $0, target: target, matrixSet: matrixSet, steps: SourceFootprint.meshStepsRange.lowerBound)
      }
      return SourceFootprint(whole, parts: parts)
    }
    let overviews = try SourceOverviews(
      sources, footprints: footprints, cell: cell, resampling: options.resampling)
    drawn = overviews.sources
    var plan = try CutPlan(
      footprints: footprints, detail: overviews.resolutions, matrixSet: matrixSet, zoom: options.zoom,
      variableDepth: options.variableDepth, bounds: options.bounds, boundary: options.boundary, clip: options.clip,
      resampling: options.resampling,
      isLinear: options.isLinear, encoding: options.encoding)
    plan.drawing = try Self.drawing(options, layers, plan)
    self.plan = plan
    let set = plan.matrixSet
    cutlines = Dictionary(
      uniqueKeysWithValues: plan.drawnZooms.map { zoom in
        (zoom, sources.map { $0.cutline.map { ClipArea($0).pixels(set, zoom: zoom) } })
      })
  }

  /// What was asked of servers so far, repetitions included, and the bytes that came; nil without sources there.
  package var traffic: (requests: Int, bytes: Int)? { remote?.traffic }

  /// Of sources that are drawn much finer than they are.
  private var coarseWarnings: [String] {
    plan.coarseSources(options.zoom).map { index, factor in
      "\(sources[index].path): a pixel of it spans \(Int(factor)) of the finest source's, and all of it is drawn at zoom"
        + " \(plan.workingZoom) like that one; if that takes too long, "
        + (options.drawing.isEmpty ? CutPlan.coarseRemedy : "cut lines and labels into a bundle of their own first")
    }
  }

  /// What the bytes of the cut depend on.
  ///
  /// - Parameter known: an earlier identity, whose sources are not read again while their sizes and times are the same.
  /// - Complexity: reads the sources, of large ones a sample.
  func identity(toolVersion: String, known: CutIdentity? = nil) throws -> CutIdentity {
    let all = try files + options.drawing.flatMap(\.files).map { try SourceFile(path: $0) }
    let sources = try all.enumerated().map { index, file in
      try SourceIdentity(
        file, known: known.flatMap { $0.sources.count == all.count ? $0.sources[index] : nil }, of: all.count)
    }
    return CutIdentity(
      toolVersion: toolVersion, libraries: try LibraryIdentity.all(for: options) + fonts(), sources: sources,
      options: options, name: name)
  }

  /// The fonts that labels are set in.
  ///
  /// - Complexity: finds the places of all labels, which the cut finds no more.
  func fonts() throws -> [LibraryIdentity] {
    let fonts = try plan.drawing.map { try Self.fonts(of: $0, through: plan.zooms.upperBound) } ?? [:]
    return fonts.sorted { $0.key < $1.key }.map { LibraryIdentity(name: "font \($0.key)", version: $0.value) }
  }

  /// Problems that do not prevent a cut; each line names its file.
  public var warnings: [String] { sources.flatMap(\.warnings) + coarseWarnings + emptyLayers }

  /// The sources, with the coordinate reference system that was taken for each.
  package var sourceDescriptions: [SourceDescription] {
    sources.map { source in
      SourceDescription(
        path: source.path, width: source.width, height: source.height,
        crs: options.isFlat ? nil : source.georeference.crs.title)
    }
  }

  /// Steps 4 to 9: cuts into a new bundle, which appears at `path` only when it is complete.
  ///
  /// - Parameters:
  ///   - path: the bundle to write: a folder if it ends with a slash, a PMTiles archive if with `.pmtiles`, else
  ///     MBTiles.
  ///   - replacing: whether an existing file may be replaced.
  ///   - checkpoints: keeps the work beside the bundle until it is complete, and continues what an earlier cut kept.
  ///     Nil keeps nothing, and does not look for it.
  ///   - cancellation: stops the cut; no other file is left behind then.
  ///   - onProgress: called after each subtree, by one thread at a time.
  /// - Throws: ``CutError``, or ``BundleError`` if the bundle cannot be written.
  public func cut(
    to path: String, replacing: Bool = false, checkpoints: CutCheckpoints? = nil,
    cancellation: CutCancellation = CutCancellation(), onProgress: ((CutProgress) -> Void)? = nil
  ) throws -> CutSummary {
    try OutputFile.protect(options.sources, from: path)
    remote?.stop { cancellation.isCancelled }
    return try cancellation.run { try write(path, replacing, checkpoints, onProgress) }
  }

  private func write(
    _ path: String, _ replacing: Bool, _ checkpoints: CutCheckpoints?, _ onProgress: ((CutProgress) -> Void)?
  ) throws -> CutSummary {
    let start = ContinuousClock.now
    let folder = try checkpoints.map {
      try CutWorkFolder(
        output: path, identity: try identity(toolVersion: $0.toolVersion), tilesTotal: plan.tileCountMax, $0)
    }
    let wasPublishing = folder?.isPublishing ?? false
    var sink: (any TileSink)?
    var journal: CutJournal?
    var assembler: PyramidAssembler?
    func seconds() -> Double { journal?.seconds ?? (ContinuousClock.now - start) / .seconds(1) }
    do {
      let bundle = try BundleFile.create(
        path, matrixSet: options.matrixSet, format: plan.encoding.format,
        replacing: replacing || wasPublishing, scheme: options.scheme, mixing: plan.encoding.mixing,
        hashes: options.tileHashes)
      sink = bundle
      var writer = bundle
      var begin = PyramidState()
      if let folder {
        let checkpoint = try folder.resume(into: bundle, matrix: plan.matrixSet[plan.workingZoom])
        if checkpoint.pyramid.tilesDone > 0 {
          folder.checkpoints.onContinuing?(checkpoint.pyramid.tilesDone, plan.tileCountMax)
        }
        let own = try CutJournal(folder, from: checkpoint)
        (begin, journal, writer) = (checkpoint.pyramid, own, RecordedSink(bundle, own))
      }
      let pyramid = PyramidAssembler(plan: plan, from: begin, makeDrawer: makeSubtreeCutter) {
        try writer.put($0, $1)
      }
      assembler = pyramid
      let rest = subtrees.makeIterator()
      for _ in 0..<begin.subtreeCount { _ = rest.next() }
      try assemble(pyramid, rest) {
        try journal?.saveIfDue { pyramid.state }
        onProgress?(
          CutProgress(
            tilesDone: pyramid.tilesDone, tilesTotal: plan.tileCountMax, tilesStored: writer.tileCount,
            bytesStored: pyramid.bytesStored, seconds: seconds()))
      }
      if pyramid.extent == nil || pyramid.waitingCount > 0 {
        // Another attempt would end the same way.
        assembler = nil
        folder?.remove()
      } else {
        journal?.stop()
        try folder?.setPublishing(true)
      }
      let (summary, warnings) = try finish(writer, pyramid)
      folder?.remove()
      return CutSummary(
        path: path, tileCount: summary.tiles, distinctTileCount: summary.distinctTiles,
        zoomMin: summary.minZoom, zoomMax: summary.maxZoom, fileBytes: summary.bytes,
        seconds: seconds(), warnings: warnings)
    } catch {
      // First, because it makes room on the disk.
      sink?.discard()
      journal?.stop()
      // Where the last checkpoint fails, the one before stays.
      if let state = assembler?.state { try? journal?.close(state) }
      if !wasPublishing { try? folder?.setPublishing(false) }
      folder?.removeIfEmpty()
      throw OutputFile.failure(error, path)
    }
  }

  /// Step 9.
  ///
  /// - Throws: ``CutError`` `.badSource` if no tile shows anything; ``BundleError``.
  func finish(
    _ sink: any TileSink, _ pyramid: PyramidAssembler
  ) throws -> (bundle: BundleSummary, warnings: [String]) {
    guard let extent = pyramid.extent else {
      throw CutError(
        .badSource, path: sources[0].path, "it has no visible pixel within the bounds",
        remedy: "check --bounds and --nodata")
    }
    // A map without its overviews would not be seen to be wrong.
    guard pyramid.waitingCount == 0 else {
      throw CutError(
        .programFault, "\(pyramid.waitingCount) overviews lack some of their tiles, which is a fault of this program",
        remedy: "report it with the command and what the sources are")
    }
    var metadata = metadata(extent: extent)
    if !sink.mixing.isEmpty { metadata.formats = pyramid.formats }
    let area = metadata.bounds.map { TileArea(bounds: $0) } ?? .everywhere
    let places = Place.withoutRepeats(options.places).filter {
      area.contains(longitude: $0.longitude, latitude: $0.latitude)
    }
    if !places.isEmpty { try sink.write(places: places) }
    var warnings = warnings
    if places.isEmpty, !options.places.isEmpty {
      warnings.append("the places to look for (\(options.places.count)) all lie outside the map")
    }
    warnings += try lossesOfLayers()
    return (try sink.finish(metadata), warnings)
  }

  /// Step 4.
  var subtrees: SubtreeSequence {
    SubtreeSequence(
      plan.coverages, leaves: plan.leaves, depths: plan.depths, matrixSet: plan.matrixSet,
      workingZoom: plan.workingZoom, zoomMin: plan.zooms.lowerBound)
  }

  /// Steps 5 to 8.
  func assemble(
    _ assembler: PyramidAssembler, _ subtrees: AnyIterator<TileID>, onSubtree: @escaping () throws -> Void
  ) throws {
    let workers = try prepareWorkers()
    let work = OrderedWork<TileID, CutSubtree>(subtrees, aheadMax: 2 * workers + 2) { subtree in
      try assembler.accept(subtree)
      try onSubtree()
    }
    try work.run(threads: workers) {
      let cutter = try makeSubtreeCutter()
      return { try cutter.cut($0) }
    }
  }

  /// Makes what is drawn at each zoom, which takes its memory from blocks and workers.
  ///
  /// - Returns: how many workers the rest suffices for.
  /// - Throws: ``CutError`` if layers take more than their share.
  func prepareWorkers() throws -> Int {
    var left = resources
    if let drawing = plan.drawing {
      let bytes: Int
      do {
        bytes = try drawing.prepare(plan.zooms, bytesMax: resources.layerBytesMax - layerBytes)
      } catch {
        throw CutError(error)
      }
      guard layerBytes + bytes <= resources.layerBytesMax else {
        throw CutError.layersTooLarge(
          features: layerBytes, drawn: bytes, zooms: plan.zooms, path: nil, resources: resources)
      }
      left = resources.without(layerBytes + bytes)
      cache?.shrink(to: max(left.cacheBytes(tilePixels: options.tilePixels) - (remote?.bytesMax ?? 0), 1 << 20))
    }
    return left.workers(tilePixels: options.tilePixels)
  }

  /// The edge of a pixel of the deepest zoom that the options name.
  private static func deepestCell(_ zoom: ZoomSelection, _ matrixSet: TileMatrixSet) -> Double? {
    guard case .levels(let levels) = zoom, matrixSet.zooms.contains(levels.upperBound) else { return nil }
    return matrixSet[levels.upperBound].cellSize
  }

  /// Cuts subtrees, on one thread.
  func makeSubtreeCutter() throws -> SubtreeCutter {
    let target = try CoordinateReferenceSystem(definition: plan.matrixSet.crs)
    let scratch = WarpScratch()
    return SubtreeCutter(plan: plan) { [self] zoom in
      Mosaic(
        sources: drawn, footprints: plan.footprints, cutlines: cutlines[zoom] ?? [], target: target,
        grid: PixelGrid(plan.matrixSet[zoom], wraps: plan.matrixSet.isGlobal), resampling: plan.resampling,
        clips: plan.clips(zoom: zoom), scratch: scratch)
    }
  }

  /// The tileset's name. Not the output's: equal inputs and options give equal bytes wherever they are written.
  private var name: String {
    let path = String(sources[0].path.prefix { !RemoteSourceFile.isURL(sources[0].path) || $0 != "?" })
    return options.name ?? FileSystem.stem(path)
  }

  private func metadata(extent: VisibleExtent) -> BundleMetadata {
    var metadata = BundleMetadata(name: name)
    metadata.attribution = options.attribution
    metadata.description = options.description
    metadata.type = options.type
    metadata.version = options.version ?? CutOptions.firstVersion
    metadata.extra = options.extraMetadata.merging(options.tileSizeRows) { $1 }
    if let text = options.encoding.optionText, text.contains(" ") { metadata.extra[TileEncodingRow.key] = text }
    if options.isFlat {
      metadata.extra[FlatImage.metadataKey] = FlatImage(width: sources[0].width, height: sources[0].height).text
    }
    if !options.drawing.isEmpty {
      metadata.extra[DrawnLayersMetadata.key] = Set(options.drawing.map(\.data.type)).sorted().joined(separator: ",")
    }
    if plan.endZooms.count > 1 { metadata.extra[VariableDepthMetadata.key] = VariableDepthMetadata.text(plan.endZooms) }
    metadata.bounds = plan.matrixSet.openGeographicBounds(ofCRSBounds: visibleBounds(extent)).roundedToMicrometres
    return metadata
  }

  /// The sources' outline on sides where visible pixels reach it, else the edge of the visible pixels (nodata collars).
  private func visibleBounds(_ extent: VisibleExtent) -> BoundingBox {
    let matrix = plan.matrixSet[plan.workingZoom]
    let low = matrix.point(atPixel: SIMD2(Double(extent.left), Double(extent.bottom)))
    let high = matrix.point(atPixel: SIMD2(Double(extent.right), Double(extent.top)))
    func edge(_ outline: Double, _ visible: Double) -> Double {
      abs(outline - visible) < matrix.cellSize ? outline : visible
    }
    let (world, outline) = (plan.matrixSet.boundingBox, plan.outline)
    let (south, north) = (edge(outline.south, low.y), edge(outline.north, high.y))
    // Visible pixels at both edges of the world say nothing of the west and the east of a map across the antimeridian.
    if plan.extent.east > world.east, low.x < world.west + matrix.cellSize, high.x > world.east - matrix.cellSize {
      return BoundingBox(west: plan.extent.west, south: south, east: plan.extent.east, north: north)
    }
    return BoundingBox(west: edge(outline.west, low.x), south: south, east: edge(outline.east, high.x), north: north)
  }
}

extension BoundingBox {
  /// Degrees without the last digits, which hold only the projection's rounding errors.
  fileprivate var roundedToMicrometres: BoundingBox {
    func rounded(_ degrees: Double) -> Double { (degrees * 1e10).rounded() / 1e10 }
    return BoundingBox(west: rounded(west), south: rounded(south), east: rounded(east), north: rounded(north))
  }
}
