import LibC
import Support

/// Reduces images to a palette of few colours, through libimagequant.
///
/// The library is loaded when it is first needed and is no dependency of programs: its licence, the GPL, must not
/// become that of every app that only decodes tiles. One instance per worker: it is not thread-safe.
final class ColourQuantizer {
  private let library: ImageQuant
  private let attributes: OpaquePointer
  private let colours: Int

  /// - Parameter colours: of a palette, 2 to 256.
  /// - Throws: ``ImageError`` of code `unsupported` if the library is not installed.
  init(colours: Int) throws(ImageError) {
    precondition((2...256).contains(colours), "libimagequant has palettes of 2 to 256 colours")
    library = try ImageQuant.loaded()
    guard let attributes = library.createAttributes() else { throw Self.failure(101) }
    self.attributes = attributes
    self.colours = colours
    _ = library.setSpeed(attributes, Self.speed)
  }

  deinit { library.destroyAttributes(attributes) }

  /// libimagequant's own default, from 1 (slowest) to 10.
  private static let speed: Int32 = 4
  /// Half of what the library would do: less noise in flat areas, and no contour lines in smooth relief.
  private static let dithering: Float = 0.5

  /// Pixels of at most as many colours as the palette has (with transparent pixels at least three), each near to the
  /// one it replaces; transparent pixels stay transparent and opaque ones opaque.
  ///
  /// - Throws: ``ImageError`` of code `encodingFailed`.
  func reduced(_ pixels: PixelBuffer) throws(ImageError) -> PixelBuffer {
    // Sums over several threads are rounded in another order; tiles are quantised in parallel anyway.
    library.setThreads?(1)
    let (width, height) = (pixels.width, pixels.height)
    // Transparent pixels have a colour of their own; the library makes no fewer than two.
    let visibleColours = pixels.opacity == .opaque ? colours : max(colours - 1, 2)
    guard library.setColours(attributes, Int32(visibleColours)) == 0 else { throw Self.failure(100) }
    guard let image = library.createImage(attributes, pixels.bytes, Int32(width), Int32(height), 0) else {
      throw Self.failure(101)
    }
    defer { library.destroyImage(image) }
    var made: OpaquePointer?
    let status = library.quantize(image, attributes, &made)
    guard status == 0, let result = made else { throw Self.failure(status) }
    defer { library.destroyResult(result) }
    _ = library.setDithering(result, Self.dithering)
    let count = width * height
    let reduced = PixelBuffer(width: width, height: height)
    let drawing = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { indices -> Int32 in
      let status = library.remap(result, image, indices.baseAddress!, count)
      guard status == 0, let palette = library.palette(result) else { return status == 0 ? 101 : status }
      // A palette is its count and then 256 colours of four bytes: red, green, blue, alpha.
      withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 256) { colours in
        for i in 0..<256 {
          let colour = palette.load(fromByteOffset: 4 + i * 4, as: UInt32.self)
          colours[i] = colour >> 24 == 0 ? 0 : colour
        }
        Self.draw(colours, indices, like: pixels, into: reduced)
      }
      return 0
    }
    guard drawing == 0 else { throw Self.failure(drawing) }
    return reduced
  }

  /// Gives each pixel the colour of its index. A colour that an opaque pixel has becomes opaque, and a transparent
  /// pixel stays so: a hair of transparency inside the map, or of colour outside, would show on dark and light grounds.
  private static func draw(
    _ colours: UnsafeMutableBufferPointer<UInt32>, _ indices: UnsafeMutableBufferPointer<UInt8>,
    like pixels: PixelBuffer, into reduced: PixelBuffer
  ) {
    let words = reduced.bytes.assumingMemoryBound(to: UInt32.self)
    let own = UnsafeRawPointer(pixels.bytes).assumingMemoryBound(to: UInt32.self)
    for i in indices.indices where own[i] >> 24 == 255 { colours[Int(indices[i])] |= 0xff00_0000 }
    for i in indices.indices { words[i] = own[i] >> 24 == 0 ? 0 : colours[Int(indices[i])] }
  }

  private static func failure(_ status: Int32) -> ImageError {
    ImageError(.encodingFailed, status == 101 ? "libimagequant: out of memory" : "libimagequant: error \(status)")
  }
}

extension TileEncoding {
  /// The version of libimagequant; nil if it is not installed.
  package static var quantizerVersion: String? {
    guard let version = try? ImageQuant.loaded().version() else { return nil }
    return "\(version / 10_000).\(version / 100 % 100).\(version % 100)"
  }

  /// True if tiles may get palettes of libimagequant.
  package var usesQuantizer: Bool {
    switch self {
    case .png(let options): options.colours != nil
    case .mixed(let opaque, let other): opaque.usesQuantizer || other.usesQuantizer
    case .jpeg, .webp: false
    }
  }

