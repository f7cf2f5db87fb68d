import Synchronization
import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// Work on rasters of which most blocks are missing, counted in pixels that are read.
@Suite(.ownThread) struct SparseSourceTests {
  /// The native zoom is 4: 16 x 16 tiles, of which the blocks of three have pixels.
  private let visible: Set<SIMD2<Int>> = [[2, 3], [9, 9], [15, 0]]

  private func pixelsRead(_ zoom: ZoomSelection, crs: String, _ affine: Affine) throws -> (pixels: Int, tiles: Int) {
    let source = SparseSource(visible, crs: try CoordinateReferenceSystem(definition: crs), affine: affine)
    var options = CutOptions(sources: ["sparse"])
    options.zoom = zoom
    options.encoding = .jpeg(JPEGOptions())
    let folder = try TemporaryFolder()
    let cutter = try Cutter(options, CutResources(threads: 1), sources: [source])
    let summary = try cutter.cut(to: folder.file("out.mbtiles"))
    return (source.pixelsRead, summary.tileCount)
  }

  /// Of pixels of a zoom, and of degrees that are warped.
  @Test(arguments: [
    ("EPSG:3857", Affine(a: 9783.939, b: 0, c: -20_037_508.34, d: 0, e: -9783.939, f: 20_037_508.34)),
    ("EPSG:4326", Affine(a: 360.0 / 4096, b: 0, c: -180, d: 0, e: -160.0 / 4096, f: 80)),
  ])
  func aCoarseZoomReadsNoMoreThanAllZooms(crs: String, affine: Affine) throws {
    let all = try pixelsRead(.native, crs: crs, affine)
    #expect(all.tiles > 9)
    for zoom in 0...3 {
      let one = try pixelsRead(.levels(zoom...zoom), crs: crs, affine)
      #expect(one.tiles > 0)
      // Kernels are wider at a coarse zoom, so that windows overlap more and contain more of what is missing around
      // three blocks that lie alone. All pixels are 85 times as many.
      #expect(one.pixels <= 6 * all.pixels, "zoom \(zoom): \(one.pixels), all: \(all.pixels)")
    }
  }

  @Test func missingBlocksAreNotRead() throws {
    let read = try pixelsRead(
      .native, crs: "EPSG:3857", Affine(a: 9783.939, b: 0, c: -20_037_508.34, d: 0, e: -9783.939, f: 20_037_508.34))
    #expect(read.pixels <= 3 * 4 * 256 * 256)
  }
}

/// 16 x 16 blocks of 256 pixels, most of them missing.
private final class SparseSource: RasterSource {
  let path = "sparse"
  let (width, height) = (4096, 4096)
  let alphaKind = AlphaKind.mask
  let georeference: Georeference
  let warnings: [String] = []
  private let visible: Set<SIMD2<Int>>
  private let count = Atomic(0)

  init(_ visible: Set<SIMD2<Int>>, crs: CoordinateReferenceSystem, affine: Affine) {
    self.visible = visible
    georeference = Georeference(affine: affine, crs: crs)
  }

  var pixelsRead: Int { count.load(ordering: .relaxed) }

  func mayBeVisible(_ window: PixelRect) -> Bool {
    visible.contains { window.intersection(PixelRect(x: $0.x * 256, y: $0.y * 256, width: 256, height: 256)) != nil }
  }

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    count.add(window.width * window.height, ordering: .relaxed)
    for y in 0..<window.height {
      (target + y * rowBytes).initializeMemory(as: UInt32.self, repeating: 0, count: window.width)
    }
    for block in visible {
      guard let part = window.intersection(PixelRect(x: block.x * 256, y: block.y * 256, width: 256, height: 256))
      else { continue }
      for y in part.y..<(part.y + part.height) {
        (target + (y - window.y) * rowBytes + (part.x - window.x) * 4)
          .initializeMemory(as: UInt32.self, repeating: 0xff30_6090, count: part.width)
      }
    }
    return false
  }
}
