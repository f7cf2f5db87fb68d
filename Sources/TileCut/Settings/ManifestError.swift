import Support

/// All errors of a manifest, reported together.
package struct ManifestError: ToolkitError {
  /// The kind of failure, for programs; new kinds may be added.
  package struct Code: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }

    /// There is no such file, or it may not be read.
    package static let unreadable = Code("unreadable manifest")
    /// It is not JSON, or violates the format.
    package static let malformed = Code("malformed manifest")
  }

  /// One error.
  package struct Fault: Hashable, Sendable, CustomStringConvertible {
    /// The manifest, or another file that it refers to.
    package let path: String
    /// The position in the document, such as `regions[3].id`; empty for the whole.
    package let place: String
    /// What is wrong; starts in lower case.
    package let message: String
    /// What to do about it; begins in lower case.
    package let remedy: String

    package init(path: String, place: String, message: String, remedy: String) {
      (self.path, self.place, self.message, self.remedy) = (path, place, message, remedy)
    }

    /// `path: place message; remedy`
    package var description: String { "\(path): \(what); \(remedy)" }
    /// `place message`
    fileprivate var what: String { place.isEmpty ? message : "\(place) \(message)" }
  }

  /// The kind of failure.
  package let code: Code
  /// In the order of the document; never empty.
  package let faults: [Fault]

  package init(_ code: Code, _ faults: [Fault]) { (self.code, self.faults) = (code, faults) }

  package init(_ code: Code, path: String, place: String = "", _ message: String, remedy: String) {
    self.init(code, [Fault(path: path, place: place, message: message, remedy: remedy)])
  }

  /// One line for each error.
  package var description: String { lines(\.description) }
  /// What is wrong, a line for each error.
  package var message: String { lines(\.what) }
  /// What to do about each, on a line.
  package var remedy: String? { lines(\.remedy) }
  /// A sentence for people on each error, with the name of the file; each on a line.
  package var errorDescription: String? { lines { Sentence.of(file: $0.path, $0.what) } }
  /// What to do about each; each on a line.
  package var recoverySuggestion: String? { lines { Sentence.of($0.remedy) } }

  private func lines(_ text: (Fault) -> String) -> String { faults.map(text).joined(separator: "\n") }
}
