import RegionCatalog
import TileIndex

/// Lines of whole degrees, minutes or seconds, with labels where they leave the map.
package struct Graticule: Sendable {
  /// Degrees between lines; nil chooses for each zoom.
  let interval: Double?

  package init(interval: Double? = nil) { self.interval = interval }

  /// Seconds of arc between lines, from the coarsest.
  static let steps = [
    324_000, 162_000, 108_000, 72_000, 36_000, 18_000, 7_200, 3_600, 1_800, 1_200, 600, 300, 120, 60, 30, 20, 10, 5, 2,
    1,
  ]
  /// The least distance of lines, in pixels of the screen, unless the interval is given.
  static let distanceMin = 180.0
  /// More lines would be a grey area.
  static let linesMax = 1_000

  /// The lines within what a map shows, with the properties `degrees` and `axis`; and points at their ends with
  /// `label`, such as 105°30′W, `axis`, and the `edge` at which they lie.
  func features(_ matrixSet: TileMatrixSet, zoom: Int, density: Double, _ frame: LabelFrame) -> [MapFeature] {
    if case .fitted = matrixSet.projection { return curves(matrixSet, zoom: zoom, density: density, frame) }
    let (matrix, box) = (matrixSet[zoom], frame.box(zoom))
    func degrees(_ pixel: SIMD2<Double>) -> SIMD2<Double> {
      let place = matrixSet.coordinate(of: matrix.point(atPixel: pixel))
      return SIMD2(place.longitude, place.latitude)
    }
    let (northWest, southEast) = (degrees(box.low), degrees(box.high))
    let span = SIMD2(southEast.x - northWest.x, northWest.y - southEast.y)
    guard span.x > 0, span.y > 0 else { return [] }
    let scale = (box.high - box.low) / span / density
    let wanted = Self.steps.last { Double($0) / 3600 * min(scale.x, scale.y) >= Self.distanceMin }
    let seconds = max(interval.map { Int(($0 * 3600).rounded()) } ?? wanted ?? Self.steps[0], 1)
    let step = Double(seconds) / 3600
    guard span.x / step + span.y / step < Double(Self.linesMax) else { return [] }
    var features: [MapFeature] = []
    func numbers(_ low: Double, _ high: Double) -> ClosedRange<Int>? {
      let (first, last) = (Int((low / step).rounded(.up)), Int((high / step).rounded(.down)))
      return first <= last ? first...last : nil
    }
    func add(_ number: Int, isMeridian: Bool, _ ends: [(SIMD2<Double>, edge: String)]) {
      let axis = StyleValue.string(isMeridian ? "longitude" : "latitude")
      features.append(
        MapFeature(
          .lines([ends.map(\.0)]), properties: ["axis": axis, "degrees": .number(Double(number * seconds) / 3600)]))
      let label = Self.label(seconds: number * seconds, isMeridian: isMeridian)
      for (place, edge) in ends {
        features.append(
          MapFeature(.points([place]), properties: ["axis": axis, "label": .string(label), "edge": .string(edge)]))
      }
    }
    if let meridians = numbers(northWest.x, southEast.x) {
      for number in meridians {
        let x = Double(number) * step
        add(number, isMeridian: true, [(SIMD2(x, northWest.y), edge: "top"), (SIMD2(x, southEast.y), edge: "bottom")])
      }
    }
    if let parallels = numbers(southEast.y, northWest.y) {
      for number in parallels {
        let y = Double(number) * step
        add(number, isMeridian: false, [(SIMD2(northWest.x, y), edge: "left"), (SIMD2(southEast.x, y), edge: "right")])
      }
    }
    return features
  }

  static func label(seconds: Int, isMeridian: Bool) -> String {
    var whole = seconds
    if isMeridian {
      // Beyond the antimeridian the numbers begin again.
      whole = (seconds + 648_000) % 1_296_000
      whole = (whole < 0 ? whole + 1_296_000 : whole) - 648_000
    }
    let size = whole.magnitude
    let (degrees, minutes, rest) = (size / 3600, size / 60 % 60, size % 60)
    func two(_ number: UInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
    var text = "\(degrees)°"
    if minutes != 0 || rest != 0 { text += "\(two(minutes))′" }
    if rest != 0 { text += "\(two(rest))″" }
    guard whole != 0, whole != -648_000 else { return text }
    return text + (isMeridian ? (whole < 0 ? "W" : "E") : (whole < 0 ? "S" : "N"))
  }
}
