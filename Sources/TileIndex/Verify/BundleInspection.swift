import Support

/// The actual contents of a bundle, independent of its metadata.
public struct BundleInspection: Hashable, Sendable, Codable {
  /// The tiles of one zoom.
  public struct Level: Hashable, Sendable, Codable {
    public let zoom: Int
    public let tiles: Int
    /// Bytes as readers count them: a shared blob counts for every tile.
    public let bytes: Int
    public let minColumn: Int
    public let maxColumn: Int
    /// From the north (XYZ).
    public let minRow: Int
    public let maxRow: Int
  }

  /// The number of blobs of one format and size.
  public struct Kind: Hashable, Sendable, Codable {
    /// `png`, `jpg`, `webp` or `pbf`, detected from the bytes; nil for other bytes.
    public let format: TileFormat?
    /// Pixels; nil when the header does not state them.
    public let width: Int?
    public let height: Int?
    /// Stored blobs, not tiles.
    public let blobs: Int
  }

  /// The file, as the caller named it.
  public let path: String
  /// Size of the file.
  public let fileBytes: Int
  /// Bytes of an SQLite page.
  public let pageBytes: Int
  public let layout: BundleLayout
  /// 1297105496 (`MPBX`) in a marked MBTiles file.
  public let applicationID: Int
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
  public let levels: [Level]
  /// The formats and sizes found, the most frequent first.
  public let kinds: [Kind]

  /// Reads through a bundle.
  ///
  /// - Complexity: O(bytes): every stored blob is read once. For a flat table 8 bytes of memory are taken for each.
  /// - Throws: ``BundleError``.
  public init(_ reader: MBTilesReader) throws {
    path = reader.path
    fileBytes = FileSystem.size(reader.path)
    pageBytes = try reader.pragma("page_size")
    applicationID = try reader.pragma("application_id")
    layout = reader.layout
    tileMatrixSet = reader.matrixSet.identifier
    crs = reader.matrixSet.crs
    metadata = reader.metadata.entries
    tiles = try reader.tileCount()
    levels = try reader.levels().map { level in
      Level(
        zoom: level.range.zoom, tiles: level.tiles, bytes: level.bytes, minColumn: level.range.columns.lowerBound,
        maxColumn: level.range.columns.upperBound, minRow: level.range.rows.lowerBound,
        maxRow: level.range.rows.upperBound)
    }
    let hasSharedBlobs = layout == .mapAndImages
    var found = Tally(countsDistinct: !hasSharedBlobs)
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

    init(countsDistinct: Bool) { self.countsDistinct = countsDistinct }

    mutating func insert(_ blob: UnsafeRawBufferPointer) {
      let header = ImageHeader(blob)
      counts[Key(format: TileFormat(sniffing: blob), width: header?.width, height: header?.height), default: 0] += 1
      if countsDistinct { hashes.append(ContentHash.hash(blob)) }
      bytes += blob.count
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
