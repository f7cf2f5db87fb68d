import Support

/// MBTiles 1.3, "Metadata": bounds are in degrees and "define an area covered by all zoom levels".
struct BoundsRule: BundleRule {
  static let rule = VerificationRule(
    "bounds", .should, "bounds are west,south,east,north in degrees, within the grid, and match the tiles of every zoom"
  )
  private let metadata: StoredMetadata
  private let matrixSet: TileMatrixSet
  private let container: BundleContainer
  private let placement: BundleError?

  init(_ bundle: VerifiedBundle) {
    placement = bundle.placement
    metadata = bundle.metadata
    matrixSet = bundle.matrixSet
    container = bundle.container
  }

  mutating func end(_ coverage: TileCoverage, _ findings: inout Findings) throws {
    if let placement {
      let remedy = placement.remedy ?? "make it again"
      // No specification describes a folder.
      if container == .folder {
        findings.warning(placement.message, remedy: remedy)
      } else {
        findings.error(placement.message, remedy: remedy)
      }
    }
    // Deeper than the zooms at which the first areas end, tiles are not everywhere.
    let whole = coverage.ofWholeZooms(metadata[VariableDepthMetadata.key])
    let covered = whole.bounds(in: matrixSet)
    let better = covered.map { box in
      let numbers = [box.west, box.south, box.east, box.north].map(DecimalText.text).joined(separator: ",")
      return "the tiles cover \(numbers)"
    }
    let remedy = better ?? "set them to what the tiles cover"
    guard let text = metadata["bounds"] else {
      findings.warning("bounds are not given", remedy: remedy)
      return
    }
    guard let bounds = metadata.bounds else {
      findings.error("bounds \"\(text)\" are not four numbers with commas", remedy: remedy)
      return
    }
    guard bounds.west < bounds.east, bounds.south < bounds.north else {
      findings.error("bounds \"\(text)\" are not in the order west,south,east,north", remedy: remedy)
      return
    }
    let limits = matrixSet.geographicBounds(ofCRSBounds: matrixSet.boundingBox)
    // Differences below a ten-billionth of a degree are rounding; PMTiles has seven decimals.
    let slack = container == .pmtiles ? 1e-7 : 1e-10
    if bounds.west < limits.west - slack || bounds.east > limits.east + slack || bounds.south < limits.south - slack
      || bounds.north > limits.north + slack
    {
      findings.error("bounds \"\(text)\" reach beyond the grid", remedy: remedy)
      return
    }
    for (_, level) in coverage.levels.sorted(by: { $0.key < $1.key }) {
      check(bounds, level, covered ?? bounds, isWhole: whole.levels[level.range.zoom] != nil, &findings, remedy)
    }
  }

  /// Compares the bounds with the rectangle of a zoom's tiles, in tiles.
  private func check(
    _ bounds: BoundingBox, _ level: TileCoverage.Level, _ covered: BoundingBox, isWhole: Bool,
    _ findings: inout Findings, _ remedy: String
  ) {
    let (zoom, range) = (level.range.zoom, level.range)
    let matrix = matrixSet[zoom]
    let excess = excess(bounds, range)
    // For each side: how far the bounds extend beyond the tiles, in tiles (below 0 they end inside), and how far they
    // lie outside what every zoom covers, in degrees (0 or more: wider bounds would leave another zoom's tiles).
    let sides = [
      ("west", excess.west, covered.west - bounds.west), ("north", excess.north, bounds.north - covered.north),
      ("east", excess.east, bounds.east - covered.east), ("south", excess.south, covered.south - bounds.south),
    ]
    // Six decimals, which many tools write, are half a pixel at zoom 18.
    var slack = max(1.0 / Double(matrix.tileWidth), 1e-6 / 360 * Double(matrix.matrixWidth))
    // The corners of turned tiles reach further than what they show.
    if case .fitted = matrixSet.projection { slack += 1 }
    for (side, tiles, room) in sides where isWhole || tiles < 0 {
      let distance = Self.rounded(abs(tiles))
      // At the deepest zooms the slack exceeds a tile.
      if tiles >= max(1 - slack, 2 * slack), container == .mbtiles {
        findings.error(
          "at zoom \(zoom) the bounds reach \(distance) tiles further \(side) than the tiles", remedy: remedy)
      } else if tiles > slack {
        findings.warning(
          "at zoom \(zoom) the bounds reach \(distance) of a tile further \(side) than the tiles", remedy: remedy)
      } else if tiles <= -1 - slack {
        let message = "at zoom \(zoom) there are tiles outside the bounds, \(distance) tiles further \(side)"
        if room >= -1e-6 {
          findings.warning(
            "\(message); other zooms have none there", remedy: "nothing, if the overviews are meant to show more")
        } else if container != .mbtiles, metadata[MetadataKey.tilesHash] == nil,
          tiles > -Double(max(range.columns.count, range.rows.count))
        {
          // Only MBTiles says that bounds are the maximum extent; other makers know other rules.
          findings.warning(message, remedy: remedy)
        } else {
          findings.error(message, remedy: remedy)
        }
      }
    }
  }

