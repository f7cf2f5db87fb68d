import TestSupport
import Testing
import TileImage
import TileIndex

@testable import TileCut

/// A raster whose pixels are an array, to test warping without files.
final class ArraySource: RasterSource {
  let path = "array"
  let width: Int
  let height: Int
  let alphaKind: AlphaKind
  let georeference: Georeference
  let warnings: [String] = []
  /// Row-major straight RGBA.
  let pixels: [SIMD4<UInt8>]

  init(
    width: Int, height: Int, alphaKind: AlphaKind = .opaque, crs: CoordinateReferenceSystem, affine: Affine,
    pixel: (_ x: Int, _ y: Int) -> SIMD4<UInt8>
  ) {
    self.width = width
    self.height = height
    self.alphaKind = alphaKind
    georeference = Georeference(affine: affine, crs: crs)
    pixels = (0..<(width * height)).map {
      let p = pixel($0 % width, $0 / width)
      return p.w == 0 ? .zero : p
    }
  }

  func read(_ window: PixelRect, into target: UnsafeMutableRawPointer, rowBytes: Int) throws -> Bool {
    precondition(
      window.x >= 0 && window.y >= 0 && window.x + window.width <= width && window.y + window.height <= height)
    var isOpaque = true
    for y in 0..<window.height {
      for x in 0..<window.width {
        let p = pixels[(window.y + y) * width + window.x + x]
        isOpaque = isOpaque && p.w == 255
        target.storeBytes(of: p, toByteOffset: y * rowBytes + x * 4, as: SIMD4<UInt8>.self)
      }
    }
    return isOpaque
  }
}

/// A raster's size, CRS and position; ``source(_:seed:)`` fills it with pixels.
struct SampleRaster: Sendable, CustomTestStringConvertible {
  let name: String
  let crs: String
  let width: Int
  let height: Int
  let affine: Affine

  var testDescription: String { name }

  init(_ name: String, _ crs: String, _ width: Int, _ height: Int, _ affine: Affine) {
    (self.name, self.crs, self.width, self.height, self.affine) = (name, crs, width, height, affine)
  }

  /// A north-up raster with the given top left corner and pixel size.
  init(_ name: String, _ crs: String, _ width: Int, _ height: Int, left: Double, top: Double, pixel: Double) {
    self.init(name, crs, width, height, Affine(a: pixel, b: 0, c: left, d: 0, e: -pixel, f: top))
  }

  /// All kinds of mapping that a warp meets: equal pixels, shifted, scaled, separable, curved, rotated, mirrored,
  /// across the antimeridian, around a pole.
  static let all = [
    SampleRaster(
      "Mercator, pixels of zoom 9 shifted by 0.3", "EPSG:3857", 90, 70, left: 1_000_091.7, top: 6_000_150.3,
      pixel: 305.748_113_1),
    SampleRaster("Mercator, not a zoom's pixels", "EPSG:3857", 80, 60, left: 1e6, top: 6e6, pixel: 211),
    SampleRaster("degrees", "EPSG:4326", 90, 60, left: 12, top: 61, pixel: 0.01),
    SampleRaster("degrees, south up", "EPSG:4326", 60, 60, Affine(a: 0.02, b: 0, c: -70, d: 0, e: 0.015, f: -35)),
    SampleRaster("the world in 0...360", "EPSG:4326", 90, 45, left: 0, top: 90, pixel: 4),
    SampleRaster("the world from -170", "EPSG:4326", 120, 60, left: -170, top: 90, pixel: 3),
    SampleRaster("across the antimeridian in degrees", "EPSG:4326", 80, 60, left: 170, top: 20, pixel: 0.25),
    SampleRaster("a few pixels across the antimeridian", "EPSG:4326", 6, 30, left: 172, top: 45, pixel: 3),
    SampleRaster("across the antimeridian in Mercator", "EPSG:3857", 60, 60, left: 19_900_000, top: 2e6, pixel: 5000),
    SampleRaster("UTM", "EPSG:32633", 90, 80, left: 400_000, top: 5_600_000, pixel: 500),
    SampleRaster("UTM across the antimeridian", "EPSG:32660", 80, 60, left: 600_000, top: 5_800_000, pixel: 2500),
    SampleRaster("NAD27 across the antimeridian", "EPSG:4267", 80, 50, left: 175, top: 55, pixel: 0.125),
    SampleRaster("Alaska Albers", "EPSG:3338", 80, 60, left: -1_500_000, top: 2_300_000, pixel: 40_000),
    SampleRaster(
      "rotated by 30 degrees", "EPSG:4326", 80, 60, Affine(a: 0.0866, b: 0.05, c: 5, d: 0.05, e: -0.0866, f: 45)),
    SampleRaster("turned by 90 degrees", "EPSG:3857", 70, 50, Affine(a: 0, b: 900, c: 1e6, d: -900, e: 0, f: 5e6)),
    SampleRaster("round the South Pole", "EPSG:3031", 80, 80, left: -2e6, top: 2e6, pixel: 50_000),
    SampleRaster("long pixels", "EPSG:4326", 90, 20, Affine(a: 0.01, b: 0, c: 8, d: 0, e: -0.05, f: 48)),
  ]

  enum Filling: String, CaseIterable, Sendable {
    case opaque, mask, soft
  }

  /// Random noise, the hardest input for a resampler: opaque, with holes, or with any alpha.
  func source(_ filling: Filling, seed: UInt64) throws -> ArraySource {
    var random = SeededGenerator(seed: seed)
    return ArraySource(
      width: width, height: height, alphaKind: filling == .opaque ? .opaque : filling == .mask ? .mask : .soft,
      crs: try CoordinateReferenceSystem(definition: crs), affine: affine
    ) { _, _ in
      let bits = random.next()
      let alpha: UInt8 =
        switch filling {
        case .opaque: 255
        case .mask: bits >> 32 & 7 == 0 ? 0 : 255
        case .soft: bits >> 40 & 3 == 0 ? 0 : bits >> 40 & 3 == 1 ? 255 : UInt8(truncatingIfNeeded: bits >> 48)
        }
      return SIMD4(
        UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8), UInt8(truncatingIfNeeded: bits >> 16),
        alpha)
    }
  }
}
