import Support
import TileIndex

/// Why sessions cannot be replayed. The message starts in lower case and names the file and the line.
package struct ReplayError: ToolkitError, Hashable {
  /// The kind of failure.
  package struct Code: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    private init(_ description: String) { self.description = description }

    /// A session or bundle does not exist or cannot be read, or the given folders have no sessions.
    package static let missingInput = Code("missing input")
    /// A session is not in the format.
    package static let malformedSession = Code("malformed session")
    /// The bundle cannot be opened.
    package static let unreadableBundle = Code("unreadable bundle")
  }

  package let code: Code
  /// The session, bundle or folder.
  package let path: String?
  package let message: String
  package let remedy: String?

  package init(_ code: Code, path: String? = nil, _ message: String, remedy: String? = nil) {
    (self.code, self.path, self.message, self.remedy) = (code, path, message, remedy)
  }

  /// Wraps an error of reading a bundle.
  init(bundle error: any Error) {
    if let known = error as? ReplayError {
      self = known
    } else {
      let bundle = error as? BundleError
      self.init(
        bundle?.code == .notFound ? .missingInput : .unreadableBundle, path: bundle?.path,
        bundle?.message ?? "\(error)", remedy: bundle?.remedy)
    }
  }
}
