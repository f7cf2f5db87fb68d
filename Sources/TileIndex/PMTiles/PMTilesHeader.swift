import Support

/// The first 127 bytes of a PMTiles archive (PMTiles v3, section 3).
///
/// ```
///   0 "PMTiles"  7 version
///   8 root directory  24 metadata  40 leaf directories  56 tile data   (each offset, length)
///  72 addressed tiles  80 entries  88 contents
///  96 clustered  97 internal compression  98 tile compression  99 tile type
/// 100 min zoom  101 max zoom   102 west south east north  118 center zoom  119 center longitude, latitude
/// ```
struct PMTilesHeader {
  static let byteCount = 127

  /// A byte range inside the file.
  struct Section: Hashable {
    let offset: Int
    let count: Int
    var end: Int { offset + count }
  }

  struct Counts: Hashable {
    var tiles: UInt64 = 0
    var entries: UInt64 = 0
    var contents: UInt64 = 0
  }

  enum Compression: UInt8 {
    case unknown, none, gzip, brotli, zstd
  }

  let root: Section
  let metadata: Section
  let leaves: Section
  /// The header puts the leaf directories beyond any file, as tilemaker's does up to 3.0 where there are none: a length
  /// below zero. Readers notice nothing unless the root directory refers to one.
  let hasImpossibleLeaves: Bool
  let tileData: Section
  /// Tiles, directory entries for them, and different contents; 0 when the producer did not count them.
  let counts: Counts
  /// True when the contents lie in the order of the tile ids.
  let isClustered: Bool
  let internalCompression: Compression
  let tileCompression: Compression
  /// 1 MVT, 2 PNG, 3 JPEG, 4 WebP, 5 AVIF, 6 MLT; other numbers are unassigned.
  let tileType: UInt8
  let zooms: (min: Int, max: Int)
  /// Degrees; all zero when the producer did not know them.
  let bounds: BoundingBox
  let center: BundleMetadata.Center

  /// - Parameters:
  ///   - bytes: the first bytes of the file, up to the length of the header.
  ///   - fileBytes: the size of the file.
  /// - Throws: ``BundleError`` with `.malformed` when it is not an archive, of another version, truncated, or
  ///   compressed in an unsupported way.
  init(_ bytes: UnsafeRawBufferPointer, fileBytes: Int, path: String) throws {
    guard bytes.starts(with: BundleMagic.pmtiles) else {
      let isOlder = bytes.starts(with: "PM".utf8) && bytes.count > 2 && (bytes[2] == 1 || bytes[2] == 2)
      throw BundleError(
        .malformed, path: path,
        isOlder ? "is a PMTiles archive of version \(bytes[2]); version 3 is read here" : "is not a PMTiles archive",
        remedy: isOlder ? Self.convertRemedy : "check that it is the right file")
    }
    guard bytes.count >= Self.byteCount else {
      throw BundleError(
        .malformed, path: path, "is cut off: the header has \(Self.byteCount) bytes, \(bytes.count) are there",
        remedy: "copy it again")
    }
    guard bytes[7] == 3 else {
      throw BundleError(
        .malformed, path: path, "is a PMTiles archive of version \(bytes[7]); version 3 is read here",
        remedy: Self.convertRemedy)
    }
    /// - Returns: the first byte, and one past the last one; nil for an end that no file reaches.
    func limits(at offset: Int) -> (first: UInt64, end: UInt64?) {
      let first = bytes.littleEndian(UInt64.self, at: offset)
      let (end, overflow) = first.addingReportingOverflow(bytes.littleEndian(UInt64.self, at: offset + 8))
      return (first, overflow || end > UInt64(Int.max) ? nil : end)
    }
    func section(_ name: String, at offset: Int) throws -> Section {
      let (first, limit) = limits(at: offset)
      guard let end = limit else {
        throw BundleError(
          .malformed, path: path, "is damaged: its header puts the \(name) beyond any file", remedy: "copy it again")
      }
      guard end <= UInt64(fileBytes) || first == end else {
        throw BundleError(
          .malformed, path: path, "is cut off: \(fileBytes) of at least \(end) bytes are there (\(name))",
          remedy: "copy it again")
      }
      return Section(offset: Int(first), count: Int(end - first))
    }
    root = try section("root directory", at: 8)
    metadata = try section("metadata", at: 24)
    let stated = limits(at: 40)
    hasImpossibleLeaves = stated.end == nil
    if hasImpossibleLeaves {
      let offset = UInt64(Self.byteCount)...UInt64(fileBytes) ~= stated.first ? Int(stated.first) : fileBytes
      leaves = Section(offset: offset, count: fileBytes - offset)
    } else {
      leaves = try section("leaf directories", at: 40)
    }
    tileData = try section("tile data", at: 56)
    counts = Counts(
      tiles: bytes.littleEndian(UInt64.self, at: 72), entries: bytes.littleEndian(UInt64.self, at: 80),
      contents: bytes.littleEndian(UInt64.self, at: 88))
    isClustered = bytes[96] == 1
    internalCompression = try Self.compression(bytes[97], of: "directories", path: path)
    tileCompression = try Self.compression(bytes[98], of: "tiles", path: path)
    tileType = bytes[99]
    zooms = (Int(bytes[100]), Int(bytes[101]))
    func degrees(_ offset: Int) -> Double { Double(bytes.littleEndian(Int32.self, at: offset)) / 1e7 }
    bounds = BoundingBox(west: degrees(102), south: degrees(106), east: degrees(110), north: degrees(114))
    center = BundleMetadata.Center(longitude: degrees(119), latitude: degrees(123), zoom: Int(bytes[118]))
  }

