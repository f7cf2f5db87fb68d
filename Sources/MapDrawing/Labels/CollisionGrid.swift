/// The boxes of the labels that have their place, by squares of pixels.
struct CollisionGrid {
  private var boxes: [PixelBox] = []
  private var squares: [SIMD2<Int>: [Int]] = [:]

  private static let edge = 128.0

  /// Whether a box overlaps one that is here.
  func meets(_ box: PixelBox) -> Bool {
    var found = false
    Self.forEachSquare(box) { square in
      found = found || squares[square]?.contains { boxes[$0].overlaps(box) } ?? false
    }
    return found
  }

  mutating func add(_ box: PixelBox) {
    let number = boxes.count
    boxes.append(box)
    Self.forEachSquare(box) { squares[$0, default: []].append(number) }
  }

  private static func forEachSquare(_ box: PixelBox, _ body: (SIMD2<Int>) -> Void) {
    let (first, last) = ((box.low / edge).rounded(.down), (box.high / edge).rounded(.down))
    for y in Int(first.y)...Int(last.y) {
      for x in Int(first.x)...Int(last.x) { body(SIMD2(x, y)) }
    }
  }
}
