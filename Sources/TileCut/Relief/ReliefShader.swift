import LibC
import RegionCatalog

/// The pixel of a height and a slope: shading and tint as `gdaldem` computes them, and how they are combined.
struct ReliefShader: Sendable {
  private let style: ReliefLayer
  private let sines: (altitude: Double, azimuth: Double)
  private let cosines: (altitude: Double, azimuth: Double)
  /// The light of level ground, from 0 to 1.
  private let level: Double
  private let values: [Double]
  private let colours: [SIMD4<Double>]
  private let highlightColour: SIMD4<Double>
  /// What full shade takes of each channel, from 0 to 1.
  private let shadow: SIMD4<Double>
  /// As words of an overlay, without alpha.
  private let overlayColours: (shadow: UInt32, highlight: UInt32)

  private static func channels(_ word: UInt32) -> SIMD4<Double> {
    SIMD4((0..<4).map { Double(word >> UInt32(8 * $0) & 255) })
  }

  /// How far the brightest slope goes towards the colour of lit ones; full shade multiplies by that of shadows.
  private static let highlight = 0.5

  init(_ style: ReliefLayer) {
    self.style = style
    let (altitude, azimuth) = (style.altitude * .pi / 180, style.azimuth * .pi / 180)
    sines = (sin(altitude), sin(azimuth))
    cosines = (cos(altitude), cos(azimuth))
    level = style.shading == .slope ? 1 : sin(altitude)
    let stops = style.tint?.stops ?? []
    values = stops.map(\.value)
    colours = stops.map { Self.channels($0.rgba) }
    highlightColour = Self.channels(style.highlightColour.word)
    shadow = 1 - Self.channels(style.shadowColour.word) / 255
    overlayColours = (style.shadowColour.word & 0xff_ffff, style.highlightColour.word & 0xff_ffff)
  }

  /// A straight RGBA word.
  ///
  /// - Parameters:
  ///   - east: the slope towards the east: rise over run, not exaggerated; `north` likewise.
  @inline(__always)
  func word(height: Float, east: Double, north: Double) -> UInt32 {
    let light = style.shading == .none ? level : light(east * style.exaggeration, north * style.exaggeration)
    if style.isOverlay { return overlay(light) }
    guard !values.isEmpty else {
      // gdaldem keeps 0 for nodata: shades go from 1 to 255.
      let shown = level + (light - level) * style.strength
      let grey = UInt32(style.shading == .slope ? shown * 255 + 0.5 : 1 + shown * 254 + 0.5)
      return 0xff00_0000 | grey &* 0x0001_0101
    }
    let value =
      style.tintBy == .elevation
      ? Double(height) : atan((east * east + north * north).squareRoot() * style.exaggeration) * 180 / .pi
    var colour = tint(value)
    let alpha = colour.w
    let (shade, gleam) = contrast(light)
    colour = (colour + (highlightColour - colour) * gleam) * (1 - shadow * shade)
    colour.w = alpha
    return Self.packed(colour)
  }

  /// The light on a slope, from 0 to 1.
  @inline(__always)
  private func light(_ east: Double, _ north: Double) -> Double {
    let steepness2 = east * east + north * north
    switch style.shading {
    case .hillshade:
      let towards = east * sines.azimuth + north * cosines.azimuth
      return max((sines.altitude - cosines.altitude * towards) / (1 + steepness2).squareRoot(), 0)
    case .multidirectional: return lights(east, north, steepness2)
    case .slope: return 1 - atan(steepness2.squareRoot()) * 2 / .pi
    case .none: return level
    }
  }

  /// Four lights, each weighted by the square of the slope's part towards or away from it.
  private func lights(_ east: Double, _ north: Double, _ steepness2: Double) -> Double {
    guard steepness2 > 0 else { return sines.altitude }
    let half = 0.5.squareRoot()
    var sum = 0.0
    // 225, 270, 315 and 360 degrees.
    for towards in [-(east + north) * half, -east, (north - east) * half, north] {
      sum += towards * towards * max(sines.altitude - cosines.altitude * towards, 0)
    }
    // The weights of two perpendicular lights add up to the whole.
    return sum / (2 * steepness2) / (1 + steepness2).squareRoot()
  }

  /// How far a light darkens a colour, or lightens it; one of the two is 0.
  @inline(__always)
  private func contrast(_ light: Double) -> (shade: Double, gleam: Double) {
    if light <= level { return (style.strength * (1 - light / level), 0) }
    return (0, style.strength * Self.highlight * (light - level) / (1 - level))
  }

  /// The colour of shadows or of lit slopes with alpha; level ground is transparent.
  private func overlay(_ light: Double) -> UInt32 {
    let (shade, gleam) = contrast(light)
    let alpha = UInt32(max(shade, gleam) * 255 + 0.5)
    return alpha == 0 ? 0 : alpha << 24 | (gleam > shade ? overlayColours.highlight : overlayColours.shadow)
  }

  private func tint(_ value: Double) -> SIMD4<Double> {
    var (low, high) = (0, values.count)
    // The first stop above the value.
    while low < high {
      let middle = (low + high) / 2
      if values[middle] > value { high = middle } else { low = middle + 1 }
    }
    guard low > 0 else { return colours[0] }
    guard low < values.count else { return colours[low - 1] }
    let share = (value - values[low - 1]) / (values[low] - values[low - 1])
    return colours[low - 1] + (colours[low] - colours[low - 1]) * share
  }

  private static func packed(_ colour: SIMD4<Double>) -> UInt32 {
    let alpha = UInt32(colour.w + 0.5)
    guard alpha > 0 else { return 0 }
    return UInt32(colour.x + 0.5) | UInt32(colour.y + 0.5) << 8 | UInt32(colour.z + 0.5) << 16 | alpha << 24
  }
}
