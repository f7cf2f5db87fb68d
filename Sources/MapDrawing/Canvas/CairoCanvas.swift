import CCairo
import CCairoShim
import LibC
import RegionCatalog
import TileImage

/// A tile's pixels to draw on with cairo: 32-bit premultiplied, transparent at first. One per worker thread.
///
/// Coordinates are pixels from the tile's top left corner. Cairo keeps them in 1/256 pixels and is exact within 8
/// million pixels; shapes are cut long before.
final class CairoCanvas {
  let width: Int
  let height: Int
  private let pixels: UnsafeMutablePointer<UInt32>
  private let surface: OpaquePointer
  private let context: OpaquePointer
  private(set) var isTouched = false

  init(width: Int, height: Int) throws(DrawingError) {
    (self.width, self.height) = (width, height)
    pixels = .allocate(capacity: width * height)
    pixels.update(repeating: 0, count: width * height)
    let bytes = UnsafeMutableRawPointer(pixels).assumingMemoryBound(to: UInt8.self)
    surface = cairo_image_surface_create_for_data(
      bytes, CAIRO_FORMAT_ARGB32, Int32(width), Int32(height), Int32(width * 4))
    context = cairo_create(surface)
    cairo_set_fill_rule(context, CAIRO_FILL_RULE_EVEN_ODD)
  }

  deinit {
    cairo_destroy(context)
    cairo_surface_destroy(surface)
    pixels.deallocate()
  }

  /// Makes all pixels transparent.
  func clear() {
    guard isTouched else { return }
    pixels.update(repeating: 0, count: width * height)
    cairo_surface_mark_dirty(surface)
    isTouched = false
  }

  // MARK: - Paths

  func move(to point: SIMD2<Double>) { cairo_move_to(context, point.x, point.y) }
  func line(to point: SIMD2<Double>) { cairo_line_to(context, point.x, point.y) }
  func close() { cairo_close_path(context) }

  func circle(_ centre: SIMD2<Double>, radius: Double) {
    cairo_new_sub_path(context)
    cairo_arc(context, centre.x, centre.y, radius, 0, 2 * .pi)
  }

  /// Adds outlines to the path.
  func add(_ outlines: [PlacedOutline], at origin: SIMD2<Double>) {
    for placed in outlines {
      for step in placed.outline.steps {
        switch step.mapped({ origin + placed.point($0) }) {
        case .move(let point): move(to: point)
        case .line(let point): line(to: point)
        case .curve(let a, let b, let c): cairo_curve_to(context, a.x, a.y, b.x, b.y, c.x, c.y)
        case .close: close()
        }
      }
    }
  }

  // MARK: - Painting

  /// Fills outlines over a halo around them.
  func draw(_ outlines: [PlacedOutline], at origin: SIMD2<Double>, _ ink: Ink, halo: Pen?) {
    cairo_set_fill_rule(context, CAIRO_FILL_RULE_WINDING)
    add(outlines, at: origin)
    if let halo { stroke(halo, keepingPath: ink.isVisible) }
    if ink.isVisible { fill(ink) }
    cairo_set_fill_rule(context, CAIRO_FILL_RULE_EVEN_ODD)
  }

  /// Draws a picture with its middle at a place, turned and scaled.
  func draw(_ picture: IconPicture, at place: SIMD2<Double>, across: SIMD2<Double>, opacity: Double) {
    let surface = cairo_image_surface_create_for_data(
      UnsafeMutableRawPointer(picture.pixels).assumingMemoryBound(to: UInt8.self), CAIRO_FORMAT_ARGB32,
      Int32(picture.width), Int32(picture.height), Int32(picture.width * 4))
    cairo_save(context)
    cairo_translate(context, place.x, place.y)
    let scale = across.length / picture.scale
    cairo_rotate(context, atan2(across.y, across.x))
    cairo_scale(context, scale, scale)
    cairo_set_source_surface(context, surface, -Double(picture.width) / 2, -Double(picture.height) / 2)
    // With sharp edges.
    cairo_pattern_set_extend(cairo_get_source(context), CAIRO_EXTEND_PAD)
    cairo_rectangle(
      context, -Double(picture.width) / 2, -Double(picture.height) / 2, Double(picture.width), Double(picture.height))
    cairo_clip(context)
    cairo_paint_with_alpha(context, opacity)
    cairo_restore(context)
    cairo_surface_destroy(surface)
    isTouched = true
  }

  /// Fills the path by the even-odd rule.
  ///
  /// - Parameter keepingPath: whether the path is needed again.
  func fill(_ ink: Ink, keepingPath: Bool = false) {
    set(ink)
    if keepingPath { cairo_fill_preserve(context) } else { cairo_fill(context) }
    isTouched = true
  }

  /// Draws a line along the path, without dashes: these are lines of their own (``LineShape/dashes(_:in:hasCaps:)``).
  func stroke(_ pen: Pen, keepingPath: Bool = false) {
    set(pen.ink)
    cairo_set_line_width(context, pen.width)
    cairo_set_line_cap(context, pen.cap.cairo)
    cairo_set_line_join(context, pen.join.cairo)
    cairo_set_miter_limit(context, pen.miterLimit)
    if keepingPath { cairo_stroke_preserve(context) } else { cairo_stroke(context) }
    isTouched = true
  }

  private func set(_ ink: Ink) {
    let colour = ink.colour
    cairo_set_source_rgba(
      context, Double(colour.red) / 255, Double(colour.green) / 255, Double(colour.blue) / 255,
      Double(colour.alpha) / 255 * ink.opacity)
  }

  /// - Throws: ``DrawingError`` if cairo could not draw.
  func check() throws(DrawingError) {
    let status = cairo_status(context)
    guard status != CAIRO_STATUS_SUCCESS else { return }
    throw DrawingError(
      message: "cairo cannot draw: \(String(cString: cairo_status_to_string(status)))", remedy: "free some memory")
  }

  /// Composites what was drawn over a picture of the same size.
  ///
  /// - Parameter insideOnly: draws on visible pixels alone, as far as they are opaque.
  func draw(over target: PixelBuffer, insideOnly: Bool) {
    cairo_surface_flush(surface)
    Overlay.draw(premultiplied: pixels, over: target, insideOnly: insideOnly)
  }
}

/// A colour, possibly faded.
struct Ink: Hashable {
  var colour: MapColour
  var opacity = 1.0

  var isVisible: Bool { colour.alpha > 0 && opacity > 0 }
}

/// How a line is drawn; lengths in pixels.
struct Pen: Hashable {
  enum Cap: String, Hashable {
    case butt, round, square

    var cairo: cairo_line_cap_t {
      switch self {
      case .butt: CAIRO_LINE_CAP_BUTT
      case .round: CAIRO_LINE_CAP_ROUND
      case .square: CAIRO_LINE_CAP_SQUARE
      }
    }
  }

  enum Join: String, Hashable {
    case miter, round, bevel

    var cairo: cairo_line_join_t {
      switch self {
      case .miter: CAIRO_LINE_JOIN_MITER
      case .round: CAIRO_LINE_JOIN_ROUND
      case .bevel: CAIRO_LINE_JOIN_BEVEL
      }
    }
  }

  var ink: Ink
  var width: Double
  /// How far the line lies to the right of its path, and of a polygon's rings within it.
  var offset = 0.0
  var cap: Cap = .butt
  var join: Join = .miter
  var miterLimit = 2.0
  var dashes: [Double] = []

  /// How far the line reaches from its path, in pixels.
  var reach: Double { width / 2 * max(join == .miter ? miterLimit : 1, cap == .square ? 1.5 : 1) + 1 }
}
