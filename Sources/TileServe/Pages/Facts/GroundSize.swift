import TileIndex

/// How large a region is on the ground, in words.
enum GroundSize {
  /// `1,200 × 800 km`, or metres below 10 km; the width is that of the middle latitude.
  static func text(_ box: BoundingBox) -> String {
    let kilometresPerDegree = 2 * WebMercator.halfWorld / 360_000
    let width = box.width * kilometresPerDegree / WebMercator.scale(latitude: box.centre.y)
    let height = box.height * kilometresPerDegree
    return min(width, height) < 10
      ? "\(grouped(width * 1000)) × \(grouped(height * 1000)) m" : "\(grouped(width)) × \(grouped(height)) km"
  }

  /// Two significant digits, with commas between thousands.
  static func grouped(_ value: Double) -> String {
    guard value.isFinite, value >= 1 else { return "1" }
    var unit = 1.0
    while value / unit >= 100 { unit *= 10 }
    let digits = String(Int((value / unit).rounded() * unit))
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { text += "," }
      text.append(digit)
    }
    return text
  }
}
