/// A colour of a map: red, green, blue and alpha, straight, 0 to 255.
public struct MapColour: Hashable, Sendable, Codable {
  /// 0 to 255.
  public let red: UInt8
  /// 0 to 255.
  public let green: UInt8
  /// 0 to 255.
  public let blue: UInt8
  /// 0 (clear) to 255 (opaque).
  public let alpha: UInt8

  /// A colour of sRGB, not premultiplied.
  public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
    (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
  }

  /// Opaque white.
  public static let white = MapColour(red: 255, green: 255, blue: 255)

  /// The colour as a word, red in the lowest byte.
  package var word: UInt32 {
    UInt32(red) | UInt32(green) << 8 | UInt32(blue) << 16 | UInt32(alpha) << 24
  }

  /// Reads a CSS colour: `#rgb`, `#rrggbb`, either with alpha, `rgb()`, `rgba()`, `hsl()`, `hsla()`, or a name.
  ///
  /// - Returns: nil if the text is none.
  public init?(_ text: String) {
    let text = text.lowercased()
    if text.hasPrefix("#") {
      guard let colour = Self.hexadecimal(text.dropFirst()) else { return nil }
      self = colour
    } else if let open = text.firstIndex(of: "("), text.hasSuffix(")") {
      let parts = text[text.index(after: open)...].dropLast()
        .split { $0 == "," || $0 == " " || $0 == "/" }.map(String.init)
      guard let colour = Self.function(String(text[..<open]), parts) else { return nil }
      self = colour
    } else {
      guard let word = Self.named[text] else { return nil }
      self.init(
        red: UInt8(word >> 16 & 255), green: UInt8(word >> 8 & 255), blue: UInt8(word & 255),
        alpha: text == "transparent" ? 0 : 255)
    }
  }

  private static func hexadecimal(_ digits: Substring) -> MapColour? {
    let values = digits.compactMap(\.hexDigitValue)
    guard values.count == digits.count else { return nil }
    let bytes: [Int]
    switch values.count {
    case 3, 4: bytes = values.map { $0 * 17 }
    case 6, 8: bytes = stride(from: 0, to: values.count, by: 2).map { values[$0] * 16 + values[$0 + 1] }
    default: return nil
    }
    let parts = bytes.map { UInt8($0) }
    return MapColour(red: parts[0], green: parts[1], blue: parts[2], alpha: parts.count == 4 ? parts[3] : 255)
  }

  private static func function(_ name: String, _ parts: [String]) -> MapColour? {
    func number(_ text: String, percentOf whole: Double) -> Double? {
      let value = text.hasSuffix("%") ? Double(text.dropLast()).map { $0 / 100 * whole } : Double(text)
      return value.flatMap { $0.isFinite ? $0 : nil }
    }
    func byte(_ value: Double) -> UInt8 { UInt8(max(0, min(255, value.rounded()))) }
    guard (3...4).contains(parts.count),
      let alpha = parts.count == 4 ? number(parts[3], percentOf: 1) : 1
    else { return nil }
    switch name {
    case "rgb", "rgba":
      let values = parts.prefix(3).compactMap { number($0, percentOf: 255) }
      guard values.count == 3 else { return nil }
      return MapColour(
        red: byte(values[0]), green: byte(values[1]), blue: byte(values[2]), alpha: byte(alpha * 255))
    case "hsl", "hsla":
      guard let hue = Double(parts[0]), hue.isFinite, let saturation = number(parts[1], percentOf: 1),
        let lightness = number(parts[2], percentOf: 1)
      else { return nil }
      let chroma = saturation * min(lightness, 1 - lightness)
      // CSS Color Module Level 3, section 4.2.4.
      func channel(_ n: Double) -> UInt8 {
        let k = (n + hue / 30).truncatingRemainder(dividingBy: 12)
        let turned = k < 0 ? k + 12 : k
        return byte((lightness - chroma * max(-1, min(turned - 3, 9 - turned, 1))) * 255)
      }
      return MapColour(red: channel(0), green: channel(8), blue: channel(4), alpha: byte(alpha * 255))
    default: return nil
    }
  }
}
