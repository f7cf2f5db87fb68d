import TestSupport
import TileImage

/// Images of the kinds that occur in maps, reproducible from a seed.
enum Pictures: String, CaseIterable, Sendable {
  case noise, opaqueNoise, photographic, photographicWithHoles, grey, fewGreys, greyWithAlpha, twoColours, fourColours
  case sixteenColours, manyFlatColours, fewColoursWithAlpha, palette256, palette257, cartography, transparent, uniform

  func make(width: Int, height: Int, seed: UInt64) -> PixelBuffer {
    var random = SeededGenerator(seed: seed)
    let buffer = PixelBuffer(width: width, height: height)
    let colours = (0..<257).map { i in
      // Distinct in red and green.
      RGBA(red: UInt8(i % 251), green: UInt8(i / 251 * 7), blue: UInt8.random(in: 0...255, using: &random))
    }
    let phase = SIMD2(Double.random(in: 0...7, using: &random), Double.random(in: 0...7, using: &random))
    var count = 0
    for y in 0..<height {
      for x in 0..<width {
        buffer[x, y] = colour(x, y, count, phase, colours, &random)
        count += 1
      }
    }
    return buffer
  }

  private func colour(
    _ x: Int, _ y: Int, _ count: Int, _ phase: SIMD2<Double>, _ colours: [RGBA], _ random: inout SeededGenerator
  ) -> RGBA {
    func byte(_ range: ClosedRange<UInt8> = 0...255) -> UInt8 { UInt8.random(in: range, using: &random) }
    // A smooth hilly surface of 0 to 1 with a little noise.
    func surface(_ k: Double) -> Double {
      let u = Double(x) * 0.031 * k + phase.x
      let v = Double(y) * 0.043 + phase.y
      let waves = u.truncatingRemainder(dividingBy: 2) - 1 + (v.truncatingRemainder(dividingBy: 2) - 1) * 0.7
      return min(max(0.5 + waves * 0.25 + Double.random(in: -0.02...0.02, using: &random), 0), 1)
    }
    func level(_ k: Double) -> UInt8 { UInt8(surface(k) * 255) }
    let cell = (x / 17 * 5 + y / 13 * 3)
    switch self {
    case .noise: return RGBA(red: byte(), green: byte(), blue: byte(), alpha: byte())
    case .opaqueNoise: return RGBA(red: byte(), green: byte(), blue: byte())
    case .photographic: return RGBA(red: level(1), green: level(0.9), blue: level(1.3))
    case .photographicWithHoles:
      return RGBA(
        red: level(1), green: level(0.9), blue: level(1.3), alpha: cell % 3 == 0 ? 0 : cell % 7 == 0 ? 99 : 255)
    case .grey:
      let value = level(1)
      return RGBA(red: value, green: value, blue: value)
    case .fewGreys:
      let value = level(1) / 85 * 85
      return RGBA(red: value, green: value, blue: value)
    case .greyWithAlpha:
      let value = level(1)
      return RGBA(red: value, green: value, blue: value, alpha: byte())
    case .twoColours: return colours[cell % 2]
    case .fourColours: return colours[(x ^ y) % 4]
    case .sixteenColours: return colours[Int(byte(0...15))]
    case .manyFlatColours: return colours[cell % 200]
    case .fewColoursWithAlpha:
      var colour = colours[cell % 11]
      colour.alpha = [255, 255, 0, 128, 255][cell % 11 % 5]
      return colour
    case .palette256: return colours[count % 256]
    case .palette257: return colours[count % 257]
    case .cartography:
      // Flat areas with antialiased edges.
      let edge = x % 17 == 0
      let base = colours[cell % 9]
      let other = colours[(cell + 5) % 9]
      let part = Double(y % 40) / 40
      func mix(_ a: UInt8, _ b: UInt8) -> UInt8 { UInt8(Double(a) * part + Double(b) * (1 - part)) }
      return edge
        ? RGBA(red: mix(base.red, other.red), green: byte(), blue: mix(base.blue, other.blue)) : base
    case .transparent: return .transparent
    case .uniform: return colours[200]
    }
  }
}

extension PixelBuffer {
  /// One pixel. Setting a colour with alpha 0 stores zeros, as the buffer requires.
  subscript(x: Int, y: Int) -> RGBA {
    get { RGBA(word: bytes.load(fromByteOffset: y * rowBytes + x * 4, as: UInt32.self)) }
    set {
      let word = newValue.alpha == 0 ? 0 : newValue.word
      bytes.storeBytes(of: word, toByteOffset: y * rowBytes + x * 4, as: UInt32.self)
    }
  }

  /// The pixels as bytes, for comparison.
  var content: [UInt8] { [UInt8](UnsafeRawBufferPointer(start: bytes, count: byteCount)) }

  /// The first pixel that differs, or nil, as a short message.
  func difference(from other: PixelBuffer) -> String? {
    guard width == other.width && height == other.height else {
      return "\(width) x \(height) against \(other.width) x \(other.height)"
    }
    for y in 0..<height {
      for x in 0..<width where self[x, y] != other[x, y] { return "(\(x), \(y)): \(self[x, y]) against \(other[x, y])" }
    }
    return nil
  }
}

/// Decodes an array of bytes.
func decode(_ bytes: [UInt8]) throws -> PixelBuffer { try bytes.withUnsafeBytes { try ImageDecoder.decode($0) } }
