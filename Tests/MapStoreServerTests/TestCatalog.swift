import Crypto
import Foundation
import RegionCatalog
import TestSupport
import TileIndex

/// A catalogue with regions whose files are random bytes: the server does not read them.
final class TestCatalog: Sendable {
  let path: String
  private let folder: TemporaryFolder

  static let regions = ["alps", "rockies", "rhine", "retired"]
  static func product(_ region: String) -> String { "org.example.maps.\(region)" }

  private let alpsBytes: Int
  private let previewBytes: Int
  private let corners: Int

  /// - Parameters:
  ///   - alpsBytes: the size of the first region's bundle.
  ///   - previewBytes: the size of each preview.
  ///   - corners: of each region's outline; 0 for regions that are boxes.
  init(_ folder: TemporaryFolder, alpsBytes: Int = 700_000, previewBytes: Int = 2000, corners: Int = 0) throws {
    (self.folder, self.alpsBytes) = (folder, alpsBytes)
    (self.previewBytes, self.corners) = (previewBytes, corners)
    path = folder.file("catalogue")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try write(edition: "1")
  }

  /// Writes all files of an edition, then the catalogue.
  ///
  /// - Parameters:
  ///   - patchesFrom: the edition from which there are patches.
  ///   - keepingBundles: keeps the existing bundles.
  ///   - dropped: regions that are removed from the catalogue.
  func write(
    edition: String, patchesFrom: String? = nil, keepingBundles: Bool = false, without dropped: Set<String> = []
  ) throws {
    let regions = try Self.regions.enumerated().filter { !dropped.contains($1) }.map { index, id in
      let west = Double(index) * 20 - 40
      let bounds = "[\(west),40,\(west + 10),50]"
      let bundle =
        keepingBundles
        ? try member("\(id)-\(edition).mbtiles", bytes("\(id)-\(edition).mbtiles"))
        : try file("\(id)-\(edition).mbtiles", bytes: index == 0 ? alpsBytes : 700_000 + index * 1000)
      let preview = try file("\(id)-\(edition).png", bytes: previewBytes)
      let pack = try file("\(id)-\(edition)-overview.mbtiles", bytes: 5000)
      let patches = try patchesFrom.map { from in
        let patch = try file("\(id)-\(from)-\(edition).patch", bytes: 3000)
        return "{\"fromEdition\":\"\(from)\",\"fromTilesHash\":\"00\",\(patch)}"
      }
      return """
        {"id":"\(id)","productId":"\(Self.product(id))","title":"The \
        \(id.capitalized)","category":"\(index % 2 == 0 ? "park" : "state")",\
        "bounds":\(bounds),\(outline(west: west))"tileMatrixSet":"WebMercatorQuad","minzoom":0,"maxzoom":5,"format":"png",\(bundle),\
        "tileCount":9,"tilesHash":"00",\
        "edition":"\(edition)","preview":{\(preview)},"priceTier":"tier-\(index)","attribution":"Survey of \(id) & <b>others</b>",\
        "packs":[{\(pack),"bounds":\(bounds),"minzoom":0,"maxzoom":5,"roots":["0/0/0"],\
        "tileCount":9,"isOverview":true}],\
        "patches":[\(patches ?? "")]}
        """
    }
    let text = "{\"version\":1,\"regions\":[\n\(regions.joined(separator: ",\n"))\n]}\n"
    // Published atomically, as by `tilecut build`.
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/catalogue.json"), options: .atomic)
  }

  /// A member `boundary`: a circle of ten degrees.
  private func outline(west: Double) -> String {
    guard corners > 0 else { return "" }
    let points = (0...corners).map { number -> String in
      let angle = 2 * Double.pi * Double(number % corners) / Double(corners)
      return "[\(west + 5 + 5 * cos(angle)),\(45 + 5 * sin(angle))]"
    }
    return "\"boundary\":{\"type\":\"Polygon\",\"coordinates\":[[\(points.joined(separator: ","))]]},"
  }

  func catalogue() throws -> Catalog { try Catalog(path: "\(path)/catalogue.json") }

  func bytes(_ file: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(file)")))
  }

  /// Writes a file; its members in the catalogue.
  private func file(_ name: String, bytes count: Int) throws -> String {
    var generator = SeededGenerator(seed: name.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) })
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 8)
    while bytes.count < min(count, 700_000) { withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) } }
    if bytes.count > count { bytes.removeLast(bytes.count - count) }
    // The rest of a large file need not be random.
    bytes.append(contentsOf: [UInt8](repeating: 0, count: count - bytes.count))
    try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    return try member(name, bytes)
  }

  private func member(_ name: String, _ bytes: [UInt8]) throws -> String {
    let hash = SHA256.hash(data: bytes).map { String(format: "%02x", $0) }.joined()
    return "\"file\":\"\(name)\",\"bytes\":\(bytes.count),\"sha256\":\"\(hash)\""
  }
}
