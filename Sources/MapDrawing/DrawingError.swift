import CCairoShim

/// Why nothing can be drawn.
package struct DrawingError: Error, CustomStringConvertible {
  package let message: String
  package let remedy: String
  package var description: String { "\(message); \(remedy)" }

  /// Loads the drawing library. Nothing may be drawn before.
  package static func requireLibrary() throws(DrawingError) {
    guard let words = ccairo_load() else { return }
    throw DrawingError(
      message: "a library is missing: \(String(cString: words))", remedy: "apt-get install libcairo2")
  }
}
