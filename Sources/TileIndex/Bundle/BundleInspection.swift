import Support

/// The actual contents of a bundle, independent of its metadata.
public struct BundleInspection: Hashable, Sendable, Codable {
  /// The tiles of one zoom.
  package struct Level: Hashable, Sendable, Codable {
    /// The zoom.
    package let zoom: Int
    /// The number of stored tiles.
    package let tiles: Int
    /// Bytes as readers count them: a shared blob counts for every tile.
    package let bytes: Int
    /// The westernmost column with a tile.
    package let minColumn: Int
    /// The easternmost column with a tile.
    package let maxColumn: Int
    /// From the north (XYZ).
    package let minRow: Int
    /// The southernmost row with a tile.
    package let maxRow: Int
  }

  /// The number of blobs of one format and size.
  package struct Kind: Hashable, Sendable, Codable {
    /// `png`, `jpg`, `webp` or `pbf`, detected from the bytes; nil for other bytes.
    package let format: TileFormat?
    /// Pixels; nil when the header does not state them.
    package let width: Int?
    /// Pixels; nil for vector tiles.
    package let height: Int?
    /// Stored blobs, not tiles.
    package let blobs: Int
  }

  /// The directories of a PMTiles archive.
  package struct Archive: Hashable, Sendable, Codable {
    /// Entries of directories; neighbours with equal bytes share one.
    package let entries: Int
    /// Zero when all entries are in the root directory.
    package let leafDirectories: Int
    /// True when the header says that tiles lie in the order of their ids.
    package let isClustered: Bool
  }

  /// The file or folder, as the caller named it.
  package let path: String
  /// The container of the file.
  package let container: BundleContainer
  /// Size of the file, or of all tiles in a folder.
  package let fileBytes: Int
  /// Bytes of an SQLite page; nil for other containers than MBTiles and GeoPackage.
  package internal(set) var pageBytes: Int?
  /// Nil for other containers than MBTiles.
  package internal(set) var layout: BundleLayout?
  /// 1297105496 (`MPBX`) in a marked MBTiles file; nil for other containers.
  package internal(set) var applicationID: Int?
  /// Nil for other containers than PMTiles.
  package internal(set) var archive: Archive?
  /// `xyz` or `tms`: from where the rows in a folder's file names count; nil for other containers.
  package internal(set) var scheme: String?
  /// The tables of tiles in a GeoPackage, the inspected one first; nil for other containers.
  package internal(set) var tables: [String]?
  /// What is read otherwise than the container says, because the stated bounds fit only so; nil for most bundles.
  package let placement: String?
  /// Name of the grid.
  package let tileMatrixSet: String
  /// CRS of the grid, as authority and code.
  package let crs: String
  /// The metadata in the order of the table.
  package let metadata: [StoredMetadata.Entry]
  /// All tiles, as readers count them.
  package let tiles: Int
  /// Distinct blobs among them.
  package let distinctTiles: Int
  /// Bytes of the stored blobs.
  package let blobBytes: Int
  /// The stored zooms, the coarsest first.
  package let levels: [Level]
  /// The formats and sizes found, the most frequent first.
  package let kinds: [Kind]

  /// Reads through a bundle.
  ///
  /// - Complexity: O(bytes): every stored blob is read once. For a flat table and a folder 8 bytes of memory are taken
  ///   for each, for a GeoPackage too, for an archive 24 bytes for each entry of its directories.
  /// - Parameter progress: called every 256 tiles with the number of tiles read so far; of tiles that share a stored
  ///   blob one is read, except in a GeoPackage and in a tileset of shards.
  /// - Throws: ``BundleError``.
  package init(_ bundle: any BundleReader, progress: @escaping (Int) -> Void = { _ in }) throws {
    self = try bundle.inspection(progress)
  }

  /// What was found in a bundle.
  init(
    _ bundle: any BundleReader, _ container: BundleContainer, fileBytes: Int, tiles: Int, distinctTiles: Int,
    levels: [Level], _ blobs: Tally
  ) {
    (path, self.container, self.fileBytes) = (bundle.path, container, fileBytes)
    placement = bundle.placementWarning?.message
    (tileMatrixSet, crs) = (bundle.matrixSet.identifier, bundle.matrixSet.crs)
    metadata = bundle.metadata.entries
    (self.tiles, self.distinctTiles, self.levels) = (tiles, distinctTiles, levels)
    (blobBytes, kinds) = (blobs.bytes, blobs.kinds)
  }

  /// Reads each tile.
  ///
  /// - Parameter fileBytes: nil for a folder, whose bytes are those of its tiles.
  init(
    walking bundle: any BundleReader, _ container: BundleContainer, fileBytes: Int?,
    _ progress: @escaping (Int) -> Void
  ) throws {
    var coverage = TileCoverage()
    var bytes: [Int: Int] = [:]
    var blobs = Tally(countsDistinct: true, progress)
    try bundle.forEachTile { tile, data in
      coverage.insert(tile)
      bytes[tile.zoom, default: 0] += data.count
      blobs.insert(data)
    }
    let levels = coverage.levels.sorted { $0.key < $1.key }.map { zoom, level in
      Level(level.range, tiles: level.count, bytes: bytes[zoom] ?? 0)
    }
    self.init(
      bundle, container, fileBytes: fileBytes ?? blobs.bytes, tiles: coverage.count, distinctTiles: blobs.distinct,
      levels: levels, blobs)
  }

  /// Counts blobs by format and size.
  struct Tally {
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

    init(countsDistinct: Bool, _ progress: @escaping (Int) -> Void) {
      (self.countsDistinct, count) = (countsDistinct, TileCount(progress))
    }

    mutating func insert(_ blob: UnsafeRawBufferPointer) {
      let header = ImageHeader(blob)
      counts[Key(format: TileFormat(tile: blob), width: header?.width, height: header?.height), default: 0] += 1
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
  init(_ range: TileRange, tiles: Int, bytes: Int) {
    self.init(
      zoom: range.zoom, tiles: tiles, bytes: bytes, minColumn: range.columns.lowerBound,
      maxColumn: range.columns.upperBound, minRow: range.rows.lowerBound, maxRow: range.rows.upperBound)
  }
}
