import Foundation
import RegionCatalog
import Support
import TestSupport
import TileImage
import TileIndex

@testable import MapStoreServer

/// A catalogue with real bundles and pictures, for the pages: `world` has zooms 0 to 6, `strip` many tiles at each
/// zoom, `shallow` two zooms.
final class PageCatalog: Sendable {
  let path: String
  private let folder: TemporaryFolder

  static let regions = ["world", "strip", "shallow"]
  static let title = "The </script><b>world</b> & more"

  init(_ folder: TemporaryFolder) throws {
    self.folder = folder
    path = folder.file("pages")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    _ = try folder.writeBundle(
      "pages/world.mbtiles", zooms: 0...4, without: [TileID(unchecked: 2, 0, 0)],
      places: [
        Place(name: "Basel", kind: "city", longitude: 7.6, latitude: 47.6, importance: 0.9),
        Place(name: "Chur", kind: "town", longitude: 9.5, latitude: 46.8, importance: 0.4),
      ])
    _ = try folder.writeBundle("pages/strip.mbtiles", zooms: 0...4, seed: 1)
    _ = try folder.writeBundle("pages/shallow.mbtiles", zooms: 0...1, seed: 2)
    let entries = [
      try entry(
        "world", Self.title, "[-180,-85,180,85]", 0...6,
        "\"© <a href=\\\"https://example.org\\\">Survey</a> &amp; others\""),
      try entry("strip", "A strip", "[-180,0,180,1]", 3...14, "\"Survey\""),
      try entry("shallow", "Shallow water", "[5,45,10,48]", 0...1, "\"Survey\""),
    ]
    try Data("{\"version\":1,\"regions\":[\n\(entries.joined(separator: ",\n"))\n]}\n".utf8)
      .write(to: URL(fileURLWithPath: "\(path)/catalogue.json"), options: .atomic)
  }

  private func entry(
    _ id: String, _ title: String, _ bounds: String, _ zooms: ClosedRange<Int>, _ attribution: String
  ) throws -> String {
    let picture = PixelBuffer(width: 1024, height: 768)
    var generator = SeededGenerator(seed: UInt64(id.utf8.count))
    // Noise: nothing has more bytes.
    for index in 0..<(1024 * 768) {
      picture.bytes.storeBytes(
        of: UInt32(truncatingIfNeeded: generator.next()) | 0xff00_0000, toByteOffset: index * 4, as: UInt32.self)
    }
    let png = try TileEncoder(.jpeg(JPEGOptions())).encode(picture)
    try Data(png).write(to: URL(fileURLWithPath: "\(path)/\(id).jpg"))
    func file(_ name: String) throws -> String {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(name)"))
      let hash = try FileHash.sha256(ofFile: "\(path)/\(name)")
      return "\"file\":\"\(name)\",\"bytes\":\(bytes.count),\"sha256\":\"\(hash)\""
    }
    let text = String(decoding: try JSONEncoder().encode(title), as: UTF8.self)
    return """
      {"id":"\(id)","productId":"org.example.maps.\(id)","title":\(text),"category":"park","bounds":\(bounds),\
      "tileMatrixSet":"WebMercatorQuad","minzoom":\(zooms.lowerBound),"maxzoom":\(zooms.upperBound),"format":"png",\
      \(try file("\(id).mbtiles")),"tileCount":9,"tilesHash":"00","edition":"2026.1",\
      "preview":{\(try file("\(id).jpg"))},"attribution":\(attribution),"packs":[],"patches":[]}
      """
  }

  func bytes(_ tile: TileID, of region: String) throws -> [UInt8]? {
    try MBTilesReader(path: "\(path)/\(region).mbtiles").tile(tile)
  }
}

extension TestStore {
  /// A store with the catalogue of the pages.
  static func runPages<Value: Sendable>(
    products: String? = nil, _ change: (inout StoreOptions) throws -> Void = { _ in },
    _ body: @escaping @Sendable (TestStore, PageCatalog) async throws -> Value
  ) async throws -> Value {
    let folder = try TemporaryFolder()
    let catalog = try PageCatalog(folder)
    let list = try products.map { try folder.write("products.json", $0) }
    var options = StoreOptions(catalogFolder: catalog.path)
    try change(&options)
    let (pages, url) = (options.pages, options.publicURL)
    return try await run {
      ($0.catalogFolder, $0.products, $0.pages, $0.publicURL) = (catalog.path, list, pages, url)
    } _: { store in
      _ = folder
      return try await body(store, catalog)
    }
  }
}
