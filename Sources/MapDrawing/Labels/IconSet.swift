/// An icon, drawn around its middle.
enum Icon: Sendable {
  /// Outlines in pixels of the screen, in one colour.
  case shape(Outline, badge: Outline?)
  case picture(IconPicture)

  /// Half of its width and height, in pixels of the screen.
  var reach: SIMD2<Double> {
    switch self {
    case .shape(let outline, let badge):
      guard let box = (badge ?? outline).box else { return .zero }
      return pointwiseMax(box.high, -box.low)
    case .picture(let picture): return SIMD2(Double(picture.width), Double(picture.height)) / (2 * picture.scale)
    }
  }
}

/// A file with an icon.
package enum IconFile: Sendable {
  case picture(IconPicture)
  case drawing(SVGDrawing)
}

/// The icons that a map knows: those of its own files, and a set for the outdoors.
///
/// Those of the set are 15 pixels of the screen large, and take the style's colour. With `-badge` after its name an
/// icon is white on a square of that colour.
struct IconSet: Sendable {
  /// By the names that styles use.
  private let files: [String: IconFile]

  init(_ files: [String: IconFile]) { self.files = files }

  /// Nil if there is no icon with that name.
  ///
  /// - Parameter scale: pixels of tiles for one of the icon, at which drawings are rendered.
  /// - Throws: ``DrawingError`` for a drawing that cannot be rendered.
  func icon(_ name: String, scale: Double) throws(DrawingError) -> Icon? {
    switch files[name] {
    case .picture(let picture): return .picture(picture)
    case .drawing(let drawing): return .picture(try drawing.picture(scale: scale))
    case nil: break
    }
    let suffix = "-badge"
    guard name.hasSuffix(suffix) else { return Self.outline(name).map { .shape($0, badge: nil) } }
    guard let outline = Self.outline(String(name.dropLast(suffix.count))) else { return nil }
    var square = Outline()
    square.addRectangle(SIMD2(-9.5, -9.5), SIMD2(9.5, 9.5), radius: 3)
    return .shape(outline, badge: square)
  }

  var names: [String] { (Array(Self.builders.keys) + Array(files.keys)).sorted() }

  private static func outline(_ name: String) -> Outline? {
    guard let build = builders[name] else { return nil }
    var outline = Outline()
    build(&outline)
    return outline
  }

