import Support

/// A tile matrix set as JSON (OGC 17-083r4 "Two Dimensional Tile Matrix Set", section 7.1). The names of version 1
/// (17-083r2), which GDAL's files have, are read too.
///
/// Only sets that ``TileMatrixSet`` can hold are accepted: square pixels, one corner of all levels, levels that step by
/// whole numbers. The CRS is Web Mercator, WGS 84 degrees, or one whose relation to degrees a ``CRSLookup`` finds, or
/// the document has itself, in a member of this project, `toWGS84`.
package struct TileMatrixSetDocument: Codable {
  var id: String
  var uri: String?
  var crs: ReferenceSystem
  var orderedAxes: [String]?
  var boundingBox: Box?
  var levels: [Level]
  var relation: Relation?

  /// The set, or the built-in one that it names.
  ///
  /// 1. Find the CRS and the order of its axes.
  /// 2. Make the levels, with their top left corner.
  /// 3. Find the area: what the document says, else what the levels cover.
  /// 4. Find the relation of the CRS to degrees in this area.
  ///
  /// - Throws: ``GridError``; what the lookup throws.
  package func matrixSet(_ lookup: CRSLookup? = nil) throws -> TileMatrixSet {
    let found = try crs.projection == nil && relation == nil ? definition(lookup) : nil
    let isNorthFirst = isNorthFirst(found)
    func point(_ numbers: [Double]) throws -> SIMD2<Double> {
      guard numbers.count == 2 else { throw refused("a position is not two numbers") }
      return isNorthFirst ? SIMD2(numbers[1], numbers[0]) : SIMD2(numbers[0], numbers[1])
    }
    let metresPerUnit =
      relation?.metresPerUnit ?? found?.metresPerUnit
      ?? (crs.projection == .geographic ? TileMatrixSet.metresPerDegree : 1)
    let matrices = try matrices(metresPerUnit: metresPerUnit, point: point)
    guard let first = matrices.first, let last = matrices.last else { throw refused("it has no levels") }
    var stated: BoundingBox?
    if let boundingBox {
      let (low, high) = (try point(boundingBox.lowerLeft), try point(boundingBox.upperRight))
      stated = BoundingBox(west: low.x, south: low.y, east: high.x, north: high.y)
    }
    let (projection, box): (TileMatrixSet.Projection, BoundingBox?)
    if let known = crs.projection {
      let limits = known == .geographic ? BoundingBox.world : TileMatrixSet.webMercatorQuad.boundingBox
      (projection, box) = (known, (stated ?? first.extent).intersection(limits))
    } else if let relation {
      let fitted = try relation.crs(code: crs.authorityCode ?? crs.name, isNorthFirst: isNorthFirst)
      (projection, box) = (.fitted(fitted), (stated ?? fitted.box).intersection(fitted.box))
    } else if let found {
      // Coarse levels may reach far beyond the others.
      let covered = matrices.reduce(last.extent) { $0.intersection($1.extent) ?? $0 }
      let fitted = try fitted(found, in: stated.map { $0.intersection(first.extent) }, covered: covered)
      (projection, box) = (.fitted(fitted), fitted.box)
    } else {
      throw refused(
        "its CRS is \(crs.name), and without PROJ its relation to degrees is not known: take the definition from the"
          + " metadata of a bundle that was cut in it")
    }
    guard let box, box.width > 0, box.height > 0 else { throw refused("its tiles lie nowhere on Earth") }
    let set = try TileMatrixSet(
      identifier: id, uri: uri ?? TileMatrixSet.ownURI(id), projection: projection, boundingBox: box,
      matrices: matrices)
    guard let known = TileMatrixSet.named(set.uri) ?? TileMatrixSet.named(id) else { return set }
    guard set.agrees(with: known) else { throw refused("it has the name of a built-in grid, but is another one") }
    return known
  }

  private func refused(_ words: String) -> GridError {
    GridError(.invalidMatrixSet, "the tile matrix set \(id) cannot be used: \(words)")
  }

  private func definition(_ lookup: CRSLookup?) throws -> CRSDefinition? {
    guard let lookup else { return nil }
    guard let code = crs.authorityCode else { throw refused("its CRS is \(crs.name), which is no authority's code") }
    do {
      return try lookup(code)
    } catch let error as GridError {
      throw refused(error.message)
    }
  }

  /// Whether positions have north first: as the document orders the axes, else as the authority does.
  private func isNorthFirst(_ found: CRSDefinition?) -> Bool {
    guard let axes = orderedAxes, let first = axes.first else { return found?.isNorthFirst ?? crs.isLatitudeFirst }
    // X is north in some CRSs.
    if let found, found.axes.count == 2, axes.count == 2 {
      if axes == found.axes { return found.isNorthFirst }
      if axes == found.axes.reversed() { return !found.isNorthFirst }
    }
    return ["lat", "latitude", "y", "n", "north", "northing"].contains(first.lowercased())
  }

  private func matrices(
    metresPerUnit: Double, point: ([Double]) throws -> SIMD2<Double>
  ) throws -> [TileMatrix] {
    var matrices: [TileMatrix] = []
    let cells = levels.map { ($0, cell: $0.cellSize ?? $0.scaleDenominator * 0.00028 / metresPerUnit) }
    for (level, stated) in cells.sorted(by: { $0.cell > $1.cell }) {
      guard level.hasVariableWidths != true else { throw refused("rows of tiles differ in their number of columns") }
      var cell = stated
      if let above = matrices.last {
        // Published sizes have eight digits or so; a tile is a whole number of those of the next level.
        let step = above.tileSpanX / (cell * Double(level.tileWidth))
        let miss = abs(step - step.rounded()) / step
        if miss > 1e-11, miss < 1e-6 { cell = above.tileSpanX / step.rounded() / Double(level.tileWidth) }
      }
      var origin = try point(level.pointOfOrigin)
      if level.cornerOfOrigin == "bottomLeft" {
        // Rows count from the north here, wherever the document counts from.
        origin.y += Double(level.matrixHeight) * cell * Double(level.tileHeight)
      }
      if let first = matrices.first {
        let away = origin - first.origin
        if max(abs(away.x), abs(away.y)) < 1e-3 * cell { origin = first.origin }
      }
      matrices.append(
        TileMatrix(
          identifier: level.id, cellSize: cell, metresPerUnit: metresPerUnit, origin: origin,
          tileWidth: level.tileWidth, tileHeight: level.tileHeight, matrixWidth: level.matrixWidth,
          matrixHeight: level.matrixHeight))
    }
    return matrices
  }

  /// The relation in the area that the document states; else in what the levels cover, or where the CRS does not reach
  /// all of that, in its area of use.
  private func fitted(
    _ crs: CRSDefinition, in stated: BoundingBox??, covered: BoundingBox
  ) throws(GridError) -> FittedCRS {
    do throws(GridError) {
      if let stated {
        guard let stated, stated.width > 0, stated.height > 0 else {
          throw GridError(.invalidMatrixSet, "its boundingBox has no tiles")
        }
        return try FittedCRS(crs, box: stated)
      }
      do throws(GridError) {
        return try FittedCRS(crs, box: covered)
      } catch {
        guard let box = crs.boxOfUse?.intersection(covered), box.width > 0, box.height > 0 else { throw error }
        return try FittedCRS(crs, box: box)
      }
    } catch {
      throw refused(error.message)
    }
  }
}

extension TileMatrix {
  fileprivate var extent: BoundingBox {
    bounds(column: 0, row: 0).union(bounds(column: matrixWidth - 1, row: matrixHeight - 1))
  }
}

extension TileMatrixSet {
  /// True when all levels are those of another set but for rounding in the last of nine digits; the other may have
  /// more.
  func agrees(with other: TileMatrixSet) -> Bool {
    func isNear(_ a: Double, _ b: Double) -> Bool { abs(a - b) <= 1e-8 * max(abs(a), abs(b)) }
    return projection == other.projection && matrices.count <= other.matrices.count
      && zip(matrices, other.matrices).allSatisfy { a, b in
        isNear(a.cellSize, b.cellSize) && isNear(a.origin.x, b.origin.x) && isNear(a.origin.y, b.origin.y)
          && (a.tileWidth, a.tileHeight) == (b.tileWidth, b.tileHeight)
          && (a.matrixWidth, a.matrixHeight) == (b.matrixWidth, b.matrixHeight)
      }
  }
}