  private static let convertRemedy = "convert it with: pmtiles convert OLD.pmtiles NEW.pmtiles"

  private static func compression(_ byte: UInt8, of what: String, path: String) throws -> Compression {
    guard let compression = Compression(rawValue: byte) else {
      throw BundleError(
        .malformed, path: path, "its \(what) are packed in an unknown way (\(byte))", remedy: "make it again with gzip")
    }
    guard compression != .brotli, compression != .zstd else {
      throw BundleError(
        .malformed, path: path, "its \(what) are packed with \(compression), which is not read here",
        remedy: "make it again with gzip")
    }
    return compression
  }
}

extension PMTilesHeader {
  /// The header of a new, clustered archive with packed directories.
  ///
  /// - Parameters:
  ///   - coverage: of the tiles, from which the zooms follow.
  ///   - metadata: bounds and center; where they are missing or invalid, those of the tiles are taken.
  init(
    root: Section, metadata section: Section, leaves: Section, tileData: Section, counts: Counts, format: TileFormat,
    coverage: TileCoverage, metadata: StoredMetadata
  ) {
    (self.root, self.metadata, self.leaves, self.tileData) = (root, section, leaves, tileData)
    hasImpossibleLeaves = false
    self.counts = counts
    isClustered = true
    internalCompression = .gzip
    tileCompression = format == .pbf ? .gzip : .none
    tileType =
      switch format {
      case .pbf: 1
      case .png: 2
      case .jpg: 3
      case .webp: 4
      }
    let tiles = coverage.zooms ?? 0...0
    zooms = (tiles.lowerBound, tiles.upperBound)
    let whole = coverage.ofWholeZooms(metadata[VariableDepthMetadata.key])
    let covered = whole.bounds(in: .webMercatorQuad) ?? .world
    let stated = metadata.bounds.flatMap { box in
      box.west < box.east && box.south < box.north ? box.intersection(.world) : nil
    }
    let box = stated ?? covered
    bounds = box
    center =
      metadata.center.map { center in
        BundleMetadata.Center(
          longitude: min(max(center.longitude, box.west), box.east),
          latitude: min(max(center.latitude, box.south), box.north),
          zoom: min(max(center.zoom, tiles.lowerBound), tiles.upperBound))
      } ?? BundleMetadata.Center(longitude: box.centre.x, latitude: box.centre.y, zoom: tiles.lowerBound)
  }

  /// The header of the same tiles with other metadata.
  ///
  /// - Parameter metadata: bounds and center are taken from here if they are valid.
  init(
    _ header: PMTilesHeader, root: Section, metadata section: Section, leaves: Section, tileData: Section,
    stating metadata: StoredMetadata
  ) {
    (self.root, self.metadata, self.leaves, self.tileData) = (root, section, leaves, tileData)
    hasImpossibleLeaves = false
    counts = header.counts
    isClustered = header.isClustered
    internalCompression = header.internalCompression
    tileCompression = header.tileCompression
    tileType = header.tileType
    zooms = header.zooms
    let stated = metadata.bounds.flatMap { $0.west < $0.east && $0.south < $0.north ? $0.intersection(.world) : nil }
    bounds = stated ?? header.bounds
    center = metadata.center ?? header.center
  }

  /// The 127 bytes of the file.
  var bytes: [UInt8] {
    var bytes = BundleMagic.pmtiles + [3]
    for section in [root, metadata, leaves, tileData] {
      bytes.append(littleEndian: UInt64(section.offset))
      bytes.append(littleEndian: UInt64(section.count))
    }
    for count in [counts.tiles, counts.entries, counts.contents] { bytes.append(littleEndian: count) }
    bytes += [
      isClustered ? 1 : 0, internalCompression.rawValue, tileCompression.rawValue, tileType, UInt8(zooms.min),
      UInt8(zooms.max),
    ]
    for degrees in [bounds.west, bounds.south, bounds.east, bounds.north] {
      bytes.append(littleEndian: Self.number(degrees))
    }
    bytes.append(UInt8(center.zoom))
    bytes.append(littleEndian: Self.number(center.longitude))
    bytes.append(littleEndian: Self.number(center.latitude))
    return bytes
  }

  /// Ten-millionths of a degree.
  static func number(_ degrees: Double) -> Int32 { Int32((degrees * 1e7).rounded()) }
}
