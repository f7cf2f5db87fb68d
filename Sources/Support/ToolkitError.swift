#if canImport(Darwin)
  public import Foundation

  /// What ``ToolkitError`` refines. On Apple's platforms every module has Foundation; on Linux the modules that have it
  /// state the conformance to `LocalizedError` (LocalizedErrors).
  public typealias AnyToolkitError = LocalizedError
#else
  public typealias AnyToolkitError = Error
#endif

/// The shape of every public error: a kind for programs, and what happened where, with what to do about it, for people.
///
/// Message and remedy start in lower case and have no full stop, so that a command can print both on a line; apps show
/// them as sentences. Modules with public errors export this one, so that their users see these members.
public protocol ToolkitError: AnyToolkitError, CustomStringConvertible {
  /// The module's own kinds of failure; new ones may be added.
  associatedtype Code
  /// The operations of the module that remedies speak of.
  associatedtype Repair = Never

  /// The kind of failure, for programs.
  var code: Code { get }
  /// The file, address, row or option concerned, as the caller named it; nil where the message says it.
  var path: String? { get }
  /// What is wrong.
  var message: String { get }
  /// What to do about it.
  var remedy: String? { get }
  /// The operation that the remedy names, for programs that can offer it; nil for other remedies.
  var repair: Repair? { get }
}

extension ToolkitError {
  public var path: String? { nil }
  public var remedy: String? { nil }

  /// `path: message; remedy`
  public var description: String { (path.map { "\($0): " } ?? "") + advice }
  /// `message; remedy`
  package var advice: String { message + (remedy.map { "; \($0)" } ?? "") }

  /// What is wrong, with the name of the file: a sentence for people.
  public var errorDescription: String? { sentence }
  /// What to do about it: a sentence for people.
  public var recoverySuggestion: String? { remedy.map(Sentence.of) }

  package var sentence: String { path.map { Sentence.of(file: $0, message) } ?? Sentence.of(message) }
}

extension ToolkitError where Repair == Never {
  public var repair: Never? { nil }
}
