/// The outline of a glyph or of an icon: straight lines and cubic curves, which are filled by the nonzero rule.
struct Outline: Sendable {
  enum Step: Sendable {
    case move(SIMD2<Double>)
    case line(SIMD2<Double>)
    case curve(SIMD2<Double>, SIMD2<Double>, to: SIMD2<Double>)
    case close

    func mapped(_ map: (SIMD2<Double>) -> SIMD2<Double>) -> Step {
      switch self {
      case .move(let point): .move(map(point))
      case .line(let point): .line(map(point))
      case .curve(let one, let two, let end): .curve(map(one), map(two), to: map(end))
      case .close: .close
      }
    }
  }

  var steps: [Step] = []

  /// The box around all points, those that curves only bend to included; nil without points.
  var box: PixelBox? {
    PixelBox(
      around: steps.flatMap { step -> [SIMD2<Double>] in
        switch step {
        case .move(let point), .line(let point): [point]
        case .curve(let one, let two, let end): [one, two, end]
        case .close: []
        }
      })
  }

  mutating func addCircle(_ centre: SIMD2<Double>, radius: Double) {
    // The distance of control points at which four curves are nearest to a circle.
    let k = radius * 0.5522847498
    let (x, y) = (SIMD2(radius, 0), SIMD2(0, radius))
    let (kx, ky) = (SIMD2(k, 0), SIMD2(0, k))
    steps.append(.move(centre + x))
    steps.append(.curve(centre + x + ky, centre + y + kx, to: centre + y))
    steps.append(.curve(centre + y - kx, centre - x + ky, to: centre - x))
    steps.append(.curve(centre - x - ky, centre - y - kx, to: centre - y))
    steps.append(.curve(centre - y + kx, centre + x - ky, to: centre + x))
    steps.append(.close)
  }

  mutating func addRectangle(_ low: SIMD2<Double>, _ high: SIMD2<Double>, radius: Double = 0) {
    let k = radius * 0.4477152502
    func corner(_ from: SIMD2<Double>, _ at: SIMD2<Double>, _ to: SIMD2<Double>) {
      steps.append(.line(from))
      let (a, b) = (at + (from - at) * (radius > 0 ? k / radius : 0), at + (to - at) * (radius > 0 ? k / radius : 0))
      steps.append(.curve(a, b, to: to))
    }
    steps.append(.move(SIMD2(low.x + radius, low.y)))
    corner(SIMD2(high.x - radius, low.y), SIMD2(high.x, low.y), SIMD2(high.x, low.y + radius))
    corner(SIMD2(high.x, high.y - radius), high, SIMD2(high.x - radius, high.y))
    corner(SIMD2(low.x + radius, high.y), SIMD2(low.x, high.y), SIMD2(low.x, high.y - radius))
    corner(SIMD2(low.x, low.y + radius), low, SIMD2(low.x + radius, low.y))
    steps.append(.close)
  }

  mutating func addPolygon(_ points: [SIMD2<Double>]) {
    for (index, point) in points.enumerated() { steps.append(index == 0 ? .move(point) : .line(point)) }
    steps.append(.close)
  }
}

/// An outline at its place: turned, scaled and moved.
struct PlacedOutline: Sendable {
  let outline: Outline
  /// Where the outline's origin lies.
  var place: SIMD2<Double>
  /// The outline's direction to the right; its length is the scale.
  var across = SIMD2(1.0, 0)

  func point(_ point: SIMD2<Double>) -> SIMD2<Double> {
    place + across * point.x + SIMD2(-across.y, across.x) * point.y
  }

  /// A box around it.
  var box: PixelBox? {
    outline.box.flatMap { box in
      PixelBox(around: [box.low, SIMD2(box.high.x, box.low.y), box.high, SIMD2(box.low.x, box.high.y)].map(point))
    }
  }
}
