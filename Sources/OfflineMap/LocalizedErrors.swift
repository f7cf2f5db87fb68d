import Support

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

// The libraries below have no Foundation on Linux, so their errors get their sentences for people here.

extension BundleError: LocalizedError {
  /// What is wrong, with the name of the file.
  public var errorDescription: String? { Sentence.of(file: path, message) }
  /// What to do about it.
  public var recoverySuggestion: String? { remedy.map(Sentence.of) }
}

extension GridError: LocalizedError {
  /// The value that cannot be, and its range.
  public var errorDescription: String? { Sentence.of(message) }
}

extension GazetteerError: LocalizedError {
  /// What is wrong, with the name of the file and the line.
  public var errorDescription: String? { Sentence.of(file: path, place.map { "\($0): \(message)" } ?? message) }
  /// What to do about it.
  public var recoverySuggestion: String? { Sentence.of(remedy) }
}