  /// Loads what the encoder loads only when it is needed.
  ///
  /// - Throws: ``ImageError`` of code `unsupported` if a library is not installed.
  package func requireLibraries() throws(ImageError) {
    switch self {
    case .png(let options): if options.colours != nil { _ = try ImageQuant.loaded() }
    case .mixed(let opaque, let other):
      try opaque.requireLibraries()
      try other.requireLibraries()
    case .jpeg, .webp: break
    }
  }
}

/// The functions of libimagequant 2 to 4 that are used (libimagequant.h). They may be called on any thread.
private struct ImageQuant: @unchecked Sendable {
  let createAttributes: @convention(c) () -> OpaquePointer?
  let destroyAttributes: @convention(c) (OpaquePointer) -> Void
  let setColours: @convention(c) (OpaquePointer, Int32) -> Int32
  let setSpeed: @convention(c) (OpaquePointer, Int32) -> Int32
  let createImage: @convention(c) (OpaquePointer, UnsafeRawPointer, Int32, Int32, Double) -> OpaquePointer?
  let destroyImage: @convention(c) (OpaquePointer) -> Void
  let quantize: @convention(c) (OpaquePointer, OpaquePointer, UnsafeMutablePointer<OpaquePointer?>) -> Int32
  let setDithering: @convention(c) (OpaquePointer, Float) -> Int32
  let remap: @convention(c) (OpaquePointer, OpaquePointer, UnsafeMutableRawPointer, Int) -> Int32
  let palette: @convention(c) (OpaquePointer) -> UnsafeRawPointer?
  let destroyResult: @convention(c) (OpaquePointer) -> Void
  /// A number such as 21700 for 2.17.0.
  let version: @convention(c) () -> Int32
  /// OpenMP's, with which Debian's library is built; of the calling thread.
  let setThreads: (@convention(c) (Int32) -> Void)?

  private static let names = ["libimagequant.so.0", "libimagequant.so", "libimagequant.0.dylib", "libimagequant.dylib"]
  private static let shared = ImageQuant()

  static func loaded() throws(ImageError) -> ImageQuant {
    guard let shared else {
      throw ImageError(
        .unsupported, "palettes of few colours need libimagequant: install it (apt-get install libimagequant0)")
    }
    return shared
  }

  private init?() {
    guard let handle = Self.names.lazy.compactMap({ dlopen($0, RTLD_NOW | RTLD_LOCAL) }).first else { return nil }
    func function<T>(_ name: String, as type: T.Type = T.self) -> T? {
      dlsym(handle, name).map { unsafeBitCast($0, to: type) }
    }
    guard let createAttributes: @convention(c) () -> OpaquePointer? = function("liq_attr_create"),
      let destroyAttributes: @convention(c) (OpaquePointer) -> Void = function("liq_attr_destroy"),
      let setColours: @convention(c) (OpaquePointer, Int32) -> Int32 = function("liq_set_max_colors"),
      let setSpeed: @convention(c) (OpaquePointer, Int32) -> Int32 = function("liq_set_speed"),
      let createImage: @convention(c) (OpaquePointer, UnsafeRawPointer, Int32, Int32, Double) -> OpaquePointer? =
        function("liq_image_create_rgba"),
      let destroyImage: @convention(c) (OpaquePointer) -> Void = function("liq_image_destroy"),
      let quantize: @convention(c) (OpaquePointer, OpaquePointer, UnsafeMutablePointer<OpaquePointer?>) -> Int32 =
        function("liq_image_quantize"),
      let setDithering: @convention(c) (OpaquePointer, Float) -> Int32 = function("liq_set_dithering_level"),
      let remap: @convention(c) (OpaquePointer, OpaquePointer, UnsafeMutableRawPointer, Int) -> Int32 =
        function("liq_write_remapped_image"),
      let palette: @convention(c) (OpaquePointer) -> UnsafeRawPointer? = function("liq_get_palette"),
      let destroyResult: @convention(c) (OpaquePointer) -> Void = function("liq_result_destroy"),
      let version: @convention(c) () -> Int32 = function("liq_version")
    else { return nil }
    self.createAttributes = createAttributes
    self.destroyAttributes = destroyAttributes
    self.setColours = setColours
    self.setSpeed = setSpeed
    self.createImage = createImage
    self.destroyImage = destroyImage
    self.quantize = quantize
    self.setDithering = setDithering
    self.remap = remap
    self.palette = palette
    self.destroyResult = destroyResult
    self.version = version
    setThreads = function("omp_set_num_threads")
  }
}
