/// The members of the JSON form, in both of its versions.
extension TileMatrixSetDocument {
  struct Level: Codable {
    var id: String
    var scaleDenominator: Double
    var cellSize: Double?
    var cornerOfOrigin: String?
    var pointOfOrigin: [Double]
    var tileWidth, tileHeight, matrixWidth, matrixHeight: Int
    var hasVariableWidths: Bool?
  }

  struct Box: Codable {
    var lowerLeft, upperRight: [Double]
  }

  /// A URI, or an object with one or with PROJJSON.
  struct ReferenceSystem: Codable {
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

    /// Authority and code, such as `EPSG:2056`, of a URI, a URN or both parts; nil for anything else.
    var authorityCode: String? {
      let parts = name.split { $0 == "/" || $0 == ":" }.map(String.init)
      guard let last = parts.last, parts.count > 1 else { return nil }
      let place = parts.firstIndex { $0.lowercased() == "crs" }
      return "\(parts[place.map { $0 + 1 } ?? 0]):\(last)"
    }

    /// The order of EPSG's axes.
    var isLatitudeFirst: Bool { code == "4326" }
  }

  private enum Key: String, CodingKey {
    case id, uri, crs, orderedAxes, boundingBox, tileMatrices
    case identifier, supportedCRS, tileMatrix
    case toWGS84
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
    relation = try values.decodeIfPresent(Relation.self, forKey: .toWGS84)
  }

  /// The document of a set; cell sizes have all their digits.
  init(_ set: TileMatrixSet) {
    let box = set.boundingBox
    id = set.identifier
    uri = set.uri == TileMatrixSet.ownURI(set.identifier) ? nil : set.uri
    var isNorthFirst = false
    switch set.projection {
    case .webMercator: crs = ReferenceSystem("http://www.opengis.net/def/crs/EPSG/0/3857")
    case .geographic: crs = ReferenceSystem("http://www.opengis.net/def/crs/OGC/1.3/CRS84")
    case .fitted(let fitted):
      crs = ReferenceSystem(
        "http://www.opengis.net/def/crs/" + fitted.code.split(separator: ":").joined(separator: "/0/"))
      isNorthFirst = fitted.isNorthFirst
      orderedAxes = isNorthFirst ? ["N", "E"] : ["E", "N"]
      relation = Relation(fitted)
    }
    func position(_ x: Double, _ y: Double) -> [Double] { isNorthFirst ? [y, x] : [x, y] }
    boundingBox = Box(lowerLeft: position(box.west, box.south), upperRight: position(box.east, box.north))
    levels = set.matrices.map { matrix in
      Level(
        id: matrix.identifier, scaleDenominator: matrix.scaleDenominator, cellSize: matrix.cellSize,
        pointOfOrigin: position(matrix.origin.x, matrix.origin.y), tileWidth: matrix.tileWidth,
        tileHeight: matrix.tileHeight, matrixWidth: matrix.matrixWidth, matrixHeight: matrix.matrixHeight)
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: Key.self)
    try values.encode(id, forKey: .id)
    try values.encodeIfPresent(uri, forKey: .uri)
    try values.encode(crs, forKey: .crs)
    try values.encodeIfPresent(orderedAxes, forKey: .orderedAxes)
    try values.encodeIfPresent(boundingBox, forKey: .boundingBox)
    try values.encode(levels, forKey: .tileMatrices)
    try values.encodeIfPresent(relation, forKey: .toWGS84)
  }

  /// A member of this project: how the CRS is related to degrees (``FittedCRS``).
  ///
  /// With u and v from -1 to 1 across and up the box, and the Chebyshev polynomials T, the sums of `x[j][i]` (`y`, `z`)
  /// times T_i(u) times T_j(v) are a point of the unit sphere: its longitude is atan2(y, x), its latitude
  /// atan2(z, √(x² + y²)).
  struct Relation: Codable {
    let name: String
    let wkt: String?
    let metresPerUnit: Double
    /// CRS units; x first.
    let box: BoundingBox
    let x, y, z: [[Double]]

    init(_ crs: FittedCRS) {
      (name, wkt, metresPerUnit, box) = (crs.name, crs.wkt, crs.metresPerUnit, crs.box)
      let rows = crs.surface.rows
      (x, y, z) = (rows.map { $0.map(\.x) }, rows.map { $0.map(\.y) }, rows.map { $0.map(\.z) })
    }

    /// - Throws: ``GridError``.
    func crs(code: String, isNorthFirst: Bool) throws -> FittedCRS {
      let counts = x.map(\.count)
      guard counts == y.map(\.count), counts == z.map(\.count), counts.reduce(0, +) <= 1 << 14 else {
        throw GridError(.invalidMatrixSet, "the coefficients of toWGS84 are not as many for x, y and z")
      }
      let rows = x.indices.map { j in x[j].indices.map { SIMD3(x[j][$0], y[j][$0], z[j][$0]) } }
      return try FittedCRS(
        code: code, name: name, wkt: wkt, metresPerUnit: metresPerUnit, isNorthFirst: isNorthFirst, box: box,
        surface: ChebyshevSurface(rows: rows))
    }
  }
}
