import Foundation
import RegionCatalog
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// What is said of single sources of a mosaic.
@Suite("Settings of single sources", .ownThread)
struct SourceSettingsTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// A raster whose pixels are those of the tile of zoom 8 at a column of the southern half's first row.
  private func source(_ name: String, column: Int, _ change: (inout TIFFFixture) -> Void) throws -> TIFFFixture {
    var fixture = TIFFFixture()
    (fixture.width, fixture.height) = (256, 256)
    let cell = TileMatrixSet.webMercatorQuad[8].cellSize
    fixture.tags = [
      33550: .double([cell, cell, 0]), 33922: .double([0, 0, 0, Double(column * 256) * cell, 0, 0]),
      34735: .short([1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 3857]),
    ]
    change(&fixture)
    _ = try fixture.write(folder, name)
    return fixture
  }

  private func cut(_ names: [String], _ change: (inout CutOptions) throws -> Void = { _ in }) throws
    -> any BundleReader
  {
    var options = CutOptions(sources: names.map(folder.file))
    (options.zoom, options.resampling) = (.levels(8...8), .nearest)
    try change(&options)
    let output = folder.file("\(UUID().uuidString).mbtiles")
    _ = try Cutter(options).cut(to: output)
    return try BundleFile.open(output)
  }

  /// The pixels of a column's tile.
  private func pixels(_ bundle: any BundleReader, column: Int) throws -> [UInt32] {
    let bytes = try #require(try bundle.tile(TileID(zoom: 8, column: 128 + column, row: 128)))
    let tile = try bytes.withUnsafeBytes { try ImageDecoder.decode($0) }
    return Array(UnsafeBufferPointer(start: tile.bytes.assumingMemoryBound(to: UInt32.self), count: 65536))
  }

  private func words(_ fixture: TIFFFixture, _ word: (_ value: (Int) -> Int) -> UInt32) -> [UInt32] {
    (0..<65536).map { i in word { band in Int(fixture.sample(i % 256, i / 256, band - 1)) } }
  }

  @Test("RGB, RGBA, grey and four bands with infrared lie in one mosaic, and --bands holds for one of them")
  func layouts() throws {
    let rgb = try source("rgb.tif", column: 0) { ($0.samples, $0.photometric) = (3, 2) }
    let rgba4 = try source("rgba.tif", column: 1) {
      ($0.samples, $0.photometric) = (4, 2)
      $0.tags[338] = .short([2])
      $0.sample = { x, y, band in
        // Opaque at the edges, because gaps between sources are closed.
        band == 3 ? (50..<99 ~= x ? 0 : 99..<150 ~= x ? 90 : 255) : Double((x + y * 3 + band * 40) % 251)
      }
    }
    let grey1 = try source("grey.tif", column: 2) {
      $0.tags[42113] = .text("0")
      $0.sample = { x, y, _ in 50..<60 ~= x ? 0 : Double(1 + (x * 3 + y * 5) % 250) }
    }
    let naip = try source("naip.tif", column: 3) {
      ($0.samples, $0.photometric) = (4, 2)
      $0.tags[338] = .short([0])
      $0.sample = { x, y, band in Double(1 + (x * 7 + y * 11 + band * 60) % 250) }
    }
    let bundle = try cut(["rgb.tif", "rgba.tif", "grey.tif", "naip.tif"]) {
      try $0.take(["bands": ["naip.tif=4,1,2"]])
    }
    #expect(try pixels(bundle, column: 0) == words(rgb) { rgba($0(1), $0(2), $0(3)) })
    #expect(try pixels(bundle, column: 1) == words(rgba4) { rgba($0(1), $0(2), $0(3), $0(4)) })
    #expect(try pixels(bundle, column: 2) == words(grey1) { $0(1) == 0 ? 0 : grey($0(1)) })
    #expect(try pixels(bundle, column: 3) == words(naip) { rgba($0(4), $0(1), $0(2)) })
  }

  @Test("Nodata, alpha and CRS of one source leave the others as they are")
  func oneSource() throws {
    let plain = try source("plain.tif", column: 0) {
      $0.sample = { x, y, _ in 50..<60 ~= x ? 70 : Double(71 + (x + y) % 100) }
    }
    let other = try source("other.tif", column: 1) {
      ($0.samples, $0.photometric) = (4, 2)
      $0.tags[338] = .short([2])
      $0.tags[34735] = .short([1, 1, 0, 2, 1024, 0, 1, 1, 1025, 0, 1, 1])
    }
    let names = ["plain.tif", "other.tif"]
    #expect(throws: CutError.self) { try cut(names) }
    let bundle = try cut(names) {
      try $0.take([
        "crs": ["other.tif=+proj=webmerc +datum=WGS84"], "nodata": ["plain.tif=70"], "alpha": ["other.tif=none"],
      ])
    }
    #expect(try pixels(bundle, column: 0) == words(plain) { $0(1) == 70 ? 0 : grey($0(1)) })
    #expect(try pixels(bundle, column: 1) == words(other) { rgba($0(1), $0(2), $0(3)) })
  }

  @Test("The automatic scale takes the bands and leaves out the nodata of each source")
  func automaticScale() throws {
    for (name, column) in [("a.tif", 0), ("b.tif", 1)] {
      _ = try source(name, column: column) {
        ($0.samples, $0.bits, $0.photometric) = (2, 16, 1)
        $0.sample = { x, y, band in x < 50 ? 60_000 : Double(band == 0 ? 1000 + y : 5000 + y) }
      }
    }
    var options = CutOptions(sources: ["a.tif", "b.tif"].map(folder.file))
    options.scale = .auto
    try options.take(["nodata": ["a.tif=60000", "b.tif=60000"], "bands": ["b.tif=2"]])
    let scale = try #require(try Cutter(options).automaticScale)
    #expect(scale.low < 1100 && scale.high > 5200 && scale.high < 5300, "\(scale)")
  }

  @Test("A coarse source that is drawn as finely as a small fine one gives a warning, unless that zoom was asked for")
  func detail() throws {
    func source(_ name: String, cell: Double) throws {
      var fixture = TIFFFixture()
      (fixture.width, fixture.height, fixture.tags) = (300, 300, TIFFFixture.placed)
      fixture.tags[33550] = .double([cell, cell, 0])
      _ = try fixture.write(folder, name)
    }
    try source("coarse.tif", cell: 0.1)
    try source("fine.tif", cell: 0.001)
    func warnings(_ zoom: ZoomSelection, _ names: String..., variableDepth: Bool = false) throws -> [String] {
      var options = CutOptions(sources: names.map(folder.file))
      (options.zoom, options.variableDepth) = (zoom, variableDepth)
      return try Cutter(options).warnings
    }
    for zoom in [ZoomSelection.native, .levels(0...4)] {
      let found = try warnings(zoom, "coarse.tif", "fine.tif")
      #expect(found.count == 1 && found[0].hasPrefix(folder.file("coarse.tif")), "\(found)")
      #expect(try warnings(zoom, "coarse.tif", "fine.tif", variableDepth: true) == [])
    }
    #expect(try warnings(.levels(0...10), "coarse.tif", "fine.tif") == [])
    #expect(try warnings(.native, "fine.tif") == [])
  }

  @Test("Heights have no bands to choose")
  func models() throws {
    var options = CutOptions(sources: ["dem.tif"])
    options.sourceSettings[0] = SourceSettings()
    options.sourceSettings[0]?.relief = ReliefLayer()
    options.sourceSettings[0]?.bands = [2]
    let error = #expect(throws: CutError.self) { try options.check() }
    #expect(error?.code == .invalidOption && error?.description.contains("dem.tif") == true)
  }

  @Test("Bands and alpha of a source in a manifest reach the cut, and change its fingerprint and identity")
  func manifest() throws {
    try folder.write("a.tif", "any")
    func region(_ source: String) throws -> (CutOptions, String) {
      try folder.write(
        "regions.json",
        #"{"regions": [{"id": "a", "title": "A", "category": "c", "sources": [{"file": "a.tif"\#(source)}]}]}"#)
      let manifest = try RegionManifest(path: folder.file("regions.json"))
      let build = CatalogBuildOptions(manifest: manifest, output: folder.file("out"), toolVersion: "1")
      let hashes = InputHashes(file: folder.file("hashes"))
      return (
        CutOptions(of: manifest.regions[0], in: manifest),
        try RegionFingerprints(manifest.regions[0], build, hashes, libraries: []).bundle
      )
    }
    let all = try ["", #", "bands": [4, 1, 2]"#, #", "alpha": 4"#, #", "alpha": "none""#].map(region)
    #expect(all[1].0.sourceSettings[0]?.bands == [4, 1, 2])
    #expect(all[2].0.sourceSettings[0]?.alpha == .number(4) && all[3].0.sourceSettings[0]?.alpha == .absent)
    #expect(Set(all.map { $0.1 }).count == 4)
    let identities = all.map { CutIdentity(toolVersion: "1", libraries: [], sources: [], options: $0.0, name: "a") }
    #expect(Set(identities.map(\.digest)).count == 4)
  }
}
