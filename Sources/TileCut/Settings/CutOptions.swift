public import RegionCatalog
import Support
public import TileImage
public import TileIndex

/// What to cut and how the tiles look. Every member can change the bundle's bytes; what cannot is in ``CutResources``.
public struct CutOptions: Sendable {
  /// Paths of rasters (see docs/reference/tilecut.md) in drawing order: later ones are drawn over earlier ones.
  public var sources: [String]
  /// What is said of single sources, by their index in ``sources``.
  package var sourceSettings: [Int: SourceSettings] = [:]
  /// What is drawn over the sources at every zoom, in drawing order.
  package var drawing: [VectorLayer] = []
  public var matrixSet: TileMatrixSet = .webMercatorQuad
  /// Pixels of the screen along a tile's edge, 256 or 512; nil means those of the grid. A tile of 512 pixels covers the
  /// ground of one of 256 with the detail of the next zoom.
  public var tileSize: Int?
  /// Pixels of a tile for each of the screen: 2 for tiles that are sharp on dense screens (`@2x`).
  public var scaleFactor = 1
  public var zoom: ZoomSelection = .native
  /// Whether each area ends at the zoom where its sources have no more detail, at the latest at the deepest of
  /// ``zoom``. Otherwise all areas have the same zooms.
  public var variableDepth = false
  /// WGS 84 degrees. Places a source without a georeference and clips any other. `west` greater than `east` crosses the
  /// antimeridian.
  public var bounds: BoundingBox?
  /// True for an image without a place on Earth: its pixels are cut as they are and its georeference is ignored.
  package var isFlat = false
  public var encoding: TileEncoding = .png(PNGOptions())
  public var resampling: Resampling = .bilinear
  /// Whether overviews are averaged in linear light instead of sRGB values.
  package var isLinear = false
  /// Overrides the CRS in the files: `EPSG:n`, WKT or a PROJ string.
  public var crs: String?
  /// Overrides the nodata value in the files: one value for all bands or one for each, in the source's units.
  public var nodata: [Double]?
  /// For samples of more than 8 bits: the values that become 0 and 255.
  public var scale: SampleRange?
  /// The bands to show, from 1: one as grey, or three as red, green and blue. No band is alpha then unless ``alpha``
  /// names one. Nil means what the files say.
  public var bands: [Int]?
  /// The alpha band; nil means what the files say.
  public var alpha: AlphaBand?

  /// The tileset's name; nil means the first source's file name without its extension.
  public var name: String?
  public var attribution: String?
  public var description: String?
  /// Whether the tileset is a base layer or an overlay.
  public var type: BundleMetadata.Kind = .baselayer
  /// The tileset's version, not the tool's; nil means 1, or with `BundleAppend` the bundle's.
  public var version: String?
  /// Searchable places. Those outside the map's bounds are left out.
  public var places: [Place] = []
  /// The region's outline; tiles that do not touch it are left out.
  public var boundary: RegionBoundary?
  /// How rows count in the file names of a folder; other containers have no choice.
  public var scheme: TileScheme = .xyz
  /// Whether the bundle gets a hash of each tile, which MBTiles alone can store.
  public var tileHashes = false
  /// What the map shows; the rest is transparent.
  public var clip: ClipArea?
  /// Additional metadata rows.
  package var extraMetadata: [String: String] = [:]

  public init(sources: [String]) {
    self.sources = sources
  }

  /// The version of a tileset that is not given one.
  static let firstVersion = "1"

  var drawsLabels: Bool { drawing.contains { $0.rules.contains { $0.kind == .symbol } } }

  /// How many pixels a tile has for each of the grid's, along an edge.
  var pixelFactor: Int { (tileSize ?? Self.gridTileSize) / Self.gridTileSize * scaleFactor }

  /// Pixels of a tile, for memory.
  var tilePixels: Int {
    matrixSet.matrices.map { $0.tileWidth * $0.tileHeight }.max()! * pixelFactor * pixelFactor
  }

  /// The metadata that say how large tiles are, where they have more pixels than those of the grid.
  var tileSizeRows: [String: String] {
    var rows: [String: String] = [:]
    if let tileSize, tileSize != Self.gridTileSize { rows[TileSizeRow.size] = String(tileSize) }
    if scaleFactor > 1 {
      rows[TileSizeRow.size] = rows[TileSizeRow.size] ?? String(matrixSet[0].tileWidth)
      rows[TileSizeRow.scale] = String(scaleFactor)
    }
    return rows
  }

