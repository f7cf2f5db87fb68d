import Support

/// PMTiles v3.
struct PMTilesCheck: ContainerCheck {
  let reader: PMTilesReader
  let bundle: VerifiedBundle
  private let survey: PMTilesSurvey
  private var header: PMTilesHeader { reader.archive.header }

  static var list: [ContainerRule<Self>] {
    [
      .init { ArchiveRule(header: $0.header, fileBytes: FileSystem.size($0.reader.path)) },
      .init { DirectoryRule(survey: $0.survey) },
      .init { ClusterRule(header: $0.header, survey: $0.survey) },
      .init { CountRule(header: $0.header, survey: $0.survey) },
      .init { PositionRule(header: $0.header) },
      .init { LayerRule(header: $0.header, metadata: $0.reader.metadata) },
      .init { BlobFormatRule($0.bundle) },
      .init { DecodeRule($0.bundle) },
      .init { TilesHashRule($0.reader) },
      .init { ZoomRule($0.bundle) },
      .init { BoundsRule($0.bundle) },
      .init { DescriptiveMetadataRule($0.bundle) },
    ]
  }

  /// - Throws: ``BundleError`` with `.malformed` for damaged directories.
  init(_ reader: PMTilesReader, decode: @escaping TileDecodeCheck) throws {
    self.reader = reader
    bundle = VerifiedBundle(reader, .pmtiles, decode: decode)
    survey = try PMTilesSurvey(reader)
  }

  /// Every content is read once, in the order of the file.
  func forEachTile(_ coverage: inout TileCoverage, _ body: (VisitedTile, Int) throws -> Void) throws {
    for (zoom, level) in survey.levels {
      guard let range = level.hull.range else { continue }
      coverage.insert(zoom: zoom, count: Int(clamping: level.tiles), range: range)
    }
    // The first content stands for the tiles that share others.
    var shared = Int(clamping: survey.counts.tiles) - survey.contents.count
    for entry in survey.contents {
      guard let tile = try? TileID(hilbertID: entry.firstID) else { continue }
      try reader.withContent(entry, of: tile) { bytes in
        try body(VisitedTile(tile: tile, data: bytes, format: bundle.format(of: bytes)), 1 + shared)
      }
      shared = 0
    }
  }
}

/// PMTiles v3, section 3: the header and what it says of the file.
private struct ArchiveRule: BundleRule {
  static let rule = VerificationRule(
    "archive", .must, "the header is of version 3, and its sections lie in the file one beside the other")
  let header: PMTilesHeader
  let fileBytes: Int

  /// Readers fetch this much first, and expect the whole root directory in it.
  private static let headBytes = 16_384
  private static let remedy = "make the archive again"

  mutating func begin(_ findings: inout Findings) throws {
    if header.root.offset < PMTilesHeader.byteCount || header.root.end > Self.headBytes {
      findings.error(
        "the root directory is not in the first \(Self.headBytes) bytes (\(header.root.offset) to \(header.root.end))",
        remedy: Self.remedy)
    }
    let sections = [
      ("root directory", header.root), ("metadata", header.metadata), ("leaf directories", header.leaves),
      ("tile data", header.tileData),
    ].filter { $0.1.count > 0 }.sorted { $0.1.offset < $1.1.offset }
    for (first, second) in zip(sections, sections.dropFirst()) where first.1.end > second.1.offset {
      findings.error("the sections \(first.0) and \(second.0) overlap", remedy: Self.remedy)
    }
    if let last = sections.last, fileBytes > max(last.1.end, Self.headBytes) {
      findings.warning("\(fileBytes - last.1.end) bytes follow the last section", remedy: Self.remedy)
    }
    if header.hasImpossibleLeaves {
      findings.warning("the header puts the leaf directories beyond any file", remedy: Self.remedy)
    }
    if header.internalCompression == .unknown {
      findings.warning("the compression of the directories is not given", remedy: "set byte 97 of the header")
    }
    if header.tileCompression == .unknown {
      findings.warning("the compression of the tiles is not given", remedy: "set byte 98 of the header")
    }
    if header.tileType == 0 || header.tileType > 6 {
      findings.warning("the type of the tiles is \(header.tileType), which names no format", remedy: "set byte 99")
    } else if header.tileType > 1, header.tileType < 6, header.tileCompression == .gzip {
      findings.warning(
        "images are packed with gzip once more, which makes them no smaller", remedy: "store them as they are")
    }
  }
}

