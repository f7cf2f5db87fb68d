import Support

/// The actual contents of a bundle, independent of its metadata.
public struct BundleInspection: Hashable, Sendable, Codable {
  /// The tiles of one zoom.
  public struct Level: Hashable, Sendable, Codable {
    /// The zoom.
    public let zoom: Int
    /// The number of stored tiles.
    public let tiles: Int
    /// Bytes as readers count them: a shared blob counts for every tile.
    public let bytes: Int
    /// The westernmost column with a tile.
    public let minColumn: Int
    /// The easternmost column with a tile.
    public let maxColumn: Int
    /// From the north (XYZ).
    public let minRow: Int
    /// The southernmost row with a tile.
    public let maxRow: Int
  }

  /// The number of blobs of one format and size.
  public struct Kind: Hashable, Sendable, Codable {
    /// `png`, `jpg`, `webp` or `pbf`, detected from the bytes; nil for other bytes.
    public let format: TileFormat?
    /// Pixels; nil when the header does not state them.
    public let width: Int?
    /// Pixels; nil for vector tiles.
    public let height: Int?
    /// Stored blobs, not tiles.
    public let blobs: Int
  }

  /// The directories of a PMTiles archive.
  public struct Archive: Hashable, Sendable, Codable {
    /// Entries of directories; neighbours with equal bytes share one.
    public let entries: Int
    /// Zero when all entries are in the root directory.
    public let leafDirectories: Int
    /// True when the header says that tiles lie in the order of their ids.
    public let isClustered: Bool
  }

  /// The file or folder, as the caller named it.
  public let path: String
  /// The container of the file.
  public let container: BundleFile.Kind
  /// Size of the file, or of all tiles in a folder.
  public let fileBytes: Int
  /// Bytes of an SQLite page; nil for other containers than MBTiles and GeoPackage.
  public private(set) var pageBytes: Int?
  /// Nil for other containers than MBTiles.
  public private(set) var layout: BundleLayout?
  /// 1297105496 (`MPBX`) in a marked MBTiles file; nil for other containers.
  public private(set) var applicationID: Int?
  /// Nil for other containers than PMTiles.
  public private(set) var archive: Archive?
  /// `xyz` or `tms`: from where the rows in a folder's file names count; nil for other containers.
  public private(set) var scheme: String?
  /// The tables of tiles in a GeoPackage, the inspected one first; nil for other containers.
  public private(set) var tables: [String]?
  /// Name of the grid.
  public let tileMatrixSet: String
  /// CRS of the grid, as authority and code.
  public let crs: String
  /// The metadata in the order of the table.
  public let metadata: [StoredMetadata.Entry]
  /// All tiles, as readers count them.
  public let tiles: Int
  /// Distinct blobs among them.
  public let distinctTiles: Int
  /// Bytes of the stored blobs.
  public let blobBytes: Int
  /// The stored zooms, the coarsest first.
  public let levels: [Level]
  /// The formats and sizes found, the most frequent first.
  public let kinds: [Kind]

  /// Reads through a bundle.
  ///
  /// - Complexity: O(bytes): every stored blob is read once. For a flat table and a folder 8 bytes of memory are taken
  ///   for each, for a GeoPackage too, for an archive 24 bytes for each entry of its directories.
  /// - Parameter progress: called every 256 tiles with the number of tiles read so far; of tiles that share a stored
  ///   blob one is read, except in a GeoPackage and in a tileset of shards.
  /// - Throws: ``BundleError``.
  public init(_ bundle: any BundleReader, progress: @escaping (Int) -> Void = { _ in }) throws {
    let count = TileCount(progress)
    switch bundle {
    case let reader as MBTilesReader: try self.init(reader, count)
    case let reader as PMTilesReader: try self.init(reader, count)
    case let reader as GeoPackageReader:
      try self.init(walking: reader, .geopackage, count)
      pageBytes = try reader.pragma("page_size")
      tables = [reader.table] + reader.tables.filter { $0 != reader.table }
    case let reader as ShardedReader: try self.init(walking: reader, .tileset, count)
    default:
      try self.init(walking: bundle, .folder, count)
      scheme = (bundle as? TileFolderReader).map { $0.isTMS ? "tms" : "xyz" }
    }
  }

  /// The number of tiles that an inspection reads, where that is known before.
  package static func knownReadCount(of bundle: any BundleReader) -> Int? {
    switch bundle {
    case let reader as MBTilesReader where reader.layout == .mapAndImages: try? reader.distinctTileCount()
    case let reader as PMTilesReader:
      Int(exactly: reader.archive.header.counts.contents).flatMap { $0 > 0 ? $0 : nil }
    default: bundle.knownTileCount
    }
  }

