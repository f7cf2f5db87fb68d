import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import RegionCatalog
@testable import TileCut

/// A cut that is refused for its memory says with how much it goes on, and with exactly that it does.
@Suite(.ownThread)
struct MemoryAdviceTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// The megabytes that an error's remedy names; nil if it names none that suffices.
  private func advice(_ error: CutError) throws -> Int? {
    try error.remedy.flatMap { try Int(#/give --memory (\d+)MB/#.firstMatch(in: $0)?.1 ?? "") }
  }

  private func refusal(_ options: CutOptions, megabytes: Int = 32) throws -> CutError {
    try #require(throws: CutError.self) {
      _ = try Cutter(options, resources: Self.resources(megabytes)).prepareWorkers()
    }
  }

  private static func resources(_ megabytes: Int) -> CutResources {
    CutResources(threads: 2, memoryBytes: megabytes * 1_000_000)
  }

  /// A region of points with labels over a white picture of 7 x 5 degrees.
  private func points(_ count: Int, name: Int, note: Int = 0, zoom: String = #", "zoom": [8, 10]"#) throws -> CutOptions
  {
    var fixture = TIFFFixture()
    fixture.tags = TIFFFixture.placed
    fixture.sample = { _, _, _ in 255 }
    _ = try fixture.write(folder, "white.tif")
    let (name, note) = (String(repeating: "name ", count: name), String(repeating: "note", count: note))
    let features = (0..<count).map { number in
      let place = "[\(12.5 + Double(number % 50) * 0.04), \(47 + Double(number / 50) * 0.001)]"
      return ##"{"type": "Feature", "properties": {"name": "\##(name)", "note": "\##(note)"}, "##
        + #""geometry": {"type": "Point", "coordinates": \#(place)}}"#
    }
    try folder.write(
      "points.geojson", #"{"type": "FeatureCollection", "features": [\#(features.joined(separator: ",\n"))]}"#)
    let path = try folder.write(
      "region.json",
      ##"""
      {"regions": [{"id": "a", "title": "A", "category": "c" \##(zoom), "layers": [
        {"type": "raster", "sources": ["white.tif"]},
        {"type": "vector", "data": "points.geojson", "style": [
          {"type": "circle", "filter": ["!=", ["get", "note"], "none"]},
          {"type": "symbol", "layout": {"text-field": "{name}", "text-size": 10, "text-allow-overlap": true}}]}]}]}
      """##)
    let manifest = try RegionManifest(path: path)
    return CutOptions(of: manifest.regions[0], in: manifest)
  }

  @Test(.long) func labelsOfAllZoomsAreCounted() throws {
    let options = try points(2600, name: 20)
    let error = try refusal(options)
    #expect(error.message.contains("drawn at zooms 8 to 10"), "\(error)")
    let megabytes = try #require(try advice(error), "\(error)")
    #expect(try Cutter(options, resources: Self.resources(megabytes)).prepareWorkers() > 0, "\(error)")
  }

  /// Of features that are not kept it is known what is drawn of them.
  @Test func whatIsDrawnOfFeaturesIsCountedWithThem() throws {
    let options = try points(2400, name: 4, note: 2000)
    let error = try refusal(options)
    #expect(error.path?.hasSuffix("points.geojson") == true && error.message.contains("MB of features"), "\(error)")
    let megabytes = try #require(try advice(error), "\(error)")
    #expect(try Cutter(options, resources: Self.resources(megabytes)).prepareWorkers() > 0, "\(error)")
  }

  /// Where the sources say which zooms are cut, the features alone are known.
  @Test func theLeastIsCalledSo() throws {
    let error = try refusal(try points(2400, name: 1, note: 2000, zoom: ""))
    #expect(try advice(error) == nil && error.message.contains("features alone"), "\(error)")
    #expect(error.remedy?.contains("give --memory of more than ") == true, "\(error)")
    let model = ArraySource(
      width: 40, height: 30, crs: .wgs84LongLat, affine: Affine(a: 1, b: 0, c: 0, d: 0, e: -1, f: 0),
      pixel: { _, _ in .zero })
    let heights = try #require(throws: CutError.self) { try ContourTracer(model, bytesMax: 4000) }
    #expect(heights.remedy?.contains("give --memory of more than ") == true, "\(heights)")
  }

  @Test func imagesThatAreDecodedAsAWholeNameTheMemory() throws {
    let picture = PixelBuffer(width: 1500, height: 1500)
    picture.bytes.initializeMemory(as: UInt32.self, repeating: 0xFFC8_C8C8, count: 1500 * 1500)
    try folder.write("map.webp", bytes: TileEncoder(.webp(WebPOptions(effort: 1))).encode(picture))
    var paths = [folder.file("map.webp")]
    if GDALPrograms.arePresent {
      try GDALPrograms.make(
        "gdal_translate", paths[0], folder.file("map.jpg"), "-of", "JPEG", "-co", "PROGRESSIVE=YES", "-b", "1", "-b",
        "2", "-b", "3")
      paths.append(folder.file("map.jpg"))
    }
    for path in paths {
      for threads in [1, 2, 9] {
        var options = CutOptions(sources: [path])
        options.bounds = BoundingBox(west: 10, south: 45, east: 11, north: 46)
        let error = try #require(throws: CutError.self) {
          try Cutter(options, resources: CutResources(threads: threads, memoryBytes: 32_000_000))
        }
        let megabytes = try #require(try advice(error), "\(error)")
        #expect(throws: Never.self, "\(error)") {
          try Cutter(options, resources: CutResources(threads: threads, memoryBytes: megabytes * 1_000_000))
        }
      }
    }
    // Who opens rasters without a cut has no such option.
    var alone = RasterOpenOptions(cacheBytesMax: 1 << 20)
    alone.isFlat = true
    let error = try #require(throws: CutError.self) { try RasterFile.open(path: paths[0], options: alone) }
    #expect(error.remedy == "convert it to a GeoTIFF", "\(error)")
  }
}