/// PMTiles v3, section 4.
private struct DirectoryRule: BundleRule {
  static let rule = VerificationRule(
    "directories", .must, "directories are not empty, in the order of tile ids, and at most one leaf deep")
  let survey: PMTilesSurvey

  mutating func begin(_ findings: inout Findings) throws {
    for id in survey.overlaps {
      findings.error(
        "an entry has tiles of the one before it", tile: try? TileID(hilbertID: id), remedy: "make the archive again")
    }
    for id in survey.outside {
      findings.error(
        "its bytes lie outside the tile data", tile: try? TileID(hilbertID: id),
        remedy: "make or copy the archive again")
    }
    if survey.leavesOutOfOrder > 0 {
      findings.error(
        "\(survey.leavesOutOfOrder) leaf directories are not in the order of their tiles",
        remedy: "make the archive again")
    }
    if survey.depth > 2 {
      findings.warning(
        "leaf directories lie \(survey.depth - 1) deep, so that readers need more requests", remedy: "make one level")
    }
  }
}

/// PMTiles v3, section 3, "Clustered".
private struct ClusterRule: BundleRule {
  static let rule = VerificationRule(
    "clustered", .must, "the header says clustered only if contents follow each other in the order of tile ids")
  let header: PMTilesHeader
  let survey: PMTilesSurvey

  mutating func begin(_ findings: inout Findings) throws {
    guard header.isClustered, !survey.isClustered else { return }
    findings.error(
      "the header says clustered, but contents lie in another order", remedy: "set byte 96 to 0, or write it again")
  }
}

/// PMTiles v3, section 3: counts are exact, or 0 for unknown.
private struct CountRule: BundleRule {
  static let rule = VerificationRule(
    "counts", .must, "the counts of tiles, entries and contents in the header are exact or 0")
  let header: PMTilesHeader
  let survey: PMTilesSurvey

  mutating func begin(_ findings: inout Findings) throws {
    for (what, stated, real) in [
      ("tiles", header.counts.tiles, survey.counts.tiles), ("entries", header.counts.entries, survey.counts.entries),
      ("contents", header.counts.contents, survey.counts.contents),
    ] where stated != 0 && stated != real {
      findings.error(
        "the header counts \(stated) \(what), the directories have \(real)", remedy: "correct the count, or write 0")
    }
  }
}

/// PMTiles v3, section 3: zooms, bounds and center.
private struct PositionRule: BundleRule {
  static let rule = VerificationRule(
    "position", .must, "zooms ascend, bounds have an area on Earth, the center lies inside")
  let header: PMTilesHeader

  mutating func begin(_ findings: inout Findings) throws {
    let (box, center) = (header.bounds, header.center)
    if header.zooms.min > header.zooms.max || header.zooms.max > TileID.zoomMax {
      findings.error(
        "the zooms go from \(header.zooms.min) to \(header.zooms.max)", remedy: "set bytes 100 and 101 to the tiles'")
    } else if !(header.zooms.min...header.zooms.max).contains(center.zoom) {
      findings.warning("center's zoom \(center.zoom) has no tiles", remedy: "choose a zoom that has")
    }
    let text = [box.west, box.south, box.east, box.north].map(DecimalText.text).joined(separator: ",")
    guard box.west < box.east, box.south < box.north else {
      findings.error("bounds \(text) have no area", remedy: "set them to what the tiles cover")
      return
    }
    if abs(box.west) > 180 || abs(box.east) > 180 || abs(box.south) > 90 || abs(box.north) > 90 {
      findings.error("bounds \(text) reach beyond the Earth", remedy: "set them to what the tiles cover")
    }
    // The header has seven decimals.
    let slack = 1e-6
    if center.longitude < box.west - slack || center.longitude > box.east + slack
      || center.latitude < box.south - slack || center.latitude > box.north + slack
    {
      findings.warning(
        "center \(DecimalText.text(center.longitude)),\(DecimalText.text(center.latitude)) lies outside the bounds",
        remedy: "move it inside")
    }
  }
}

/// PMTiles v3, section 5: the metadata of vector tiles.
private struct LayerRule: BundleRule {
  static let rule = VerificationRule("layers", .must, "the metadata of vector tiles have vector_layers")
  let header: PMTilesHeader
  let metadata: StoredMetadata

  mutating func begin(_ findings: inout Findings) throws {
    guard header.tileType == 1, metadata.json?.contains("\"vector_layers\"") != true else { return }
    findings.error("vector tiles need vector_layers in the metadata", remedy: "add the layers and their fields")
  }
}
