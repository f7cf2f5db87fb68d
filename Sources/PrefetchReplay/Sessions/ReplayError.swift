import Support
import TileIndex

/// Why sessions cannot be replayed. The message starts in lower case and names the file and the line.
package struct ReplayError: Error, Hashable, Sendable, CustomStringConvertible {
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
  package let message: String
  /// Where nothing is.
  package private(set) var missingPath: String?

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The error for a path at which nothing is.
  static func missing(_ path: String) -> ReplayError {
    var error = ReplayError(.missingInput, "\(path): there is no such file or folder; check the name")
    error.missingPath = path
    return error
  }

  /// Wraps an error of reading a bundle.
  init(bundle error: any Error) {
    if let known = error as? ReplayError {
      self = known
    } else {
      let isMissing = (error as? BundleError)?.code == .notFound
      self.init(isMissing ? .missingInput : .unreadableBundle, "\(error)")
      if isMissing { missingPath = (error as? BundleError)?.path }
    }
  }

  package var description: String { message }
}

// What LocalizedError asks for; the conformance is where Foundation is: LocalizedErrors.swift.
extension ReplayError {
  /// What is wrong: a sentence for people.
  package var errorDescription: String? { Sentence.of(Sentence.parts(of: message).what) }
  /// What to do about it, where the message says it: a sentence for people.
  package var recoverySuggestion: String? { Sentence.parts(of: message).remedy.map(Sentence.of) }
}
