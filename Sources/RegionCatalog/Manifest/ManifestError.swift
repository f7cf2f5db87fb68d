/// Why a manifest cannot be used: everything that is wrong with it, not only the first.
public struct ManifestError: Error, CustomStringConvertible, Sendable {
  /// The kind of failure, for programs; new kinds may be added.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String
    package init(_ description: String) { self.description = description }

    /// There is no such file, or it may not be read.
    public static let unreadable = Code("unreadable manifest")
    /// It is not JSON, or does not say what a manifest must say.
    public static let malformed = Code("malformed manifest")
  }

  /// One thing that is wrong.
  public struct Fault: Hashable, Sendable, CustomStringConvertible {
    /// The manifest, or the file beside it that is at fault.
    public let path: String
    /// Where in the document, such as `regions[3].id`; empty for the whole.
    public let place: String
    /// What is wrong; starts in lower case.
    public let message: String
    public let remedy: String

    package init(path: String, place: String, message: String, remedy: String) {
      (self.path, self.place, self.message, self.remedy) = (path, place, message, remedy)
    }

    /// `path: place message; remedy`
    public var description: String { "\(path): \(place.isEmpty ? "" : "\(place) ")\(message); \(remedy)" }
  }

  public let code: Code
  /// In the order of the document; never empty.
  public let faults: [Fault]

  package init(_ code: Code, _ faults: [Fault]) { (self.code, self.faults) = (code, faults) }

  package init(_ code: Code, path: String, place: String = "", _ message: String, remedy: String) {
    self.init(code, [Fault(path: path, place: place, message: message, remedy: remedy)])
  }

  /// A line for each fault.
  public var description: String { faults.map(\.description).joined(separator: "\n") }
}