  private init(_ reader: PMTilesReader, _ count: TileCount) throws {
    let survey = try PMTilesSurvey(reader)
    path = reader.path
    container = .pmtiles
    fileBytes = FileSystem.size(reader.path)
    archive = Archive(
      entries: Int(clamping: survey.counts.entries), leafDirectories: survey.leafDirectories,
      isClustered: reader.archive.header.isClustered)
    tileMatrixSet = reader.matrixSet.identifier
    crs = reader.matrixSet.crs
    metadata = reader.metadata.entries
    tiles = Int(clamping: survey.counts.tiles)
    levels = survey.levels.sorted { $0.key < $1.key }.compactMap { _, level in
      level.hull.range.map { Level($0, tiles: Int(clamping: level.tiles), bytes: Int(clamping: level.bytes)) }
    }
    var found = Tally(countsDistinct: false, count)
    for entry in survey.contents {
      guard let tile = try? TileID(hilbertID: entry.firstID) else { continue }
      try reader.withContent(entry, of: tile) { found.insert($0) }
    }
    distinctTiles = survey.contents.count
    blobBytes = found.bytes
    kinds = found.kinds
  }

  private init(walking reader: any BundleReader, _ container: BundleFile.Kind, _ count: TileCount) throws {
    var coverage = TileCoverage()
    var bytes: [Int: Int] = [:]
    var found = Tally(countsDistinct: true, count)
    try reader.forEachTile { tile, data in
      coverage.insert(tile)
      bytes[tile.zoom, default: 0] += data.count
      found.insert(data)
    }
    path = reader.path
    self.container = container
    fileBytes =
      container == .folder
      ? found.bytes : FileSystem.size(reader.path) + ((reader as? ShardedReader)?.bundleBytes ?? 0)
    tileMatrixSet = reader.matrixSet.identifier
    crs = reader.matrixSet.crs
    metadata = reader.metadata.entries
    tiles = coverage.count
    levels = coverage.levels.sorted { $0.key < $1.key }.map { zoom, level in
      Level(level.range, tiles: level.count, bytes: bytes[zoom] ?? 0)
    }
    distinctTiles = found.distinct
    blobBytes = found.bytes
    kinds = found.kinds
  }

  private init(_ reader: MBTilesReader, _ count: TileCount) throws {
    path = reader.path
    container = .mbtiles
    fileBytes = FileSystem.size(reader.path)
    pageBytes = try reader.pragma("page_size")
    applicationID = try reader.pragma("application_id")
    layout = reader.layout
    tileMatrixSet = reader.matrixSet.identifier
    crs = reader.matrixSet.crs
    metadata = reader.metadata.entries
    tiles = try reader.tileCount()
    levels = try reader.levels().map { Level($0.range, tiles: $0.tiles, bytes: $0.bytes) }
    let hasSharedBlobs = layout == .mapAndImages
    var found = Tally(countsDistinct: !hasSharedBlobs, count)
    try reader.forEachBlob { found.insert($0) }
    distinctTiles = hasSharedBlobs ? try reader.distinctTileCount() : found.distinct
    blobBytes = found.bytes
    kinds = found.kinds
  }

  /// Counts blobs by format and size.
  private struct Tally {
    private struct Key: Hashable {
      let format: TileFormat?
      let width: Int?
      let height: Int?
    }

    private var counts: [Key: Int] = [:]
    private var hashes: [UInt64] = []
    private(set) var bytes = 0
    private let countsDistinct: Bool
    private let count: TileCount

    init(countsDistinct: Bool, _ count: TileCount) { (self.countsDistinct, self.count) = (countsDistinct, count) }

    mutating func insert(_ blob: UnsafeRawBufferPointer) {
      let header = ImageHeader(blob)
      counts[Key(format: TileFormat(sniffing: blob), width: header?.width, height: header?.height), default: 0] += 1
      if countsDistinct { hashes.append(ContentHash.hash(blob)) }
      bytes += blob.count
      count.add()
    }

    var distinct: Int { ContentHash.distinctCount(hashes) }

    var kinds: [Kind] {
      let kinds = counts.map { key, count in
        Kind(format: key.format, width: key.width, height: key.height, blobs: count)
      }
      // A total order, so that the result is deterministic.
      return kinds.sorted { a, b in
        (b.blobs, a.format?.rawValue ?? "~", a.width ?? 0, a.height ?? 0)
          < (a.blobs, b.format?.rawValue ?? "~", b.width ?? 0, b.height ?? 0)
      }
    }
  }
}

extension BundleInspection.Level {
  fileprivate init(_ range: TileRange, tiles: Int, bytes: Int) {
    self.init(
      zoom: range.zoom, tiles: tiles, bytes: bytes, minColumn: range.columns.lowerBound,
      maxColumn: range.columns.upperBound, minRow: range.rows.lowerBound, maxRow: range.rows.upperBound)
  }
}
