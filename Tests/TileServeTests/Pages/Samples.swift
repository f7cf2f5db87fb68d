import TileIndex

@testable import TileServe

/// Tilesets for documents.
enum Samples {
  static let address = ServiceAddress(origin: "https://maps.example.org", basePath: "/tiles")

  static func info(
    id: String = "park", name: String = "Park", metadata: [String: String] = [:],
    matrixSet: TileMatrixSet = .webMercatorQuad, format: TileFormat = .png, zooms: ClosedRange<Int> = 0...10,
    bounds: BoundingBox = BoundingBox(west: -106, south: 39, east: -105, north: 40.5),
    center: BundleMetadata.Center = .init(longitude: -105.5, latitude: 40, zoom: 8), tilePixels: Int = 256
  ) -> TilesetInfo {
    TilesetInfo(
      id: id, name: name,
      metadata: StoredMetadata(metadata.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }),
      matrixSet: matrixSet, format: format, zooms: zooms, bounds: bounds, center: center, tilePixels: tilePixels,
      modified: 1_700_000_000)
  }

  /// Levels of 32°, 8° and 2°: they step by 4, tile sizes differ, and the last row reaches beyond the south pole.
  static func degrees() throws -> TileMatrixSet {
    try TileMatrixSet(
      identifier: "Degrees32", uri: "urn:example:degrees32", tileEdges: [32, 8, 2], tileSizes: [256, 256, 320])
  }

  /// Strings that exploit missing escapes.
  static let hostile = [
    "</script><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onload='alert(1)", "]]>", "<!--",
    "&amp;&lt;",
    "a b/c?d#e%2e", "..", "{z}/{x}", "日本 – ü", "\u{0}\u{1}\u{8}\u{1f}\u{7f}\u{fffe}", "\u{2028}\u{2029}", "\\\"\\",
    "\r\n\t",
    "javascript:alert(1)", "<a href='javascript:alert(1)'>x</a>", "", "😀\u{301}",
  ]
}
