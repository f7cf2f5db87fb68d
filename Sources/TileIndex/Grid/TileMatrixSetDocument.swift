import Support

/// A tile matrix set as JSON (OGC 17-083r4 "Two Dimensional Tile Matrix Set", section 7.1). The names of version 1
/// (17-083r2), which GDAL's files have, are read too.
///
/// Only sets that ``TileMatrixSet`` can hold are accepted: Web Mercator or WGS 84 degrees, square pixels, one top left
/// corner, levels that step by whole numbers.
package struct TileMatrixSetDocument: Codable {
  /// A file is small; a larger one is something else.
  private static let bytesMax = 1 << 20

  private var id: String
  private var uri: String?
  private var crs: ReferenceSystem
  private var orderedAxes: [String]?
  private var boundingBox: Box?
  private var levels: [Level]

  /// Reads a set from a file.
  ///
  /// - Throws: ``BundleError``: `.notFound`, `.malformed` with what is wrong.
  package static func matrixSet(inFile path: String) throws -> TileMatrixSet {
    let remedy = "give a file in the JSON form of OGC's Two Dimensional Tile Matrix Set"
    do {
      let value = try JSONValue(parsing: FileSystem.bytes(of: path, countMax: bytesMax))
      return value["tileEdges"] == nil
        ? try value.decoded(as: TileMatrixSetDocument.self).matrixSet() : try TileMatrixSet(definition: value)
    } catch let error as FileSystem.SystemError {
      throw BundleError.unopened(error, path: path)
    } catch let error as GridError {
      throw BundleError(
        .malformed, path: path, error.message,
        remedy: "use a grid in Web Mercator or WGS 84 degrees whose levels step by whole numbers")
    } catch let error as DecodingError {
      throw BundleError(
        .malformed, path: path, "is no tile matrix set: \(error.place) \(error.complaint)", remedy: remedy)
    } catch {
      throw BundleError(.malformed, path: path, "is no tile matrix set: \(error)", remedy: remedy)
    }
  }

  /// The set, or the built-in one that it names.
  ///
  /// - Throws: ``GridError``.
  func matrixSet() throws -> TileMatrixSet {
    func refused(_ words: String) -> GridError {
      GridError(.invalidMatrixSet, "the tile matrix set \(id) cannot be used: \(words)")
    }
    guard let projection = crs.projection else {
      throw refused("its CRS is \(crs.name), and grids here are in EPSG:3857 or WGS 84 degrees")
    }
    let isNorthFirst = orderedAxes.map { Self.isNorth($0.first ?? "") } ?? crs.isLatitudeFirst
    func point(_ numbers: [Double]) throws -> SIMD2<Double> {
      guard numbers.count == 2 else { throw refused("a position is not two numbers") }
      return isNorthFirst ? SIMD2(numbers[1], numbers[0]) : SIMD2(numbers[0], numbers[1])
    }
    let metresPerUnit = projection == .geographic ? TileMatrixSet.metresPerDegree : 1
    let matrices = try levels.map { level in
      guard level.cornerOfOrigin != "bottomLeft" else { throw refused("rows count from the south") }
      guard level.hasVariableWidths != true else { throw refused("rows of tiles differ in their number of columns") }
      return TileMatrix(
        identifier: level.id, cellSize: level.cellSize ?? level.scaleDenominator * 0.00028 / metresPerUnit,
        metresPerUnit: metresPerUnit, origin: try point(level.pointOfOrigin), tileWidth: level.tileWidth,
        tileHeight: level.tileHeight, matrixWidth: level.matrixWidth, matrixHeight: level.matrixHeight)
    }.sorted { $0.cellSize > $1.cellSize }
    guard let first = matrices.first else { throw refused("it has no levels") }
    let limits =
      projection == .geographic ? BoundingBox.world : TileMatrixSet.webMercatorQuad.boundingBox
    let whole = BoundingBox(
      west: first.origin.x, south: first.origin.y - Double(first.matrixHeight) * first.tileSpanY,
      east: first.origin.x + Double(first.matrixWidth) * first.tileSpanX, north: first.origin.y)
    var box = whole
    if let boundingBox {
      let (low, high) = (try point(boundingBox.lowerLeft), try point(boundingBox.upperRight))
      box = BoundingBox(west: low.x, south: low.y, east: high.x, north: high.y)
    }
    guard let box = box.intersection(limits), box.width > 0, box.height > 0 else {
      throw refused("its tiles lie nowhere on Earth")
    }
    let set = try TileMatrixSet(
      identifier: id, uri: uri ?? TileMatrixSet.ownURI(id), projection: projection, boundingBox: box,
      matrices: matrices)
    guard let known = TileMatrixSet.named(set.uri) ?? TileMatrixSet.named(id) else { return set }
    guard set.agrees(with: known) else { throw refused("it has the name of a built-in grid, but is another one") }
    return known
  }

  private static func isNorth(_ axis: String) -> Bool {
    ["lat", "latitude", "y", "n", "north", "northing"].contains(axis.lowercased())
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

// MARK: - Coding
extension TileMatrixSetDocument {
  private struct Level: Codable {
    var id: String
    var scaleDenominator: Double
    var cellSize: Double?
    var cornerOfOrigin: String?
    var pointOfOrigin: [Double]
    var tileWidth, tileHeight, matrixWidth, matrixHeight: Int
    var hasVariableWidths: Bool?
  }

  private struct Box: Codable {
    var lowerLeft, upperRight: [Double]
  }

  /// A URI, or an object with one or with PROJJSON.
  private struct ReferenceSystem: Codable {
    private struct Identified: Codable {
      struct Definition: Codable {
        struct Identifier: Codable {
          enum Code: Codable {
            case number(Int)
            case text(String)
            init(from decoder: any Decoder) throws {
              let value = try decoder.singleValueContainer()
              if let number = try? value.decode(Int.self) {
                self = .number(number)
              } else {
                self = .text(try value.decode(String.self))
              }
            }
            var text: String {
              switch self {
              case .number(let number): String(number)
              case .text(let text): text
              }
            }
          }
          var authority: String
          var code: Code
        }
        var id: Identifier?
      }
      var uri: String?
      var wkt: Definition?
    }

    /// A URI, a URN, or authority and code.
    let name: String

    init(_ name: String) { self.name = name }

    init(from decoder: any Decoder) throws {
      if let text = try? decoder.singleValueContainer().decode(String.self) {
        name = text
        return
      }
      let object = try Identified(from: decoder)
      name = object.uri ?? object.wkt?.id.map { "\($0.authority):\($0.code.text)" } ?? "not identified"
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(name)
    }

    private var code: String { name.split { $0 == "/" || $0 == ":" }.last.map { $0.uppercased() } ?? "" }

    var projection: TileMatrixSet.Projection? {
      switch code {
      case "3857", "900913": .webMercator
      case "4326", "CRS84": .geographic
      default: nil
      }
    }

    /// The order of EPSG's axes.
    var isLatitudeFirst: Bool { code == "4326" }
  }

  private enum Key: String, CodingKey {
    case id, uri, crs, orderedAxes, boundingBox, tileMatrices
    case identifier, supportedCRS, tileMatrix
  }

  private enum LevelKey: String, CodingKey {
    case id, scaleDenominator, cellSize, cornerOfOrigin, pointOfOrigin, tileWidth, tileHeight, matrixWidth, matrixHeight
    case variableMatrixWidths
    case identifier, topLeftCorner, variableMatrixWidth
  }

  private enum BoxKey: String, CodingKey {
    case lowerLeft, upperRight
    case lowerCorner, upperCorner
  }

  /// Nil for an object without levels, which is no such document.
  init?(ifIn decoder: any Decoder) throws {
    guard let container = try? decoder.container(keyedBy: Key.self),
      container.contains(.tileMatrices) || container.contains(.tileMatrix)
    else { return nil }
    try self.init(from: decoder)
  }

  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: Key.self)
    let isFirstVersion = !values.contains(.tileMatrices)
    id = try values.decodeIfPresent(String.self, forKey: .id) ?? values.decode(String.self, forKey: .identifier)
    uri = try values.decodeIfPresent(String.self, forKey: .uri)
    crs = try values.decode(ReferenceSystem.self, forKey: isFirstVersion ? .supportedCRS : .crs)
    orderedAxes = try values.decodeIfPresent([String].self, forKey: .orderedAxes)
    if values.contains(.boundingBox) {
      let box = try values.nestedContainer(keyedBy: BoxKey.self, forKey: .boundingBox)
      boundingBox = Box(
        lowerLeft: try box.decode([Double].self, forKey: box.contains(.lowerLeft) ? .lowerLeft : .lowerCorner),
        upperRight: try box.decode([Double].self, forKey: box.contains(.upperRight) ? .upperRight : .upperCorner))
    }
    var list = try values.nestedUnkeyedContainer(forKey: isFirstVersion ? .tileMatrix : .tileMatrices)
    levels = []
    while !list.isAtEnd {
      let level = try list.nestedContainer(keyedBy: LevelKey.self)
      func whole(_ key: LevelKey) throws -> Int { try level.decode(Int.self, forKey: key) }
      levels.append(
        Level(
          id: try level.decode(String.self, forKey: level.contains(.id) ? .id : .identifier),
          scaleDenominator: try level.decode(Double.self, forKey: .scaleDenominator),
          cellSize: try level.decodeIfPresent(Double.self, forKey: .cellSize),
          cornerOfOrigin: try level.decodeIfPresent(String.self, forKey: .cornerOfOrigin),
          pointOfOrigin: try level.decode(
            [Double].self, forKey: level.contains(.pointOfOrigin) ? .pointOfOrigin : .topLeftCorner),
          tileWidth: try whole(.tileWidth), tileHeight: try whole(.tileHeight), matrixWidth: try whole(.matrixWidth),
          matrixHeight: try whole(.matrixHeight),
          hasVariableWidths: level.contains(.variableMatrixWidths) || level.contains(.variableMatrixWidth)))
    }
  }

  /// The document of a set; cell sizes have all their digits.
  init(_ set: TileMatrixSet) {
    let box = set.boundingBox
    id = set.identifier
    uri = set.uri == TileMatrixSet.ownURI(set.identifier) ? nil : set.uri
    crs = ReferenceSystem(
      set.projection == .geographic
        ? "http://www.opengis.net/def/crs/OGC/1.3/CRS84" : "http://www.opengis.net/def/crs/EPSG/0/3857")
    boundingBox = Box(lowerLeft: [box.west, box.south], upperRight: [box.east, box.north])
    levels = set.matrices.map { matrix in
      Level(
        id: matrix.identifier, scaleDenominator: matrix.scaleDenominator, cellSize: matrix.cellSize,
        pointOfOrigin: [matrix.origin.x, matrix.origin.y], tileWidth: matrix.tileWidth, tileHeight: matrix.tileHeight,
        matrixWidth: matrix.matrixWidth, matrixHeight: matrix.matrixHeight)
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(id, forKey: .id)
    try values.encodeIfPresent(uri, forKey: .uri)
    try values.encode(crs, forKey: .crs)
    try values.encodeIfPresent(boundingBox, forKey: .boundingBox)
    try values.encode(levels, forKey: .tileMatrices)
  }
}
