import CDeflate
import CJPEG
import COpenJPEG
import CPROJ
import CSystemShim
import CWebP
import MapDrawing
import RegionCatalog
import Support
import TileImage
import TileIndex

/// A library or a font that the bytes of a cut depend on, and which may be upgraded without the tool.
struct LibraryIdentity: Hashable, Sendable {
  let name: String
  /// The version that the library tells, or the start of its file's SHA-256; `static` for one that is in the program.
  let version: String

  var isFont: Bool { name.hasPrefix("font ") }

  /// The libraries that encode tiles, decode lossy sources, transform coordinates and draw, as far as a cut with these
  /// options may use them.
  ///
  /// libpng, libtiff and zlib only decode without loss, so that no version of them changes a tile.
  static func all(for options: CutOptions) -> [LibraryIdentity] {
    var all = linked
    if options.encoding.usesQuantizer, let version = TileEncoding.quantizerVersion {
      all.append(LibraryIdentity(name: "libimagequant", version: version))
    }
    if LazyLibrary.proj.problem == nil {
      all.append(LibraryIdentity(name: "PROJ", version: String(cString: proj_info().version)))
    }
    guard !options.drawing.isEmpty else { return all }
    func add(_ name: String, _ version: String?) {
      if let version { all.append(LibraryIdentity(name: name, version: version)) }
    }
    add("cairo", DrawingLibrary.cairo)
    if options.drawsLabels { add("Pango", DrawingLibrary.pango) }
    if options.drawing.contains(where: { !$0.images.isEmpty }) { add("librsvg", DrawingLibrary.librsvg) }
    return all
  }

  /// Stands for the fonts that labels may be set in: while it is the same, equal texts get the same fonts. Nil where
  /// that is not known.
  static let installedFonts: String? = {
    let files = DrawingLibrary.fontFiles
    guard !files.isEmpty else { return nil }
    return FileHash.sha256(ofText: files.map { "\($0) \(SourceIdentity.stamp(of: $0))" }.joined(separator: "\n"))
  }()

  /// libdeflate and libjpeg do not tell the version that is loaded, only the one that was compiled with.
  private static let linked: [LibraryIdentity] = {
    let compressor: @convention(c) (Int32) -> OpaquePointer? = libdeflate_alloc_compressor
    let errors: @convention(c) (UnsafeMutablePointer<jpeg_error_mgr>?) -> UnsafeMutablePointer<jpeg_error_mgr>? =
      jpeg_std_error
    let webp: @convention(c) () -> Int32 = WebPGetEncoderVersion
    let openjpeg: @convention(c) () -> UnsafePointer<CChar>? = opj_version
    return [
      LibraryIdentity("libdeflate", unsafeBitCast(compressor, to: UnsafeRawPointer.self)),
      LibraryIdentity("libjpeg", unsafeBitCast(errors, to: UnsafeRawPointer.self)),
      LibraryIdentity("libwebp", unsafeBitCast(webp, to: UnsafeRawPointer.self)),
      LibraryIdentity("libopenjp2", unsafeBitCast(openjpeg, to: UnsafeRawPointer.self)),
    ]
  }()

  init(name: String, version: String) { (self.name, self.version) = (name, version) }

  /// - Parameter function: one of the library's.
  private init(_ name: String, _ function: UnsafeRawPointer) {
    var path = [CChar](repeating: 0, count: 4096)
    let isShared = csystem_library_of(function, &path, path.count) == 0
    let file = String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let digest = isShared ? try? FileHash.sha256(ofFile: file) : nil
    self.init(name: name, version: digest.map { String($0.prefix(16)) } ?? "static")
  }
}
