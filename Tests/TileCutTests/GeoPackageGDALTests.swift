import Foundation
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// GDAL sees in our GeoPackages what is in the tiles, and we in GDAL's.
@Suite(.ownThread, .enabled(if: GDALPrograms.arePresent, Comment(rawValue: GDALPrograms.skipMessage)))
struct GeoPackageGDALTests {
  let folder: TemporaryFolder
  private static let raster = ProjectFiles.path("sample-regions/rocky-mountain-np/rocky-mountain-np-rgb.tif")

  init() throws { folder = try TemporaryFolder() }

  private func picture(_ path: String, zoom: Int) throws -> (pixels: PixelBuffer, geotransform: [Double]) {
    let png = folder.file("\(zoom).png")
    try GDALPrograms.make("gdal_translate", "-oo", "ZOOM_LEVEL=\(zoom)", "-of", "PNG", path, png)
    let info = try #require(try run("gdalinfo", ["-json", "-oo", "ZOOM_LEVEL=\(zoom)", path]))
    let document = try JSONSerialization.jsonObject(with: Data(info.output.utf8)) as? [String: Any]
    let numbers = try #require(document?["geoTransform"] as? [Double])
    let pixels = try Data(contentsOf: URL(fileURLWithPath: png)).withUnsafeBytes { try ImageDecoder.decode($0) }
    return (pixels, numbers)
  }

  /// Compares the pixels of a zoom's tiles with a picture. Returns the number of visible pixels.
  private func compare(_ reader: any BundleReader, zoom: Int, _ picture: PixelBuffer, left: Int, top: Int) throws -> Int
  {
    let range = try #require(try reader.range(zoom: zoom))
    var (visible, wrong) = (0, 0)
    try reader.forEachTile(in: range) { tile, bytes in
      let pixels = try ImageDecoder.decode(bytes)
      for y in 0..<pixels.height {
        let row = tile.row * pixels.height + y - top
        for x in 0..<pixels.width {
          let column = tile.column * pixels.width + x - left
          let ours = pixels.bytes.load(fromByteOffset: y * pixels.rowBytes + x * 4, as: UInt32.self)
          guard (0..<picture.height).contains(row), (0..<picture.width).contains(column) else {
            // Beyond the bounds nothing may be visible.
            if ours >> 24 != 0 { wrong += 1 }
            continue
          }
          let theirs = picture.bytes.load(fromByteOffset: row * picture.rowBytes + column * 4, as: UInt32.self)
          if ours >> 24 != 0 { visible += 1 }
          if ours != theirs, ours >> 24 != 0 || theirs >> 24 != 0 { wrong += 1 }
        }
      }
    }
    #expect(wrong == 0, "zoom \(zoom): \(wrong) pixels differ, \(visible) are visible")
    return visible
  }

