import Synchronization
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileServe

/// A source of the app's own behind real sockets.
@Suite(.ownThread) struct ProvidedSourceTests {
  /// Three zooms of one colour, which changes.
  private final class Paint: TileSource {
    private let state: Mutex<(colour: RGBA, revision: SourceRevision)>

    init(_ colour: RGBA) { state = Mutex((colour, .next())) }

    static func bytes(_ colour: RGBA) throws -> [UInt8] { try Drawings.uniform(colour).encoded() }

    func change(to colour: RGBA) { state.withLock { $0 = (colour, .next()) } }

    var revision: SourceRevision { state.withLock { $0.revision } }

    func info() -> TilesetInfo {
      TilesetInfo(
        id: "whatever", name: "Paint", metadata: StoredMetadata([.init(name: "attribution", value: "Painters")]),
        matrixSet: .webMercatorQuad, format: .png, zooms: 0...2, bounds: .world,
        center: BundleMetadata.Center(longitude: 0, latitude: 0, zoom: 0), tilePixels: 64, modified: 1_700_000_000)
    }

    func storedTile(_ tile: TileID) throws -> [UInt8]? {
      // A hole in the map.
      if tile == TileID(unchecked: 2, 0, 0) { return nil }
      return try Self.bytes(state.withLock { $0.colour })
    }
  }

  private static let red = RGBA(red: 200, green: 10, blue: 10)
  private static let blue = RGBA(red: 10, green: 10, blue: 200)

  @Test func aSourceIsServedLikeABundle() async throws {
    let paint = Paint(Self.red)
    let registry = try TilesetRegistry(sources: ["paint": paint])
    try await serving(registry) { (served) async throws in
      let red = try Paint.bytes(Self.red)
      let first = try served.get("/paint/1/0/1.png")
      #expect(first.status == 200 && first.body == red && first["Content-Type"] == "image/png")
      #expect(try served.get("/paint/1/0/1.png", ["If-None-Match": first["ETag"] ?? ""]).status == 304)
      #expect(try served.get("/paint/2/0/0.png").status == 404)
      #expect(try served.get("/paint/3/0/0.png").status == 404)
      #expect(try served.get("/paint/1/0/1.webp")["Content-Type"] == "image/webp")
      let json = try served.get("/paint.json").text
      #expect(json.contains("/paint/{z}/{x}/{y}.png") && json.contains("Painters") && !json.contains("whatever"))
      #expect(try served.get("/tilesets.json").text.contains("\"paint\""))
      #expect(try served.get("/wmts/1.0.0/WMTSCapabilities.xml").text.contains("<ows:Identifier>paint<"))
      #expect(try await served.server.url(for: "paint").hasSuffix("/paint/{z}/{x}/{y}.png"))
      #expect(try await registry.tile(TileID(zoom: 0, column: 0, row: 0), of: "paint")?.bytes == red)

      // Also behind what was kept of it.
      paint.change(to: Self.blue)
      #expect(try served.get("/paint/1/0/1.png").body == Paint.bytes(Self.blue))
      registry.refresh()
      #expect(try served.get("/paint/0/0/0.png").status == 200)
    }
  }

  @Test func sourcesAndBundlesLieOverEachOther() async throws {
    let registry = try TilesetRegistry([SampleTilesets.path], sources: ["paint": Paint(Self.red)])
    try await serving(registry) { (served) async throws in
      let tile = Tile(bytes: try served.get("/relief,paint/0/0/0.png").body, format: .png)
      #expect(try tile.decoded()[0, 0] == Self.red)
      #expect(try served.get("/paint,relief/0/0/0.png").status == 200)
    }
  }

  /// A file that comes with the name of a source does not take its place, and is named.
  @Test func aFileOfTheSameNameIsRefused() async throws {
    let folder = try TemporaryFolder()
    let registry = try TilesetRegistry([folder.path], sources: ["a": Paint(Self.red)])
    try Edition.number(0).writeMBTiles(folder.file("a.mbtiles"))
    let change = registry.refresh()
    #expect(change.failed[folder.file("a.mbtiles")]?.contains("its id a is that of a source") == true, "\(change)")
    #expect(registry.tilesets.map(\.id) == ["a"])
    #expect(try registry["a"]?.storedTile(TileID(unchecked: 0, 0, 0)) == Paint.bytes(Self.red))
    await registry.close()
  }

  @Test(arguments: ["", "tilesets"]) func namesOfTheServersOwnAreRefused(_ name: String) {
    #expect { try TilesetRegistry(sources: [name: Paint(Self.red)]) } throws: {
      ($0 as? ServeError)?.code == .invalidOption
    }
  }

  /// The tiles of `tilesets.mbtiles` are served; that its TileJSON is not is said.
  @Test(arguments: ["tilesets", "wmts", "tms"]) func namesOfTheServersDocuments(_ id: String) async throws {
    let folder = try TemporaryFolder()
    try Edition.number(0).writeMBTiles(folder.file("\(id).mbtiles"))
    try await serving([folder.path]) { (served) async throws in
      let tile = Edition.addresses[0]
      #expect(try served.get("/\(id)/\(tile.zoom)/\(tile.column)/\(tile.row).png").status == 200)
      let list = try served.get("/tilesets.json").text
      #expect(list.contains("because the server has another one") == (id != "tms"), "\(list)")
      let warnings = served.registry.tilesets.flatMap { $0.takeWarnings() }
      #expect(warnings.count == (id == "tms" ? 0 : 1))
    }
  }
}
