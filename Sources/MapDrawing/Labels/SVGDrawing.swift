import CCairo
import CCairoShim
import Support
import Synchronization

/// An icon as SVG, rendered anew for each scale, so that it is sharp at every density. What may take too long is
/// refused (``SVGCost``).
package final class SVGDrawing: Sendable {
  private let bytes: [UInt8]
  /// In pixels of the screen.
  private let size: SIMD2<Double>
  private let pictures = Mutex<[Double: IconPicture]>([:])
  private let cost: SVGCost

  /// The largest edge of an icon, in its own pixels, and of its rendering.
  private static let (edgeMax, pixelEdgeMax) = (1024.0, 4096.0)
  /// Of all pictures that are kept.
  private static let pixelCountMax = 1 << 24

  /// Reads the size: `width` and `height`, or else that of `viewBox`.
  ///
  /// - Throws: ``DrawingError`` for bytes that are no SVG, or without a size, or if the library is missing.
  package init(_ bytes: [UInt8]) throws(DrawingError) {
    try DrawingError.requireSVGLibrary()
    self.bytes = bytes
    cost = try SVGCost(bytes)
    let handle = try Self.handle(bytes)
    defer { g_object_unref(UnsafeMutableRawPointer(handle)) }
    let size = Self.size(handle)
    guard size.x > 0, size.y > 0, size.x <= Self.edgeMax, size.y <= Self.edgeMax else {
      throw DrawingError(
        message: "it has no size, or is larger than \(Int(Self.edgeMax)) pixels",
        remedy: "give it a width and a height in pixels", isOfStyle: true)
    }
    self.size = size
  }

  /// Whether a file is SVG, by its first bytes.
  package static func isSVG(_ bytes: [UInt8]) -> Bool {
    let start = UTF8Mark.removed(from: Array(bytes.prefix(1 << 12)))
    return start.first { !($0 == 32 || (9...13).contains($0)) } == UInt8(ascii: "<")
  }

  /// The icon with so many pixels for each of its own.
  ///
  /// - Throws: ``DrawingError`` for one that cannot be rendered.
  func picture(scale: Double) throws(DrawingError) -> IconPicture {
    if let known = pictures.withLock({ $0[scale] }) { return known }
    let pixels = (size * scale).rounded(.up)
    guard pixels.x <= Self.pixelEdgeMax, pixels.y <= Self.pixelEdgeMax else {
      throw DrawingError(
        message: "an icon is drawn \(Int(max(pixels.x, pixels.y))) pixels large",
        remedy: "give a smaller icon-size", isOfStyle: true)
    }
    try cost.check(width: Int(pixels.x), height: Int(pixels.y))
    let made = IconPicture(width: Int(pixels.x), height: Int(pixels.y), scale: scale)
    let handle = try Self.handle(bytes)
    defer { g_object_unref(UnsafeMutableRawPointer(handle)) }
    let surface = cairo_image_surface_create_for_data(
      UnsafeMutableRawPointer(made.pixels).assumingMemoryBound(to: UInt8.self), CAIRO_FORMAT_ARGB32,
      Int32(made.width), Int32(made.height), Int32(made.width * 4))
    defer { cairo_surface_destroy(surface) }
    let context = cairo_create(surface)
    defer { cairo_destroy(context) }
    // In the middle of whole pixels.
    let size = size * scale
    var viewport = CSVGRectangle(
      x: (pixels.x - size.x) / 2, y: (pixels.y - size.y) / 2, width: size.x, height: size.y)
    var problem: UnsafeMutablePointer<CGError>?
    guard rsvg_handle_render_document(handle, context, &viewport, &problem) != 0 else { throw Self.error(problem) }
    cairo_surface_flush(surface)
    pictures.withLock { pictures in
      // Sizes that vary with the zoom have a picture for each.
      let kept = pictures.values.reduce(0) { $0 + $1.width * $1.height }
      if kept + made.width * made.height > Self.pixelCountMax { pictures = [:] }
      pictures[scale] = made
    }
    return made
  }

  var keptPictureCount: Int { pictures.withLock { $0.count } }

  /// Zero if the drawing does not say it.
  private static func size(_ handle: OpaquePointer) -> SIMD2<Double> {
    var (width, height) = (0.0, 0.0)
    if rsvg_handle_get_intrinsic_size_in_pixels(handle, &width, &height) != 0 { return SIMD2(width, height) }
    var lengths = (CSVGLength(), CSVGLength())
    var (hasWidth, hasHeight, hasBox): (Int32, Int32, Int32) = (0, 0, 0)
    var box = CSVGRectangle()
    rsvg_handle_get_intrinsic_dimensions(handle, &hasWidth, &lengths.0, &hasHeight, &lengths.1, &hasBox, &box)
    return hasBox == 0 ? .zero : SIMD2(box.width, box.height)
  }

  private static func handle(_ bytes: [UInt8]) throws(DrawingError) -> OpaquePointer {
    var problem: UnsafeMutablePointer<CGError>?
    guard let handle = rsvg_handle_new_from_data(bytes, bytes.count, &problem) else { throw error(problem) }
    // As CSS has it, and browsers.
    rsvg_handle_set_dpi(handle, 96)
    return handle
  }

  private static func error(_ problem: UnsafeMutablePointer<CGError>?) -> DrawingError {
    let words = problem.map { String(cString: $0.pointee.message) } ?? "it cannot be read"
    if let problem { g_error_free(problem) }
    return DrawingError(
      message: "librsvg says: \(words.trimmingLastNewline)", remedy: "check it with rsvg-convert", isOfStyle: true)
  }
}

extension String {
  fileprivate var trimmingLastNewline: Substring { last?.isNewline == true ? dropLast() : self[...] }
}