  /// Coordinates are pixels from the middle, to the right and down.
  private static let builders: [String: @Sendable (inout Outline) -> Void] = [
    "circle": { $0.addCircle(.zero, radius: 5) },
    "square": { $0.addRectangle(SIMD2(-5, -5), SIMD2(5, 5)) },
    "triangle": { $0.addPolygon([SIMD2(0, -6), SIMD2(6.2, 5), SIMD2(-6.2, 5)]) },
    "diamond": { $0.addPolygon([SIMD2(0, -6), SIMD2(6, 0), SIMD2(0, 6), SIMD2(-6, 0)]) },
    "star": { outline in
      outline.addPolygon(star)
    },
    "peak": { outline in
      // A mountain, with its snow apart.
      outline.addPolygon([SIMD2(0, -6.5), SIMD2(2.5, -2.4), SIMD2(0.9, -1.2), SIMD2(-0.4, -2.6), SIMD2(-2.3, -2.6)])
      outline.addPolygon([
        SIMD2(-3, -1.4), SIMD2(-0.9, -1.4), SIMD2(0.8, 0.5), SIMD2(3.2, -1.2), SIMD2(7, 5.5), SIMD2(-7, 5.5),
      ])
    },
    "campground": { outline in
      // A tent with an open front: the opening turns the other way round.
      outline.addPolygon([
        SIMD2(-1.2, -6.5), SIMD2(0, -4.9), SIMD2(1.2, -6.5), SIMD2(2, -5.9), SIMD2(0.8, -3.9), SIMD2(7, 6),
        SIMD2(3.2, 6), SIMD2(0, 0.4), SIMD2(-3.2, 6), SIMD2(-7, 6), SIMD2(-0.8, -3.9), SIMD2(-2, -5.9),
      ])
    },
    "shelter": { outline in
      outline.addPolygon([
        SIMD2(0, -6.5), SIMD2(7, -0.5), SIMD2(5, -0.5), SIMD2(5, 6), SIMD2(1.7, 6), SIMD2(1.7, 1.5),
        SIMD2(-1.7, 1.5), SIMD2(-1.7, 6), SIMD2(-5, 6), SIMD2(-5, -0.5), SIMD2(-7, -0.5),
      ])
    },
    "trailhead": { outline in
      // A hiker with a stick.
      outline.addCircle(SIMD2(0.6, -5.4), radius: 1.6)
      outline.addPolygon([
        SIMD2(-0.8, -3.4), SIMD2(1.3, -3.4), SIMD2(2.2, -1.2), SIMD2(4.1, -0.4), SIMD2(3.7, 0.7), SIMD2(1.5, -0.2),
        SIMD2(1, -0.9), SIMD2(0.7, 1.1), SIMD2(2.5, 3), SIMD2(3.3, 6.6), SIMD2(1.9, 6.6), SIMD2(1.2, 3.6),
        SIMD2(-0.8, 1.8), SIMD2(-1.4, 4), SIMD2(-3.6, 6.6), SIMD2(-4.6, 5.7), SIMD2(-2.7, 3.4),
      ])
      outline.addPolygon([SIMD2(-3.9, -3.1), SIMD2(-1.6, -3.4), SIMD2(-2.5, 1), SIMD2(-4.3, 0.7)])
      outline.addPolygon([SIMD2(4.1, -1.8), SIMD2(4.9, -1.8), SIMD2(5.3, 6.6), SIMD2(4.5, 6.6)])
    },
    "viewpoint": { outline in
      // Rays of a wide view over the ground.
      outline.addPolygon([SIMD2(-7, 3.2), SIMD2(-2.2, 3.2), SIMD2(-2.2, 4.8), SIMD2(-7, 4.8)])
      outline.addPolygon([SIMD2(7, 4.8), SIMD2(2.2, 4.8), SIMD2(2.2, 3.2), SIMD2(7, 3.2)])
      outline.addPolygon([SIMD2(-6.3, -2.2), SIMD2(-5.5, -3.5), SIMD2(-1.5, 1.3), SIMD2(-2.1, 2)])
      outline.addPolygon([SIMD2(6.3, -2.2), SIMD2(2.1, 2), SIMD2(1.5, 1.3), SIMD2(5.5, -3.5)])
      outline.addPolygon([SIMD2(-0.8, -5.5), SIMD2(0.8, -5.5), SIMD2(0.5, 0.7), SIMD2(-0.5, 0.7)])
      outline.addCircle(SIMD2(0, 4), radius: 1.7)
    },
    "water": { outline in
      outline.steps += [
        .move(SIMD2(0, -7)), .curve(SIMD2(1.2, -3.5), SIMD2(4.6, -0.6), to: SIMD2(4.6, 2.4)),
        .curve(SIMD2(4.6, 5), SIMD2(2.5, 7), to: SIMD2(0, 7)),
        .curve(SIMD2(-2.5, 7), SIMD2(-4.6, 5), to: SIMD2(-4.6, 2.4)),
        .curve(SIMD2(-4.6, -0.6), SIMD2(-1.2, -3.5), to: SIMD2(0, -7)), .close,
      ]
    },
    "parking": { outline in
      // The letter, with its inner outline turning the other way round.
      outline.steps += [
        .move(SIMD2(-4, -6.5)), .line(SIMD2(0.8, -6.5)),
        .curve(SIMD2(3.4, -6.5), SIMD2(5, -4.8), to: SIMD2(5, -2.4)),
        .curve(SIMD2(5, 0), SIMD2(3.4, 1.7), to: SIMD2(0.8, 1.7)), .line(SIMD2(-1.4, 1.7)), .line(SIMD2(-1.4, 6.5)),
        .line(SIMD2(-4, 6.5)), .close,
        .move(SIMD2(-1.4, -4.2)), .line(SIMD2(-1.4, -0.6)), .line(SIMD2(0.6, -0.6)),
        .curve(SIMD2(1.7, -0.6), SIMD2(2.4, -1.3), to: SIMD2(2.4, -2.4)),
        .curve(SIMD2(2.4, -3.5), SIMD2(1.7, -4.2), to: SIMD2(0.6, -4.2)), .close,
      ]
    },
    "picnic": { outline in
      outline.addPolygon([SIMD2(-5, -4.5), SIMD2(5, -4.5), SIMD2(5, -2.7), SIMD2(-5, -2.7)])
      outline.addPolygon([SIMD2(-7, 0.4), SIMD2(7, 0.4), SIMD2(7, 2), SIMD2(-7, 2)])
      outline.addPolygon([SIMD2(-3.6, -2.7), SIMD2(-1.9, -2.7), SIMD2(-4.3, 5.6), SIMD2(-6, 5.6)])
      outline.addPolygon([SIMD2(3.6, -2.7), SIMD2(6, 5.6), SIMD2(4.3, 5.6), SIMD2(1.9, -2.7)])
    },
    "information": { outline in
      outline.addCircle(SIMD2(0.4, -4.9), radius: 1.7)
      outline.addPolygon([
        SIMD2(-2.6, -2), SIMD2(1.8, -2), SIMD2(1.8, 4.8), SIMD2(3.2, 4.8), SIMD2(3.2, 6.6), SIMD2(-3, 6.6),
        SIMD2(-3, 4.8), SIMD2(-1.2, 4.8), SIMD2(-1.2, -0.2), SIMD2(-2.6, -0.2),
      ])
    },
    "waterfall": { outline in
      for x in [-3.4, 0, 3.4] {
        outline.addRectangle(SIMD2(x - 0.9, -6.5), SIMD2(x + 0.9, x == 0 ? 3.6 : 2), radius: 0.8)
      }
      outline.addRectangle(SIMD2(-6.5, 4.6), SIMD2(6.5, 6.4), radius: 0.9)
    },
    "glacier": { outline in
      for turn in [SIMD2(1.0, 0), SIMD2(0.5, 0.866), SIMD2(-0.5, 0.866)] {
        let across = SIMD2(-turn.y, turn.x) * 0.8
        outline.addPolygon([turn * 6.5 + across, turn * -6.5 + across, turn * -6.5 - across, turn * 6.5 - across])
      }
      outline.addCircle(.zero, radius: 2.2)
    },
  ]

  private static let star: [SIMD2<Double>] = {
    // Corners of two regular pentagons, from the top, clockwise.
    let (outer, inner) = (6.5, 2.6)
    let turns: [SIMD2<Double>] = [
      SIMD2(0, -1), SIMD2(0.5878, -0.8090), SIMD2(0.9511, -0.3090), SIMD2(0.9511, 0.3090), SIMD2(0.5878, 0.8090),
      SIMD2(0, 1), SIMD2(-0.5878, 0.8090), SIMD2(-0.9511, 0.3090), SIMD2(-0.9511, -0.3090), SIMD2(-0.5878, -0.8090),
    ]
    return turns.enumerated().map { $0.element * ($0.offset.isMultiple(of: 2) ? outer : inner) }
  }()
}
