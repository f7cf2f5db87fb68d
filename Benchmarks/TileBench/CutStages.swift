import Foundation
import TileCut
import TileImage
import TileIndex

/// Where the time of a cut goes: each stage alone, on one thread, on all tiles of a raster, in seconds of processor
/// time.
///
/// 1. Decode the source once. 2. Draw every tile of the finest zoom, which decodes too. 3. Decode the tiles of the cut
/// (not counted), reduce each by 2 x 2, encode each once, put each into a bundle.
///
/// The bound is decode + encode + insert: what a cut costs that neither warps nor reduces nor waits.
enum CutStages {
  static func measure(raster: String, effort: PNGEffort) throws {
    let folder = NSTemporaryDirectory() + "/cut-stages-\(getpid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var options = CutOptions(sources: [raster])
    options.encoding = .png(PNGOptions(effort: effort))

    func cut(threads: Int) throws -> (wall: Double, processor: Double, tiles: Int) {
      let (wall, processor) = (ContinuousClock.now, clock())
      let summary = try Cutter(options, resources: CutResources(threads: threads))
        .cut(to: folder + "/cut.mbtiles", replacing: true)
      return ((ContinuousClock.now - wall) / .seconds(1), seconds(since: processor), summary.tileCount)
    }
    let two = try cut(threads: 2)
    let one = try cut(threads: 1)
    let tiles = Double(one.tiles)
    func report(_ stage: String, _ seconds: Double) {
      print(
        stage.padding(toLength: 22, withPad: " ", startingAt: 0)
          + String(format: "%7.2f s %8.4f ms a tile", seconds, seconds / tiles * 1000))
    }

    let decode = try decoding(raster)
    let draw = try drawing(options)
    var (reduce, encode, insert) = (0.0, 0.0, 0.0)
    let half = PixelBuffer(width: 128, height: 128)
    let encoder = TileEncoder(options.encoding)
    let writer = try BundleWriter(
      path: folder + "/again.mbtiles", matrixSet: options.matrixSet, format: .png, replacing: true)
    try MBTilesReader(path: folder + "/cut.mbtiles").forEachTile { tile, bytes in
      let pixels = try ImageDecoder.decode(bytes)
      reduce += measured { Reduce.average(pixels, ratio: 2, into: half, x: 0, y: 0) }
      var encoded: [UInt8] = []
      encode += try measured { encoded = try encoder.encode(pixels) }
      insert += try measured { try writer.put(tile, encoded) }
    }
    insert += try measured { _ = try writer.finish(BundleMetadata(name: "again")) }

    print("\(raster), effort \(effort.rawValue), \(one.tiles) tiles")
    report("decode the source", decode)
    report("warp", max(draw - decode, 0))
    report("reduce", reduce)
    report("filter and deflate", encode)
    report("insert", insert)
    let bound = decode + encode + insert
    report("bound", bound)
    report("cut, one thread", one.processor)
    print(String(format: "cut / bound %.2f (wanted: at most 1.30)", one.processor / bound))
    print(String(format: "1 -> 2 threads: %.2f times as fast (wanted: at least 1.80)", one.wall / two.wall))
    print(
      String(
        format: "the writer takes %.0f tiles/s, as many as %.0f cores make", tiles / insert,
        one.processor / max(insert, 1e-9)))
  }

  /// Reads the whole raster in windows of 1,024 rows at most.
  private static func decoding(_ raster: String) throws -> Double {
    let source = try RasterFile.open(path: raster, options: RasterOpenOptions())
    let edge = 1024
    let room = UnsafeMutableRawPointer.allocate(byteCount: edge * edge * 4, alignment: 64)
    defer { room.deallocate() }
    return try measured {
      for y in stride(from: 0, to: source.height, by: edge) {
        for x in stride(from: 0, to: source.width, by: edge) {
          let window = PixelRect(
            x: x, y: y, width: min(edge, source.width - x), height: min(edge, source.height - y))
          _ = try source.read(window, into: room, rowBytes: edge * 4)
        }
      }
    }
  }

  /// Draws every tile of the working zoom.
  private static func drawing(_ options: CutOptions) throws -> Double {
    let plan = try Cutter(options, resources: CutResources(threads: 1)).plan
    let source = try RasterFile.open(path: options.sources[0], options: RasterOpenOptions())
    let matrix = plan.matrixSet[plan.workingZoom]
    let mosaic = Mosaic(
      sources: [source], footprints: plan.footprints,
      target: try CoordinateReferenceSystem(definition: plan.matrixSet.crs),
      grid: PixelGrid(matrix, wraps: plan.matrixSet.isGlobal), resampling: plan.resampling,
      clips: plan.clips(zoom: plan.workingZoom))
    let buffer = PixelBuffer(width: matrix.tileWidth, height: matrix.tileHeight)
    let coverage = plan.coverages[plan.workingZoom]!
    return try measured {
      for row in coverage.rows {
        for column in coverage.runs(inRow: row).joined() {
          buffer.clear()
          _ = try mosaic.draw(
            PixelRect(
              x: column * matrix.tileWidth, y: row * matrix.tileHeight, width: matrix.tileWidth,
              height: matrix.tileHeight), into: buffer)
        }
      }
    }
  }

  private static func seconds(since start: clock_t) -> Double { Double(clock() - start) / Double(CLOCKS_PER_SEC) }

  private static func measured(_ body: () throws -> Void) rethrows -> Double {
    let start = clock()
    try body()
    return seconds(since: start)
  }
}