  /// Every zoom, through GDAL's own reader.
  @Test(arguments: [
    (TileMatrixSet.webMercatorQuad, 7...9), (.worldCRS84Quad, 6...8), (.degrees, 0...4),
  ]) func gdalReadsThePixelsOfTheTiles(set: TileMatrixSet, zooms: ClosedRange<Int>) throws {
    var options = CutOptions(sources: [Self.raster])
    (options.matrixSet, options.zoom) = (set, .levels(zooms))
    let path = folder.file("a.gpkg")
    _ = try Cutter(options).cut(to: path)
    let reader = try BundleFile.open(path)
    for zoom in zooms {
      let (pixels, numbers) = try picture(path, zoom: zoom)
      let matrix = set[zoom]
      #expect(abs(numbers[1] / matrix.cellSize - 1) < 1e-9)
      let (left, top) = (
        (numbers[0] - matrix.origin.x) / matrix.cellSize, (matrix.origin.y - numbers[3]) / matrix.cellSize
      )
      // The extent is in whole pixels of the finest zoom.
      if zoom == zooms.upperBound { #expect(abs(left - left.rounded()) < 1e-4 && abs(top - top.rounded()) < 1e-4) }
      let visible =
        abs(left - left.rounded()) < 1e-4 && abs(top - top.rounded()) < 1e-4
        ? try compare(reader, zoom: zoom, pixels, left: Int(left.rounded()), top: Int(top.rounded())) : 1
      #expect(visible > 0)
    }
    let info = try #require(try run("ogrinfo", ["-q", path]))
    #expect(info.status == 0, "\(info.output)")
  }

  /// What GDAL writes unless told otherwise: PNG at the edges, JPEG inside, and not a word of it.
  @Test func mixturesOfGDALAreConverted() throws {
    let (tif, path) = (folder.file("a.tif"), folder.file("a.gpkg"))
    try GDALPrograms.make("gdal_translate", "-outsize", "200%", "200%", Self.raster, tif)
    try GDALPrograms.make("gdal_translate", "-of", "GPKG", "-co", "TILING_SCHEME=GoogleMapsCompatible", tif, path)
    try GDALPrograms.make("gdaladdo", path, "2", "4")
    let reader = try BundleFile.open(path)
    var formats: Set<TileFormat> = []
    try reader.forEachTile { _, bytes in if let format = TileFormat(sniffing: bytes) { formats.insert(format) } }
    #expect(formats == [.png, .jpg] && reader.metadata["formats"] == nil)
    for name in ["b.mbtiles", "b.pmtiles", "b/", "b.gpkg"] {
      for isExtract in [false, true] {
        if isExtract {
          _ = try BundleExtract().write(reader, to: folder.file(name), replacing: true)
        } else {
          _ = try BundleConvert().write(reader, to: folder.file(name), replacing: true)
        }
        let copy = try BundleFile.open(folder.file(name))
        #expect(try TilesHash.of(copy) == TilesHash.of(reader), "\(name)")
        #expect(copy.metadata.format == .png && copy.metadata["formats"] == "jpg,png", "\(name)")
        let report = try BundleVerifier(path: folder.file(name)) { bytes, _ in
          let pixels = try ImageDecoder.decode(bytes)
          return (pixels.width, pixels.height)
        }.verify()
        #expect(report.errors == 0, "\(name) \(report.outcomes.flatMap(\.findings))")
      }
    }
    // A package of one format stays one.
    try GDALPrograms.make(
      "gdal_translate", "-of", "GPKG", "-co", "TILING_SCHEME=GoogleMapsCompatible", "-co", "TILE_FORMAT=PNG", tif,
      folder.file("c.gpkg"))
    _ = try BundleConvert().write(BundleFile.open(folder.file("c.gpkg")), to: folder.file("c.mbtiles"))
    #expect(try BundleFile.open(folder.file("c.mbtiles")).metadata["formats"] == nil)
  }

  /// GDAL's own GeoPackages: on the grid of web maps, on a grid at the raster's corner, and in metres of UTM.
  @Test(arguments: ["GoogleMapsCompatible", "PseudoTMS_GlobalGeodetic", "EPSG:4326", "EPSG:26913"])
  func geoPackagesOfGDALAreReadOrRefused(scheme: String) throws {
    let (tif, path) = (folder.file("a.tif"), folder.file("a.gpkg"))
    if scheme.hasPrefix("EPSG") {
      let warped = try run(
        "gdalwarp",
        ["-q", "-t_srs", scheme, "-tr"] + (scheme == "EPSG:4326" ? ["0.002", "0.002"] : ["200", "200"])
          + ["-dstalpha", Self.raster, tif])
      #expect(warped?.status == 0, "\(warped?.output ?? "")")
      try GDALPrograms.make("gdal_translate", "-of", "GPKG", "-co", "TILE_FORMAT=PNG", tif, path)
    } else {
      try GDALPrograms.make("gdal_translate", "-outsize", "25%", "25%", Self.raster, tif)
      try GDALPrograms.make(
        "gdal_translate", "-of", "GPKG", "-co", "TILING_SCHEME=\(scheme)", "-co", "TILE_FORMAT=PNG", tif, path)
    }
    guard scheme != "EPSG:26913" else {
      let error = #expect(throws: BundleError.self) { try BundleFile.open(path) }
      #expect(error?.message.contains("EPSG:26913") == true)
      return
    }
    try GDALPrograms.make("gdaladdo", path, "2", "4")
    let reader = try BundleFile.open(path)
    switch scheme {
    case "GoogleMapsCompatible": #expect(reader.matrixSet == .webMercatorQuad)
    case "PseudoTMS_GlobalGeodetic": #expect(reader.matrixSet == .worldCRS84Quad)
    default: #expect(reader.matrixSet.crs == "OGC:CRS84" && reader.matrixSet != .worldCRS84Quad)
    }
    let zooms = try reader.zooms()
    #expect(zooms.count == 3)
    let zoom = try #require(zooms.last)
    let (pixels, numbers) = try picture(path, zoom: zoom)
    let matrix = reader.matrixSet[zoom]
    #expect(abs(numbers[1] / matrix.cellSize - 1) < 1e-9)
    let left = (numbers[0] - matrix.origin.x) / matrix.cellSize
    let top = (matrix.origin.y - numbers[3]) / matrix.cellSize
    let visible = try compare(reader, zoom: zoom, pixels, left: Int(left.rounded()), top: Int(top.rounded()))
    #expect(visible > 1000)
    // And on into our own containers.
    let copy = folder.file("b.gpkg")
    try BundleConvert().write(reader, to: copy)
    let back = try BundleFile.open(copy)
    #expect(back.matrixSet == reader.matrixSet)
    #expect(try TilesHash.of(back) == TilesHash.of(reader))
    let report = try BundleVerifier(path: copy) { bytes, _ in
      let pixels = try ImageDecoder.decode(bytes)
      return (pixels.width, pixels.height)
    }.verify()
    #expect(report.errors == 0, "\(report.outcomes.flatMap(\.findings))")
  }
}
