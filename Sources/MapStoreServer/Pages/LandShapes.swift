import TileIndex

/// The countries of the world, for the coverage map: land.bin, from Natural Earth's 1:110m countries (public domain).
/// scripts/make-land.py writes it and describes its form.
enum LandShapes {
  struct Ring: Sendable {
    let points: [SIMD2<Double>]
    let lower: SIMD2<Double>
    let upper: SIMD2<Double>
  }

  /// In the unit square of Web Mercator: x east, y south.
  static let rings: [Ring] = {
    var bytes = PackageResources.land_bin[...]
    func varint() -> Int {
      var (value, shift) = (0, 0)
      while let byte = bytes.popFirst() {
        value |= Int(byte & 0x7f) << shift
        if byte & 0x80 == 0 { break }
        shift += 7
      }
      return value
    }
    func difference() -> Int {
      let value = varint()
      return value & 1 == 0 ? value >> 1 : -(value + 1) >> 1
    }
    var rings: [Ring] = []
    while !bytes.isEmpty {
      var (x, y) = (0, 0)
      let points = (0..<varint()).map { _ in
        x += difference()
        y += difference()
        return unit(longitude: Double(x) / 20, latitude: Double(y) / 20)
      }
      rings.append(
        Ring(
          points: points, lower: points.reduce(points[0]) { pointwiseMin($0, $1) },
          upper: points.reduce(points[0]) { pointwiseMax($0, $1) }))
    }
    return rings
  }()

  /// A place in the unit square of Web Mercator.
  static func unit(longitude: Double, latitude: Double) -> SIMD2<Double> {
    let place = WebMercator.project(longitude: longitude, latitude: latitude) / (2 * WebMercator.halfWorld)
    return SIMD2(0.5 + place.x, 0.5 - place.y)
  }
}
