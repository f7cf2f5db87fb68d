import TestSupport
import Testing
import TileImage
import TileIndex

@testable import RegionCatalog
@testable import TileCut

/// Parts of the sample maps beside pictures that people have looked at: relief and tints, contours, lines, areas,
/// icons and labels as a cut draws them. `BLESS=1` accepts new ones.
@Suite(.ownThread)
struct SampleMapPictureTests {
  struct Scene: Sendable, CustomTestStringConvertible {
    let manifest: String
    let zoom: Int
    let longitude: Double
    let latitude: Double
    var testDescription: String { manifest }
  }

  static let scenes = [
    Scene(manifest: "jacksboro-fault/topographic", zoom: 12, longitude: -84.3, latitude: 36.6),
    Scene(manifest: "rocky-mountain-np/outdoor", zoom: 12, longitude: -105.63, latitude: 40.262),
    Scene(manifest: "liechtenstein/hiking", zoom: 13, longitude: 9.522, latitude: 47.141),
  ]
  /// Pixels along a picture's edges.
  private static let side = 192

  @Test(arguments: scenes) func picturesAreThoseOfTheGoldens(_ scene: Scene) throws {
    let manifest = try RegionManifest(path: ProjectFiles.path("sample-regions/\(scene.manifest).json"))
    var options = CutOptions(of: manifest.regions[0], in: manifest)
    options.zoom = .levels(scene.zoom...scene.zoom)
    options.encoding = .png(PNGOptions())
    // The tiles around the place.
    let place = options.matrixSet.tileCoordinates(
      longitude: scene.longitude, latitude: scene.latitude, zoom: scene.zoom)
    let (column, row) = (Int(place.x - 0.5), Int(place.y - 0.5))
    let corners = try [(column, row), (column + 1, row + 1)].map {
      options.matrixSet.geographicBounds(of: try TileID(zoom: scene.zoom, column: $0.0, row: $0.1))
    }
    options.bounds = corners[0].union(corners[1])
    let folder = try TemporaryFolder()
    _ = try Cutter(options, resources: CutResources(threads: 2)).cut(to: folder.file("map.mbtiles"))
    let reader = try MBTilesReader(path: folder.file("map.mbtiles"))
    let drawn = PixelBuffer(width: Self.side, height: Self.side)
    let corner = SIMD2(place.x * 256 - Double(Self.side) / 2, place.y * 256 - Double(Self.side) / 2)
    for tile in [(column, row), (column + 1, row), (column, row + 1), (column + 1, row + 1)] {
      let bytes = try #require(try reader.tile(try TileID(zoom: scene.zoom, column: tile.0, row: tile.1)))
      let pixels = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
      drawn.copy(pixels, x: tile.0 * 256 - Int(corner.x), y: tile.1 * 256 - Int(corner.y))
    }
    drawn.composite(over: .white)
    let name = scene.manifest.split(separator: "/").last!
    try GoldenPicture.expect(drawn, looksLike: "Tests/TileCutTests/Goldens/\(name).png")
  }
}
