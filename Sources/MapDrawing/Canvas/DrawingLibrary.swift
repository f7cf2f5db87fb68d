import CCairo
import CCairoShim
import Support

/// The versions of the libraries; nil for one that is not installed.
package enum DrawingLibrary {
  package static var cairo: String? { ccairo_load() == nil ? String(cString: cairo_version_string()) : nil }
  package static var pango: String? { cpango_load() == nil ? String(cString: pango_version_string()) : nil }
  package static var librsvg: String? { crsvg_version().map { String(cString: $0) } }

  /// The files of all fonts that Pango may find, and of the rules by which it chooses, in order; empty where that is
  /// not known.
  package static var fontFiles: [String] {
    guard cpango_load() == nil else { return [] }
    var files: Set<String> = []
    withUnsafeMutablePointer(to: &files) { files in
      cpango_font_files(
        { file, files in
          files!.assumingMemoryBound(to: Set<String>.self).pointee.insert(String(cString: file!))
        }, files)
    }
    return files.sorted()
  }
}

/// Why nothing can be drawn.
package struct DrawingError: Error, CustomStringConvertible {
  package let message: String
  package let remedy: String
  /// The style names what there is not, rather than that a library is missing.
  package var isOfStyle = false
  /// Nothing is wrong, but the work was to stop.
  package var isCancelled = false
  package var description: String { "\(message); \(remedy)" }

  /// Ends work that is to stop, see `Cancellation`.
  static func checkCancellation() throws(DrawingError) {
    guard Cancellation.isCancelled else { return }
    throw DrawingError(message: "the drawing was stopped", remedy: "draw it again", isCancelled: true)
  }

  /// Loads the drawing library. Nothing may be drawn before.
  package static func requireLibrary() throws(DrawingError) {
    guard let words = ccairo_load() else { return }
    throw DrawingError(
      message: "a library is missing: \(String(cString: words))", remedy: "apt-get install libcairo2")
  }

  /// Loads the library that sets texts. No ``TextShaper`` may be made before.
  static func requireTextLibrary() throws(DrawingError) {
    guard let words = cpango_load() else { return }
    throw DrawingError(
      message: "a library is missing: \(String(cString: words))", remedy: "apt-get install libpangocairo-1.0-0")
  }

  /// Loads the library that renders SVG.
  static func requireSVGLibrary() throws(DrawingError) {
    guard let words = crsvg_load() else { return }
    throw DrawingError(
      message: "a library is missing: \(String(cString: words))", remedy: "apt-get install librsvg2-2")
  }
}