  /// How far bounds extend beyond a rectangle of tiles on each side, in tiles.
  private func excess(_ bounds: BoundingBox, _ range: TileRange) -> BoundingBox {
    if case .fitted = matrixSet.projection {
      let box = matrixSet.geographicBounds(of: range)
      let (width, height) = (box.width / Double(range.columns.count), box.height / Double(range.rows.count))
      return BoundingBox(
        west: (box.west - bounds.west) / width, south: (box.south - bounds.south) / height,
        east: (bounds.east - box.east) / width, north: (bounds.north - box.north) / height)
    }
    let matrix = matrixSet[range.zoom]
    let box = matrixSet.crsBounds(ofGeographicBounds: bounds)
    let first = matrix.tileCoordinates(of: SIMD2(box.west, box.north))
    let last = matrix.tileCoordinates(of: SIMD2(box.east, box.south))
    return BoundingBox(
      west: Double(range.columns.lowerBound) - first.x, south: last.y - Double(range.rows.upperBound + 1),
      east: last.x - Double(range.columns.upperBound + 1), north: Double(range.rows.lowerBound) - first.y)
  }

  private static func rounded(_ value: Double) -> String { DecimalText.text((value * 100).rounded() / 100) }
}

/// MBTiles 1.3, "Metadata": the position and zoom that a viewer opens with.
struct CenterRule: BundleRule {
  static let rule = VerificationRule("center", .should, "center is longitude,latitude,zoom inside bounds and zooms")
  private let metadata: StoredMetadata

  init(_ bundle: VerifiedBundle) { metadata = bundle.metadata }

  mutating func end(_ coverage: TileCoverage, _ findings: inout Findings) throws {
    guard let text = metadata["center"] else {
      findings.warning("center is not given", remedy: "add the middle of the bounds and a zoom that shows them")
      return
    }
    guard let center = metadata.center else {
      findings.error("center \"\(text)\" is not three numbers with commas", remedy: "write longitude,latitude,zoom")
      return
    }
    guard text.utf8.count(where: { $0 == UInt8(ascii: ",") }) == 2 else {
      findings.error("center \"\(text)\" has no zoom", remedy: "write longitude,latitude,zoom")
      return
    }
    if let bounds = metadata.bounds {
      let slack = 1e-6
      let isInside =
        center.longitude >= bounds.west - slack && center.longitude <= bounds.east + slack
        && center.latitude >= bounds.south - slack && center.latitude <= bounds.north + slack
      if !isInside { findings.error("center \"\(text)\" lies outside the bounds", remedy: "move it inside") }
    }
    if let zooms = coverage.zooms, !zooms.contains(center.zoom) {
      findings.warning(
        "center's zoom \(center.zoom) has no tiles", remedy: "choose one of \(zooms.lowerBound) to \(zooms.upperBound)")
    }
  }
}

/// MBTiles 1.3, "Metadata": minzoom and maxzoom.
struct ZoomRule: BundleRule {
  static let rule = VerificationRule(
    "zooms", .should, "minzoom and maxzoom are the smallest and largest zoom with tiles, and no zoom between is missing"
  )
  private let metadata: StoredMetadata

  init(_ bundle: VerifiedBundle) { metadata = bundle.metadata }

  mutating func end(_ coverage: TileCoverage, _ findings: inout Findings) throws {
    guard let zooms = coverage.zooms else {
      findings.error("the bundle has no tiles", remedy: "make it again, and see what the cut says")
      return
    }
    for (name, stated, real) in [
      ("minzoom", metadata.minZoom, zooms.lowerBound), ("maxzoom", metadata.maxZoom, zooms.upperBound),
    ] {
      let remedy = "set \(name) to \(real)"
      if metadata[name] == nil {
        findings.warning("\(name) is not given", remedy: remedy)
      } else if stated != real {
        findings.error("\(name) is \(metadata[name] ?? ""), but the tiles' is \(real)", remedy: remedy)
      }
    }
    // Viewers ask for every zoom between the two, and show nothing there.
    for zoom in zooms where coverage.levels[zoom] == nil {
      findings.error("zoom \(zoom) has no tiles, although zooms above and below it have", remedy: "make its tiles")
    }
  }
}