  /// Of the grids whose tile size can be chosen.
  private static let gridTileSize = 256

  private func checkTileSize() throws {
    if let tileSize {
      guard tileSize == 256 || tileSize == 512 else {
        throw CutError(.invalidOption, "tiles of \(tileSize) pixels are not cut", remedy: "choose 256 or 512")
      }
      guard matrixSet.matrices.allSatisfy({ $0.tileWidth == Self.gridTileSize && $0.tileHeight == $0.tileWidth }) else {
        throw CutError(
          .invalidOption, "the grid \(matrixSet.identifier) says itself how large its tiles are",
          remedy: "leave --tile-size (\"tileSize\") out")
      }
    }
    guard (1...8).contains(scaleFactor) else {
      throw CutError(.invalidOption, "there is no scale factor \(scaleFactor)", remedy: "choose 1 or 2")
    }
  }

  /// Refuses encodings that the codecs do not support, and georeferencing options together with ``isFlat``.
  func check() throws {
    try checkTileSize()
    if isLinear, resampling == .nearest || resampling == .mode {
      throw CutError(
        .invalidOption, "overviews of \(resampling.rawValue) are not averaged, neither in linear light",
        remedy: "leave linear light out, or choose another kernel")
    }
    if isFlat, bounds != nil || crs != nil || matrixSet != .webMercatorQuad || sources.count != 1 {
      throw CutError(
        .invalidOption, "a flat image has no place on Earth",
        remedy: "leave --bounds, --crs, --matrix and further sources out, or --flat")
    }
    let choices = [bands] + sourceSettings.sorted { $0.key < $1.key }.map { $0.value.bands }
    if let bands = choices.compactMap(\.self).first(where: { !BandChoice.isValid($0) }) {
      throw CutError(
        .invalidOption, "the bands \(bands.map(String.init).joined(separator: ",")) are not one or three",
        remedy: "give one band, or three for red, green and blue; the first band is 1")
    }
    if variableDepth, !drawing.isEmpty {
      throw CutError(
        .invalidOption, "lines and labels are drawn anew at every zoom, so that the map has detail at all of them",
        remedy: "leave --variable-depth (\"variableDepth\") out, or cut the layers over the pictures as an overlay")
    }
    if isFlat, !drawing.isEmpty {
      throw CutError(
        .invalidOption, "a flat image has no place on Earth",
        remedy: "leave --flat out, or the layers of type \"vector\"")
    }
    if isFlat, sourceSettings.values.contains(where: { $0.relief != nil }) {
      throw CutError(
        .invalidOption, "a flat image has no relief", remedy: "leave --flat out, or the layer of type \"relief\"")
    }
    if isFlat, clip != nil || sourceSettings.values.contains(where: { $0.cutline != nil || $0.crs != nil }) {
      throw CutError(
        .invalidOption, "a flat image has no place on Earth", remedy: "leave --clip, --cutline and --crs out, or --flat"
      )
    }
    for (index, settings) in sourceSettings.sorted(by: { $0.key < $1.key }) where settings.relief != nil {
      guard settings.bands == nil, settings.alpha == nil else {
        throw CutError(
          .invalidOption, path: sources[index], "is an elevation model, whose heights are in its first band",
          remedy: "leave --bands and --alpha out for it")
      }
    }
    if sources.count(where: { $0 == "-" }) > 1 {
      throw CutError(
        .invalidOption, "standard input is named twice as a source", remedy: "send one raster, and name the others")
    }
    if let clip, !(0...ClipArea.bufferMetresMax).contains(clip.bufferMetres) {
      throw CutError(
        .invalidOption, "a buffer of \(clip.bufferMetres) metres cannot be drawn",
        remedy: "choose one from 0 to \(Int(ClipArea.bufferMetresMax)) metres")
    }
    do {
      try encoding.requireLibraries()
    } catch {
      throw CutError(.systemError, "\(error)")
    }
    try Self.check(encoding)
  }

