package import Support

/// Grids in documents: well-known ones by identifier, sets in degrees by the edges of their tiles, others as OGC writes
/// them (``TileMatrixSetDocument``).
extension TileMatrixSet {
  /// The URI of a set that is not registered.
  package static func ownURI(_ identifier: String) -> String { "urn:tile-matrix-set:\(identifier)" }

  /// The edges in degrees of the levels' tiles, if ``init(identifier:uri:tileEdges:tileSizes:)`` makes exactly this set
  /// from them; otherwise nil.
  package var degreeEdges: [Double]? {
    guard projection == .geographic else { return nil }
    let sizes = matrices.map(\.tileWidth)
    let edges = matrices.map { matrix -> Double in
      // Of the doubles whose quotient is the cell size, the one with the fewest digits is what the definition said.
      let edge = matrix.cellSize * Double(matrix.tileWidth)
      return [edge, edge.nextUp, edge.nextDown].filter { $0 / Double(matrix.tileWidth) == matrix.cellSize }
        .min { $0.description.utf8.count < $1.description.utf8.count } ?? edge
    }
    guard let same = try? TileMatrixSet(identifier: identifier, uri: uri, tileEdges: edges, tileSizes: sizes) else {
      return nil
    }
    return same == self ? edges : nil
  }

  /// The set as a JSON value: a string, an object with `id`, `tileEdges`, `tileSizes` and, if it is not
  /// ``ownURI(_:)``, `uri`, or OGC's form.
  package var definition: JSONValue? { try? JSONValue(encoding: GridDefinition(self)) }

  /// Reads what ``definition`` gives.
  ///
  /// - Throws: `DecodingError`, ``GridError``.
  package init(definition: JSONValue) throws {
    self = try definition.decoded(as: GridDefinition.self).matrixSet
  }
}

/// A tile matrix set as a member of a Codable document; see ``TileMatrixSet/definition``.
package struct GridDefinition: Hashable, Sendable, Codable {
  package let matrixSet: TileMatrixSet

  package init(_ matrixSet: TileMatrixSet) { self.matrixSet = matrixSet }

  private struct Degrees: Codable {
    let id: String
    let tileEdges: [Double]
    let tileSizes: [Int]?
    let uri: String?
  }

  package init(from decoder: any Decoder) throws {
    func refused(_ words: String) -> DecodingError {
      .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: words))
    }
    if let name = try? decoder.singleValueContainer().decode(String.self) {
      guard let known = TileMatrixSet.named(name) else { throw refused("is no grid that is known here: \"\(name)\"") }
      matrixSet = known
      return
    }
    do {
      if let document = try TileMatrixSetDocument(ifIn: decoder) {
        matrixSet = try document.matrixSet()
        return
      }
      let degrees = try Degrees(from: decoder)
      matrixSet = try TileMatrixSet(
        identifier: degrees.id, uri: degrees.uri ?? TileMatrixSet.ownURI(degrees.id), tileEdges: degrees.tileEdges,
        tileSizes: degrees.tileSizes ?? [256])
    } catch let error as GridError {
      throw refused("is no grid: \(error)")
    }
  }

  package func encode(to encoder: any Encoder) throws {
    if matrixSet == TileMatrixSet.named(matrixSet.identifier) {
      var container = encoder.singleValueContainer()
      try container.encode(matrixSet.identifier)
    } else if let edges = matrixSet.degreeEdges {
      let sizes = matrixSet.matrices.map(\.tileWidth)
      try Degrees(
        id: matrixSet.identifier, tileEdges: edges, tileSizes: Set(sizes).count == 1 ? [sizes[0]] : sizes,
        uri: matrixSet.uri == TileMatrixSet.ownURI(matrixSet.identifier) ? nil : matrixSet.uri
      ).encode(to: encoder)
    } else {
      try TileMatrixSetDocument(matrixSet).encode(to: encoder)
    }
  }
}
