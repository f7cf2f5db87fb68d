import CTIFFShim

/// A GeoTIFF's keys (OGC 19-008r4, section 7), read by libgeotiff.
final class GeoKeys {
  private let pointer: OpaquePointer
  // Outlives the pointer, which uses it.
  let context: PROJContext

  /// - Returns: nil when the handle's directory has no keys.
  init?(_ handle: TIFFHandle) {
    context = PROJContext()
    guard let pointer = ctiff_geo_open(handle.pointer, UnsafeMutableRawPointer(context.pointer)) else { return nil }
    self.pointer = pointer
  }

  deinit { ctiff_geo_close(pointer) }

  enum Key: Int32 {
    case modelType = 1024
    case rasterType = 1025
    case citation = 1026
    case geographicCitation = 2049
    case toWGS84 = 2062
    case projectedCRS = 3072
    case projectedCitation = 3073
    case linearUnits = 3076
  }

  func short(_ key: Key) -> Int? {
    var value: UInt16 = 0
    return ctiff_geo_short(pointer, key.rawValue, &value) != 0 ? Int(value) : nil
  }

  func doubles(_ key: Key) -> [Double] {
    var values = [Double](repeating: 0, count: 16)
    let count = ctiff_geo_doubles(pointer, key.rawValue, &values, Int32(values.count))
    return Array(values.prefix(Int(count)))
  }

  /// A key of text without the bars that separate texts in the file.
  func text(_ key: Key) -> String? {
    var characters = [CChar](repeating: 0, count: 16384)
    guard ctiff_geo_text(pointer, key.rawValue, &characters, characters.count) != 0 else { return nil }
    let text = TIFFHandle.string(characters)
    return String(text.prefix { $0 != "\0" }.reversed().drop { $0 == "|" || $0.isWhitespace }.reversed())
  }

  /// What libgeotiff makes of the keys, or nil.
  lazy var definition: ctiff_geo_definition? = {
    var definition = ctiff_geo_definition()
    return ctiff_geo_define(pointer, &definition) != 0 ? definition : nil
  }()

  /// The definition as a PROJ string, or nil.
  func projString() -> String? {
    guard definition != nil, let text = ctiff_geo_proj_string(pointer) else { return nil }
    defer { ctiff_geo_free_text(text) }
    return String(cString: text)
  }

  /// Codes that mean "defined by other keys" or nothing.
  static func isCode(_ code: Int?) -> Bool {
    guard let code else { return false }
    return code > 0 && code < 32767
  }
}
