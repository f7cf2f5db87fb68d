import Foundation
import Support
import TestSupport
import Testing

@testable import TileIndex

/// Tile matrix sets as OGC's JSON (17-083r4, section 7.1).
@Suite(.ownThread) struct TileMatrixSetDocumentTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Two levels; `%` stands for further members.
  private static let plain = """
    {"id": "Quarters", "crs": "http://www.opengis.net/def/crs/OGC/1.3/CRS84", %
     "tileMatrices": [
       {"id": "fine", "scaleDenominator": 139770566.007179, "cellSize": 0.3515625, "pointOfOrigin": [-180, 90],
        "tileWidth": 128, "tileHeight": 128, "matrixWidth": 8, "matrixHeight": 4},
       {"id": "coarse", "scaleDenominator": 559082264.028717, "cellSize": 1.40625, "pointOfOrigin": [-180, 90],
        "tileWidth": 128, "tileHeight": 128, "matrixWidth": 2, "matrixHeight": 1}]}
    """

  private func read(_ text: String) throws -> TileMatrixSet {
    try TileMatrixSetDocument.matrixSet(inFile: folder.write("set.json", text))
  }

  private func read(_ changes: (String, String)..., members: String = "") throws -> TileMatrixSet {
    var text = Self.plain.replacingOccurrences(of: "%", with: members)
    for (old, new) in changes {
      #expect(text.contains(old))
      text = text.replacingOccurrences(of: old, with: new)
    }
    return try read(text)
  }

  @Test func levelsAreReadFromTheCoarsest() throws {
    let set = try read()
    #expect(set.identifier == "Quarters" && set.uri == "urn:tile-matrix-set:Quarters" && set.crs == "OGC:CRS84")
    #expect(set.matrices.map(\.identifier) == ["coarse", "fine"] && set.ratio(below: 0) == 4)
    #expect(set[0].tileSpanX == 180 && set.boundingBox == .world && set.isGlobal)
    #expect(abs(set[0].scaleDenominator / 559082264.028717 - 1) < 1e-12)
  }

  /// Latitude comes first in EPSG:4326, unless the document orders the axes; version 1 has other names.
  @Test func axesAndVersionsAreRead() throws {
    let crs = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
    let expected = try read().matrices
    let turned = ("[-180, 90]", "[90, -180]")
    #expect(try read((crs, "http://www.opengis.net/def/crs/EPSG/0/4326"), turned).matrices == expected)
    #expect(try read((crs, "EPSG:4326"), turned).matrices == expected)
    #expect(try read(turned, members: "\"orderedAxes\": [\"Lat\", \"Lon\"],").matrices == expected)
    #expect(try read(("\"\(crs)\"", "{\"uri\": \"\(crs)\"}")).matrices == expected)
    let wkt = #"{"wkt": {"type": "GeographicCRS", "id": {"authority": "EPSG", "code": 4326}}}"#
    #expect(try read(("\"\(crs)\"", wkt), turned).matrices == expected)
    let first = try read(
      ("\"id\"", "\"identifier\""), ("\"crs\"", "\"supportedCRS\""), ("tileMatrices", "tileMatrix"),
      ("pointOfOrigin", "topLeftCorner"), ("\"cellSize\": 0.3515625,", ""), ("\"cellSize\": 1.40625,", ""))
    #expect(zip(first.matrices, expected).allSatisfy { abs($0.cellSize / $1.cellSize - 1) < 1e-12 })
  }

  /// Rows count from the north here, wherever a document counts from.
  @Test func levelsFromTheSouthAreTurned() throws {
    let south = ("\"tileWidth\": 128,", "\"cornerOfOrigin\": \"bottomLeft\", \"tileWidth\": 128,")
    #expect(try read(south, ("[-180, 90]", "[-180, -90]")) == read())
  }

  /// Published sizes are rounded, but tiles have whole numbers of others.
  @Test func roundedSizesAreMended() throws {
    let set = try read(("0.3515625", "0.351562501"), ("1.40625", "1.40624999"))
    #expect(set.ratio(below: 0) == 4 && set[0].cellSize == 4 * set[1].cellSize)
  }

  /// What a set cannot be here, and documents that are none.
  @Test func otherSetsAreRefusedWithAReason() throws {
    func refusal(_ changes: (String, String)..., members: String = "") -> String {
      let error = #expect(throws: BundleError.self) {
        var text = Self.plain.replacingOccurrences(of: "%", with: members)
        for (old, new) in changes { text = text.replacingOccurrences(of: old, with: new) }
        _ = try read(text)
      }
      #expect(error?.code == .malformed && error?.remedy != nil)
      return error?.message ?? ""
    }
    #expect(refusal(("OGC/1.3/CRS84", "EPSG/0/32613")).contains("EPSG/0/32613"))
    #expect(refusal(("\"tileWidth\": 128,", "\"variableMatrixWidths\": [], \"tileWidth\": 128,")).contains("columns"))
    #expect(refusal(("1.40625", "1.3")).contains("whole number"))
    #expect(refusal(("\"id\": \"fine\",", "")).contains("tileMatrices"))
    #expect(refusal(("Quarters", "WebMercatorQuad")).contains("built-in"))
    #expect(#expect(throws: BundleError.self) { try read("[]") }?.message.contains("is no tile matrix set") == true)
    #expect(refusal(("{\"id\"", "\"id\"")).contains("is no tile matrix set"))
    let missing = #expect(throws: BundleError.self) {
      try TileMatrixSetDocument.matrixSet(inFile: folder.file("none.json"))
    }
    #expect(missing?.code == .notFound)
  }

  /// OGC's own document of WebMercatorQuad, which has 25 levels and rounded numbers, is the built-in set.
  @Test func documentsOfBuiltInSetsAreThese() throws {
    for set in TileMatrixSet.builtIn {
      let levels = set.matrices.prefix(25).map { matrix in
        """
        {"id": "\(matrix.identifier)", "scaleDenominator": \(matrix.scaleDenominator),
         "cellSize": \(String(format: "%.12g", matrix.cellSize)),
         "pointOfOrigin": [\(String(format: "%.10g", matrix.origin.x)), \(String(format: "%.10g", matrix.origin.y))],
         "tileWidth": \(matrix.tileWidth), "tileHeight": \(matrix.tileHeight),
         "matrixWidth": \(matrix.matrixWidth), "matrixHeight": \(matrix.matrixHeight)}
        """
      }
      let text = """
        {"id": "\(set.identifier)", "crs": "\(set.crs)", "tileMatrices": [\(levels.joined(separator: ","))]}
        """
      #expect(try read(text) == set)
    }
  }

  /// Sets that no list of edges describes are stored as documents.
  @Test func definitionsKeepEveryDigit() throws {
    let matrices = [(1.1, 7, 3), (0.1, 77, 33)].enumerated().map { zoom, level in
      TileMatrix(
        identifier: "L\(zoom)", cellSize: level.0 / 3, metresPerUnit: TileMatrixSet.metresPerDegree,
        origin: SIMD2(-12.3, 45.6), tileWidth: 66, tileHeight: 66, matrixWidth: level.1, matrixHeight: level.2)
    }
    let set = try TileMatrixSet(
      identifier: "own", uri: "https://example.org/own", projection: .geographic,
      boundingBox: BoundingBox(west: -12.3, south: -20, east: 100, north: 45.6), matrices: matrices)
    let definition = try #require(set.definition)
    #expect(try TileMatrixSet(definition: JSONValue(parsing: definition.bytes)) == set)
    #expect(TileMatrixSet.degrees.definition == .string("degrees"))
  }

  /// A definition of before the name was built in counts.
  @Test func storedDefinitionsGoOverBuiltInNames() throws {
    let old = try TileMatrixSet(identifier: "degrees", uri: "urn:tile-matrix-set:degrees", tileEdges: [8, 2])
    let path = folder.file("a.mbtiles")
    let writer = try BundleWriter(path: path, matrixSet: old, format: .png)
    try writer.put(TileID(unchecked: 1, 3, 3), blob(1))
    _ = try writer.finish(BundleMetadata(name: "a"))
    #expect(try MBTilesReader(path: path).matrixSet == old)
  }
}