  private static func check(_ encoding: TileEncoding) throws {
    switch encoding {
    case .png(let png) where !(2...256).contains(png.colours ?? 2):
      throw CutError(
        .invalidOption, "there is no palette of \(png.colours ?? 0) colours", remedy: "choose a number from 2 to 256")
    case .jpeg(let jpeg) where !(1...100).contains(jpeg.quality):
      throw CutError(.invalidOption, "there is no JPEG quality \(jpeg.quality)", remedy: "choose one from 1 to 100")
    case .png(let png) where !(1...12).contains(png.compressionLevel ?? 1):
      throw CutError(
        .invalidOption, "there is no compression level \(png.compressionLevel ?? 0)", remedy: "choose one from 1 to 12")
    case .webp(let webp) where !(1...100).contains(webp.quality) || !(0...9).contains(webp.effort):
      throw CutError(
        .invalidOption, "there is no WebP quality \(webp.quality) with effort \(webp.effort)",
        remedy: "choose a quality from 1 to 100 and an effort from 0 to 9")
    case .mixed(let opaque, let other):
      try check(opaque)
      try check(other)
    default: break
    }
  }
}

/// Threads and memory that a cut may use. The bundle's bytes do not depend on them.
public struct CutResources: Hashable, Sendable {
  /// The upper limit of worker threads; fewer run if ``memoryBytes`` does not suffice for all.
  package let threads: Int
  /// Budget in bytes for decoded pixels and for tiles in progress.
  package let memoryBytes: Int

  /// - Parameters:
  ///   - threads: nil means one for each core.
  ///   - memoryBytes: values below 32 MB count as 32 MB.
  public init(threads: Int? = nil, memoryBytes: Int = 256_000_000) {
    self.threads = max(threads ?? Processors.count, 1)
    self.memoryBytes = max(memoryBytes, 32_000_000)
  }

  /// What layers may take: their features, and what is drawn of them at each zoom.
  var layerBytesMax: Int { limitsLayers ? memoryBytes / 2 : .max }
  private var limitsLayers = true

  /// For plans and merges, which have no cut's memory to share: layers take what they need.
  package static var planning: CutResources {
    var resources = CutResources()
    resources.limitsLayers = false
    return resources
  }

  /// What is left beside some bytes.
  func without(_ bytes: Int) -> CutResources {
    var left = CutResources(threads: threads, memoryBytes: memoryBytes - bytes)
    left.takenBytes = takenBytes + bytes
    return left
  }
  /// What layers have of the whole memory.
  private var takenBytes = 0

  /// Memory of one worker: its source window, its tiles and subtrees in progress, and what the libraries allocate.
  ///
  /// - Parameter tilePixels: pixels of a tile.
  private static func workerBytes(tilePixels: Int) -> Int { 6_000_000 + tilePixels * 46 }

  /// The number of threads that the memory suffices for when a quarter of it is left for decoded blocks.
  func workers(tilePixels: Int) -> Int {
    min(threads, max(memoryBytes * 3 / 4 / Self.workerBytes(tilePixels: tilePixels), 1))
  }

  /// The program, its libraries and PROJ's database.
  private static let programBytes = 24_000_000

  /// The budget of the block cache: half of the memory, less if program and workers need more than the other half.
  func cacheBytes(tilePixels: Int) -> Int {
    let workers = workers(tilePixels: tilePixels) * Self.workerBytes(tilePixels: tilePixels)
    return min(max(memoryBytes - Self.programBytes - workers, memoryBytes / 8), memoryBytes / 2)
  }

  /// The least whole memory, in MB, that leaves some bytes for the block cache beside what layers have of it.
  ///
  /// - Parameter isRemote: whether bytes of files on servers have a part of it.
  func megabytes(forCache bytes: Int, tilePixels: Int, isRemote: Bool) -> Int {
    var megabytes = max((memoryBytes + takenBytes) / 1_000_000, 32)
    while true {
      let left = CutResources(threads: threads, memoryBytes: megabytes * 1_000_000 - takenBytes)
      let remote = isRemote ? RemoteCache.bytesMax(memory: left.memoryBytes) : 0
      if left.cacheBytes(tilePixels: tilePixels) - remote >= bytes { return megabytes }
      megabytes += 1
    }
  }
}

extension CutOptions {
  /// The definition of a CRS that an option gives: the content of the .prj or .wkt file that it names, else its text.
  ///
  /// - Throws: ``CutError`` `.unreadableSource` if the file cannot be read.
  package static func crsDefinition(ofOption text: String) throws -> String {
    let name = text.lowercased()
    return name.hasSuffix(".prj") || name.hasSuffix(".wkt") ? try SideFiles.definition(inFile: text) : text
  }
}
