import MapDrawing
import RegionCatalog
import Support
import Synchronization
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
/// 6. In each worker, draw the tiles of the working zoom from all sources: ``Mosaic`` (Warp/Mosaic.swift), which calls
///    a ``Warper`` (Warp/Warper.swift) for each source.
/// 7. In each worker, reduce four tiles (or 9, 16) to their parent and encode every tile once: ``SubtreeCutter``
///    (Pyramid/SubtreeCutter.swift), ``ParentTile`` (Pyramid/ParentTile.swift).
/// 8. Store the subtrees' tiles and build the levels above them: ``PyramidAssembler`` (Pyramid/PyramidAssembler.swift).
/// 9. Write places and metadata and publish the bundle atomically: a `TileSink` of TileIndex, for MBTiles
///    `BundleWriter`.
public struct Cutter: Sendable {
  public let options: CutOptions
  public let resources: CutResources
  /// The tiles that will be made.
  public let plan: CutPlan
  /// The values that become 0 and 255, if the options leave their choice to the sources' values.
  public let automaticScale: (low: Double, high: Double)?
  private let sources: [any RasterSource]
  /// What is drawn: the sources, or overviews of them that suffice for the deepest zoom.
  private let drawn: [any RasterSource]
  /// Bytes of sources on servers.
  let remote: RemoteCache?
  /// The sources' cutlines in pixels of the working zoom.
  private let cutlines: [PixelArea?]
  /// The sources' files.
  private let files: [SourceFile]

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
    if let bounds = options.bounds { try CutPlan.requireBox(bounds) }
    let remote =
      options.sources.contains(where: RemoteSourceFile.isURL)
      ? RemoteCache(bytesMax: RemoteCache.bytesMax(memory: resources.memoryBytes)) : nil
    let (files, sources, scale) = try Self.open(
      options, resources, scratchDirectory ?? FileSystem.temporaryFolder, remote)
    try self.init(options, resources, sources: sources, files: files, remote: remote, automaticScale: scale)
  }

  /// Plans the cut of sources that are already open.
  init(
    _ options: CutOptions, _ resources: CutResources, sources: [any RasterSource], files: [SourceFile] = [],
    remote: RemoteCache? = nil, automaticScale: SampleScale? = nil
  ) throws {
    (self.remote, self.files) = (remote, files)
    let matrixSet = try options.matrixSet.withPixels(times: options.pixelFactor)
    let target = try CoordinateReferenceSystem(definition: matrixSet.crs)
    let cell = Self.deepestCell(options.zoom, matrixSet)
    let sources = JoinedRaster.joining(
      try ReliefRaster.refining(sources, cell: cell, target: target, matrixSet: matrixSet))
    self.options = options
    self.resources = resources
    self.sources = sources
    self.automaticScale = automaticScale.map { ($0.low, $0.high) }
    let footprints = try sources.map {
      try SourceFootprint(source: $0, target: target, matrixSet: matrixSet)
    }
    let overviews = try SourceOverviews(
      sources, footprints: footprints, cell: cell, resampling: options.resampling)
    drawn = overviews.sources
    var plan = try CutPlan(
      footprints: footprints, detail: overviews.resolution, matrixSet: matrixSet, zoom: options.zoom,
      bounds: options.bounds, boundary: options.boundary, clip: options.clip, resampling: options.resampling,
      isLinear: options.isLinear, encoding: options.encoding)
    plan.drawing = try Self.drawing(options, plan.matrixSet)
    self.plan = plan
    let (set, zoom) = (plan.matrixSet, plan.workingZoom)
    cutlines = sources.map { $0.cutline.map { ClipArea($0).pixels(set, zoom: zoom) } }
  }

  /// What was asked of servers so far, repetitions included, and the bytes that came; nil without sources there.
  public var traffic: (requests: Int, bytes: Int)? { remote?.traffic }

  /// What the bytes of the cut depend on.
  ///
  /// - Complexity: reads the sources, of large ones a sample.
  func identity(toolVersion: String) throws -> CutIdentity {
    let drawingFiles = try options.drawing.flatMap(\.files).map { try SourceFile(path: $0) }
    return CutIdentity(
      toolVersion: toolVersion, sources: try (files + drawingFiles).map { try SourceIdentity($0) }, options: options,
      name: name)
  }

  /// Problems that do not prevent a cut; each line names its file.
  public var warnings: [String] { sources.flatMap(\.warnings) }

  /// Name and code of the coordinate reference system that ``CutOptions/crs`` gives; nil if it gives none.
  public var givenCRS: String? { options.crs == nil ? nil : sources[0].georeference.crs.title }

  /// The sources, with the coordinate reference system that was taken for each.
  public var sourceDescriptions: [SourceDescription] {
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
        replacing: replacing || wasPublishing, scheme: options.scheme, mixing: plan.encoding.mixing)
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
      let pyramid = PyramidAssembler(plan: plan, from: begin) { try writer.put($0, $1) }
      assembler = pyramid
      let rest = subtrees.makeIterator()
      for _ in 0..<begin.subtreeCount { _ = rest.next() }
      try assemble(pyramid, rest, cancellation) {
        try journal?.saveIfDue { pyramid.state }
        onProgress?(
          CutProgress(
            tilesDone: pyramid.tilesDone, tilesTotal: plan.tileCountMax, tilesStored: writer.tileCount,
            bytesStored: pyramid.bytesStored, seconds: seconds()))
      }
      if pyramid.extent == nil {
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
    var metadata = metadata(extent: extent)
    if !sink.mixing.isEmpty { metadata.formats = pyramid.formats }
    let area = metadata.bounds.map { TileArea(bounds: $0) } ?? .everywhere
    let places = options.places.filter { area.contains(longitude: $0.longitude, latitude: $0.latitude) }
    if !places.isEmpty { try sink.write(places: places) }
    var warnings = warnings
    if places.isEmpty, !options.places.isEmpty {
      warnings.append("the places to look for (\(options.places.count)) all lie outside the map")
    }
    return (try sink.finish(metadata), warnings)
  }

  /// Step 4.
  var subtrees: SubtreeSequence {
    SubtreeSequence(
      plan.coverages, matrixSet: plan.matrixSet, workingZoom: plan.workingZoom, zoomMin: plan.zooms.lowerBound)
  }

  /// Steps 5 to 8.
  func assemble(
    _ assembler: PyramidAssembler, _ subtrees: AnyIterator<TileID>, _ cancellation: CutCancellation,
    onSubtree: @escaping () throws -> Void
  ) throws {
    let workers = resources.workers(tilePixels: options.tilePixels)
    let work = OrderedWork<TileID, CutSubtree>(subtrees, aheadMax: 2 * workers + 2) { subtree in
      try assembler.accept(subtree)
      try onSubtree()
    }
    try work.run(threads: workers) {
      let cutter = SubtreeCutter(plan: plan, mosaic: try makeMosaic()) { cancellation.isCancelled }
      return { try cutter.cut($0) }
    }
  }

  private static func features(_ contours: VectorLayer.Contours) throws -> [MapFeature] {
    let open = RasterOpenOptions(cacheBytesMax: 16 << 20, scratchDirectory: FileSystem.temporaryFolder).forHeights
    let models = try contours.models.enumerated().map { index, path in
      try Self.source(SourceFile(path: path), contours.settings[index] ?? SourceSettings(), open)
    }
    return try JoinedRaster.joining(models).flatMap {
      try ContourTracer($0).features(interval: contours.interval, indexEvery: contours.indexEvery)
    }
  }

  /// Reads what is drawn over the sources; nil if there is nothing.
  private static func drawing(_ options: CutOptions, _ matrixSet: TileMatrixSet) throws -> VectorMap? {
    guard !options.drawing.isEmpty else { return nil }
    do {
      let layers = try options.drawing.map { layer -> (features: [MapFeature], rules: [StyleRule]) in
        switch layer.data {
        case .file(let file): (try FeatureFile.features(path: file), layer.rules)
        case .contours(let contours): (try features(contours), layer.rules)
        }
      }
      return try VectorMap(layers, matrixSet: matrixSet, density: Double(options.scaleFactor))
    } catch let error as TrackError {
      throw CutError(
        error.isUnreadable ? .unreadableSource : .badSource, path: error.path, error.message, remedy: error.remedy)
    } catch let error as DrawingError {
      throw CutError(.systemError, error.message, remedy: error.remedy)
    }
  }

  /// The edge of a pixel of the deepest zoom that the options name.
  private static func deepestCell(_ zoom: ZoomSelection, _ matrixSet: TileMatrixSet) -> Double? {
    guard case .levels(let levels) = zoom, matrixSet.zooms.contains(levels.upperBound) else { return nil }
    return matrixSet[levels.upperBound].cellSize
  }

  private static func open(
    _ options: CutOptions, _ resources: CutResources, _ scratchDirectory: String, _ remote: RemoteCache?
  ) throws -> ([SourceFile], [any RasterSource], SampleScale?) {
    var open = RasterOpenOptions()
    open.crs = try options.crs.map { try CoordinateReferenceSystem(definition: $0) }
    open.bounds = options.bounds
    open.isFlat = options.isFlat
    open.nodata = options.nodata
    open.bands = options.bands
    open.alpha = options.alpha
    open.scratchDirectory = scratchDirectory
    open.cache = BlockCache(bytesMax: resources.cacheBytes(tilePixels: options.tilePixels) - (remote?.bytesMax ?? 0))
    open.remoteCache = remote
    // Each source keeps its file open.
    if options.sources.count > 64 { FileDescriptors.raiseLimit() }
    let files = try options.sources.map { try open.file(named: $0) }
    var automaticScale: SampleScale?
    switch options.scale {
    case .values(let low, let high): open.scale = try SampleScale(low: low, high: high)
    case .auto:
      let pictures = files.indices.filter { options.sourceSettings[$0]?.relief == nil }
      automaticScale = try Self.automaticScale(pictures.map { files[$0] }, open)
      open.scale = automaticScale
      open.keeps8Bit = true
    case nil: break
    }
    var sources: [any RasterSource] = []
    var models: [any RasterSource] = []
    for index in options.sources.indices {
      let settings = options.sourceSettings[index] ?? SourceSettings()
      var own = open
      // What is said of all sources is meant for pictures.
      if settings.relief != nil {
        own = open.forHeights
        (own.nodata, own.crs) = (nil, nil)
      }
      let source = try Self.source(files[index], settings, own, isFlat: options.isFlat)
      guard let relief = settings.relief else {
        sources.append(source)
        continue
      }
      models.append(source)
      if options.sourceSettings[index + 1]?.relief != relief {
        sources += try ReliefRaster.layer(models, relief)
        models = []
      }
    }
    return (files, sources, automaticScale)
  }

  /// Opens a source with what is said of it alone.
  private static func source(
    _ file: SourceFile, _ settings: SourceSettings, _ open: RasterOpenOptions, isFlat: Bool = false
  ) throws -> any RasterSource {
    var own = open
    if let crs = settings.crs { own.crs = try CoordinateReferenceSystem(definition: crs) }
    own.nodata = settings.nodata ?? open.nodata
    var source = try RasterFile.open(file, options: own)
    if let crop = settings.crop { source = try CroppedRaster(source, crop, isFlat: isFlat) }
    if let cutline = settings.cutline { source = try CutlineRaster(source, cutline) }
    return source
  }

  /// One scale for all sources, so that no seam appears between them; nil if none needs one.
  private static func automaticScale(_ files: [SourceFile], _ open: RasterOpenOptions) throws -> SampleScale? {
    var all: ValueSample?
    for file in files {
      guard let sample = try RasterFile.valueSample(file, options: open) else { continue }
      all = all ?? ValueSample()
      all?.add(sample)
    }
    return try all?.automaticScale(path: files[0].path)
  }

  func makeMosaic() throws -> Mosaic {
    Mosaic(
      sources: drawn, footprints: plan.footprints, cutlines: cutlines,
      target: try CoordinateReferenceSystem(definition: plan.matrixSet.crs),
      grid: PixelGrid(plan.matrixSet[plan.workingZoom], wraps: plan.matrixSet.isGlobal), resampling: plan.resampling,
      clips: plan.clips)
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
    metadata.version = options.version
    metadata.extra = options.extraMetadata.merging(options.tileSizeRows) { $1 }
    if options.isFlat {
      metadata.extra[FlatImage.metadataKey] = FlatImage(width: sources[0].width, height: sources[0].height).text
    }
    metadata.bounds = plan.matrixSet.geographicBounds(ofCRSBounds: visibleBounds(extent)).roundedToMicrometres
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

/// A source of a cut, for people.
public struct SourceDescription: Hashable, Sendable, Codable, CustomStringConvertible {
  public let path: String
  /// Pixels.
  public let width: Int
  public let height: Int
  /// Name and code of the coordinate reference system; nil for an image that lies nowhere on Earth.
  public let crs: String?

  public var description: String { "\(path): \(width) x \(height) pixels, \(crs ?? "nowhere on Earth")" }
}

/// The progress of a cut.
public struct CutProgress: Sendable, Codable {
  /// Candidate tiles processed, including empty ones.
  public let tilesDone: Int
  /// All candidate tiles.
  public let tilesTotal: Int
  /// Tiles written to the bundle.
  public let tilesStored: Int
  /// Bytes of the written tiles before deduplication.
  public let bytesStored: Int
  /// Time since the cut began.
  public let seconds: Double

  /// Candidate tiles processed per second.
  public var tilesPerSecond: Double { seconds > 0 ? Double(tilesDone) / seconds : 0 }
  /// The remaining time at the present rate; nil before the first tile.
  public var secondsLeft: Double? {
    tilesDone > 0 ? seconds / Double(tilesDone) * Double(tilesTotal - tilesDone) : nil
  }
}

/// The result of a finished cut.
public struct CutSummary: Sendable, Codable {
  /// The bundle's path.
  public let path: String
  /// Tiles in the bundle.
  public let tileCount: Int
  /// Distinct tile images, each of which is stored once.
  public let distinctTileCount: Int
  public let zoomMin: Int
  public let zoomMax: Int
  /// The bundle's size.
  public let fileBytes: Int
  public let seconds: Double
  /// Problems that did not prevent the cut; each line names its file.
  public let warnings: [String]
}

/// Asks a running cut to stop. May be called from any thread, also from a signal handler's queue.
public final class CutCancellation: Sendable {
  private let flag = Atomic(false)
  public init() {}
  public func cancel() { flag.store(true, ordering: .relaxed) }
  public var isCancelled: Bool { flag.load(ordering: .relaxed) }
}
